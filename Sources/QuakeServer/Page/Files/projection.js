// The Mercator projection. The world is 1 wide: x grows eastwards from 180° W and may go on beyond the date line, y grows
// southwards from some 85° N.

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
 * Reads coastlines: a ring a line, an Encoded Polyline of latitudes and longitudes in hundredths of a degree
 * (https://developers.google.com/maps/documentation/utilities/polylinealgorithm). Returns one path.
 */
export function land(text) {
  const path = new Path2D();
  for (const line of text.split("\n")) {
    let [latitude, longitude, isLatitude, isFirst] = [0, 0, true, true];
    let [number, shift] = [0, 0];
    for (let index = 0; index < line.length; index += 1) {
      const chunk = line.charCodeAt(index) - 63;
      number |= (chunk & 0x1f) << shift;
      shift += 5;
      if (chunk >= 0x20) continue;
      const step = number & 1 ? ~(number >> 1) : number >> 1;
      [number, shift] = [0, 0];
      if (isLatitude) latitude += step;
      else {
        longitude += step;
        path[isFirst ? "moveTo" : "lineTo"](x(longitude / 100), y(latitude / 100));
        isFirst = false;
      }
      isLatitude = !isLatitude;
    }
    if (!isFirst) path.closePath();
  }
  return path;
}
