// Land, sea and grid.

import * as projection from "./projection.js";

/**
 * Paints the earth, once: where it is narrower than the canvas, the rest stays as it is.
 *
 * view: { x, y, scale, width, height, ratio }, its centre and size; colors: those of palette()
 */
export function paintEarth(context, land, { x, y, scale, width, height, ratio }, colors) {
  const left = width / 2 - scale / 2;
  context.save();
  context.beginPath();
  context.rect(left, 0, scale, height);
  context.clip();
  context.strokeStyle = colors.grid;
  context.lineWidth = 1;
  const step = [30, 15, 5, 1].find((degrees) => (degrees / 360) * scale < 160) ?? 1;
  const top = height / 2 - y * scale;
  context.beginPath();
  for (let longitude = -180; longitude < 180; longitude += step) {
    let across = projection.x(longitude) - x;
    across -= Math.round(across);
    const at = Math.round(width / 2 + across * scale) + 0.5;
    if (at < 0 || at > width) continue;
    context.moveTo(at, 0);
    context.lineTo(at, height);
  }
  for (let latitude = -90 + step; latitude < 90; latitude += step) {
    const at = Math.round(top + projection.y(latitude) * scale) + 0.5;
    if (at < 0 || at > height) continue;
    context.moveTo(left, at);
    context.lineTo(left + scale, at);
  }
  context.stroke();
  // Rings go on beyond the date line: three copies side by side cover any view.
  for (const turn of [-1, 0, 1]) {
    context.setTransform(
      ratio * scale, 0, 0, ratio * scale, ratio * (width / 2 + (turn - x) * scale), ratio * top);
    context.lineWidth = 0.8 / scale;
    context.fillStyle = colors.land;
    context.strokeStyle = colors.coast;
    context.fill(land, "evenodd");
    context.stroke(land);
  }
  context.restore();
}
