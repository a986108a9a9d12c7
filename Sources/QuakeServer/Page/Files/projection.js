// The Mercator projection. The world is 1 wide: x grows eastwards from 180° W and may continue beyond the date line, y grows
// southwards from about 85° N.

const radians = Math.PI / 180;

export const x = (longitude) => longitude / 360 + 0.5;

export function y(latitude) {
  const bounded = Math.max(-89, Math.min(89, latitude));
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + (bounded * radians) / 2)) / (2 * Math.PI);
}

export const longitude = (x) => (x - 0.5) * 360;
export const latitude = (y) => (2 * Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) - Math.PI / 2) / radians;

/** A longitude between −180 and 180. */
export const wrapped = (degrees) => ((((degrees + 180) % 360) + 360) % 360) - 180;

/**
 * Reads Encoded Polylines of latitudes and longitudes in hundredths of a degree into one path
 * (https://developers.google.com/maps/documentation/utilities/polylinealgorithm).
 *
 * @param {string} text one polyline in each line
 * @param {boolean} isClosed whether the polylines are rings
 */
export function path(text, isClosed) {
  const path = new Path2D();
  for (const line of text.split("\n")) {
    const points = polyline(line);
    points.forEach(([latitude, longitude], index) =>
      path[index === 0 ? "moveTo" : "lineTo"](x(longitude / 100), y(latitude / 100)));
    if (isClosed && points.length > 0) path.closePath();
  }
  return path;
}

/** The points of one line: [latitude, longitude] in hundredths of a degree. */
export function polyline(line) {
  const numbers = [];
  let [number, shift] = [0, 0];
  for (let index = 0; index < line.length; index += 1) {
    const chunk = line.charCodeAt(index) - 63;
    number |= (chunk & 0x1f) << shift;
    shift += 5;
    if (chunk >= 0x20) continue;
    const step = number & 1 ? ~(number >> 1) : number >> 1;
    numbers.push((numbers.at(-2) ?? 0) + step);
    [number, shift] = [0, 0];
  }
  return Array.from({ length: numbers.length >> 1 }, (_, index) => [numbers[2 * index], numbers[2 * index + 1]]);
}

/**
 * Where a point is visible on a map of this width with `centre` in its middle. The result [first, limit] is in pixels: the point
 * is at `first`, and again every `scale` pixels up to `limit`. Positions up to `margin` pixels outside the map count as visible.
 * If the world is narrower than the map, there is only one position.
 */
export function reach(point, centre, scale, width, margin) {
  let across = point - centre;
  across -= Math.round(across);
  const at = width / 2 + across * scale;
  return scale < width ? [at, at] : [at - Math.floor((at + margin) / scale) * scale, width + margin];
}

/** All visible positions of a point. */
export function copies(point, centre, scale, width, margin) {
  const found = [];
  const [first, last] = reach(point, centre, scale, width, margin);
  for (let at = first; at <= last; at += scale) found.push(at);
  return found;
}

/**
 * The longest round length that takes at most `most` pixels, or 1 if even 1 takes more: [length in units, pixels]. `unit` is the
 * unit's length in km.
 */
export function scaleBar(latitudeInView, scale, most, unit = 1) {
  const perPixel = (40_075 * Math.cos(latitudeInView * radians)) / scale / unit;
  const steps = [5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1];
  const length = steps.find((each) => each / perPixel <= most) ?? 1;
  return [length, length / perPixel];
}
