// Paints land, sea, borders, plate boundaries, towns and the grid.

import { kilometres } from "./format.js";
import * as projection from "./projection.js";
import { folded } from "./quake.js";
import { file } from "./service.js";

/** At this scale and larger ones, the coasts of the world map are wrong by more than a pixel. */
export const closeUp = 256 * 2 ** 6;

/**
 * The parts of the map that are loaded.
 *
 * @typedef {object} Base
 * @property {Path2D} land
 * @property {Path2D} [borders]
 * @property {Path2D} [plates]
 * @property {Place[]} [places] the largest first
 * @property {import("./tiles.js").Tiles} [tiles]
 *
 * @typedef {{ zoom: number, latitude: number, longitude: number, name: string, country: string }} Place
 */

let loading;

/** The towns, the largest first. */
export const loadPlaces = () => (loading ??= file("places.txt").then(places));

export const placeName = ({ name, country }) => `${name}, ${country}`;

/** The largest town with this name, which may include the country; null if there is none. @param {Place[]} all */
export function placeNamed(all, text) {
  const wanted = folded(text.trim());
  return all.find((place) => folded(place.name) === wanted || folded(placeName(place)) === wanted) ?? null;
}

/** @returns {Place[]} */
function places(text) {
  return text.split("\n").filter(Boolean).map((line) => {
    const [zoom, latitude, longitude, name, country] = line.split("\t");
    return { zoom: Number(zoom), latitude: Number(latitude), longitude: Number(longitude), name, country };
  });
}

/**
 * Paints the earth, with repetitions to the east and west unless the earth is narrower than the canvas.
 *
 * view: { x, y, scale, width, height, ratio }, its centre and size; colors: the result of palette()
 */
export function paintEarth(context, base, view, colors) {
  const { x, y, scale, width, height, ratio } = view;
  const top = height / 2 - y * scale;
  context.save();
  context.beginPath();
  context.rect(Math.max(0, (width - scale) / 2), 0, Math.min(width, scale), height);
  context.clip();
  context.fillStyle = colors.sea;
  context.fill();
  paintGrid(context, view, top, colors);
  // Rings continue beyond the date line, so one more copy of the earth is painted on either side.
  const first = Math.floor(x - width / scale / 2) - 1;
  const last = Math.floor(x + width / scale / 2) + 1;
  const paint = (path, stroke, pixels, fill = null) => {
    for (let turn = first; path && turn <= last; turn += 1) {
      context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * (width / 2 + (turn - x) * scale), ratio * top);
      context.lineWidth = pixels / scale;
      context.strokeStyle = stroke;
      if (fill) {
        context.fillStyle = fill;
        context.fill(path, "evenodd");
      }
      context.stroke(path);
    }
  };
  const coarse = {
    coast: () => paint(base.land, colors.coast, 0.8, colors.land),
    borders: () => paint(base.borders, colors.border, 0.8),
  };
  if (base.tiles && scale >= closeUp) base.tiles.paint(context, view, colors, coarse);
  else Object.values(coarse).forEach((each) => each());
  paint(base.plates, colors.plate, 1.3);
  context.restore();
}

function paintGrid(context, { x, scale, width, height }, top, colors) {
  context.strokeStyle = colors.grid;
  context.lineWidth = 1;
  const step = [30, 15, 5, 1].find((degrees) => (degrees / 360) * scale < 160) ?? 1;
  context.beginPath();
  for (let longitude = -180; longitude < 180; longitude += step) {
    for (const copy of projection.copies(projection.x(longitude), x, scale, width, 0)) {
      const at = Math.round(copy) + 0.5;
      context.moveTo(at, 0);
      context.lineTo(at, height);
    }
  }
  for (let latitude = -90 + step; latitude < 90; latitude += step) {
    const at = Math.round(top + projection.y(latitude) * scale) + 0.5;
    if (at < 0 || at > height) continue;
    context.moveTo(0, at);
    context.lineTo(width, at);
  }
  context.stroke();
}

/** Paints the towns of this zoom with their names, the largest first. A town is left out if its name would overlap another. */
export function paintPlaces(context, all, { x, y, scale, width, height }, colors) {
  const zoom = Math.log2(scale / 256) + 0.6;
  const taken = [];
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const place of all) {
    if (place.zoom > zoom) break;
    const at = height / 2 + (projection.y(place.latitude) - y) * scale;
    if (at < 8 || at > height - 8) continue;
    for (const across of projection.copies(projection.x(place.longitude), x, scale, width, 0)) {
      place.width ??= context.measureText(place.name).width;
      const box = [across - 3, at - 8, across + place.width + 8, at + 8];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      context.fillStyle = colors.town;
      context.beginPath();
      context.arc(across, at, 1.6, 0, 2 * Math.PI);
      context.fill();
      context.lineWidth = 3;
      context.strokeStyle = colors.land;
      context.strokeText(place.name, across + 5, at);
      context.fillText(place.name, across + 5, at);
    }
  }
}

/** Paints a scale bar at the bottom left. */
export function paintScaleBar(context, { y, scale, width, height }, colors, units) {
  const [far, length] = projection.scaleBar(projection.latitude(y), scale, 110, kilometres[units]);
  const bottom = height - 10;
  const left = Math.max(0, (width - scale) / 2) + 10;
  context.beginPath();
  context.moveTo(left, bottom - 5);
  context.lineTo(left, bottom);
  context.lineTo(left + length, bottom);
  context.lineTo(left + length, bottom - 5);
  context.lineWidth = 1.5;
  context.strokeStyle = colors.town;
  context.stroke();
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  context.fillStyle = colors.town;
  context.fillText(`${far.toLocaleString("en")} ${units}`, left + 4, bottom - 4);
}
