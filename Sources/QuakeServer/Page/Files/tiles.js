// Draws the coasts, borders and active faults that the map shows close up. Their tiles, which scripts/mapdata makes, are loaded
// when they come into view. Until a tile is loaded, the map of the whole world is drawn in its place.

import { byId, element, outwards } from "./dom.js";
import * as projection from "./projection.js";

/** A tile's width, in degrees. */
const size = 10;
const columns = 360 / size;
const rows = 180 / size;
/** The number of files that are kept in memory. All files in view are kept, even if there are more of them. */
const kept = 100;
const retryTime = 10_000;
/**
 * The wait between a frame and the requests for its missing files, in ms. While the map flies to an event, most tiles are in view
 * only for a moment.
 */
const pause = 150;
/** How far land is painted beyond the edges where it was cut, in widths of the world. So no seams show between tiles. */
const overlap = 1 / columns / 100;

/** The functions that read and paint a tile of each kind. The kinds are painted in this order. */
const kinds = {
  coast: {
    read: rings,
    paint(context, { land, coast }, colors, pixel) {
      context.fillStyle = colors.land;
      context.fill(land);
      stroke(context, coast, colors.coast, 0.8 * pixel);
    },
  },
  borders: { read: lines, paint: (context, path, colors, pixel) => stroke(context, path, colors.border, 0.8 * pixel) },
  faults: { read: lines, paint: (context, path, colors, pixel) => stroke(context, path, colors.fault, 1.1 * pixel) },
};

/** The y coordinate of a row's northern edge, in world coordinates. */
const top = (row) => projection.y(90 - row * size);

export class Tiles {
  /** The contents of the files, by name; undefined until they are loaded. The most recently used come last. */
  #files = new Map();
  /** The names of the files that the last frame lacked, each with the function that reads the file. */
  #wanted = new Map();
  #timer = null;
  #draw;

  /** @param {() => void} draw called when there is more to paint */
  constructor(draw) {
    this.#draw = draw;
    const source = outwards("https://github.com/GEMScienceTools/gem-global-active-faults", "GEM, CC BY-SA 4.0");
    byId("legend-marks").after(element("ul", "", element("li", "", element("span", "plate fault"), element("span", "", "active fault (", source, ")"))));
  }

  /**
   * Paints all kinds. Where a tile of a kind is missing, `coarse` paints that kind from the map of the whole world.
   */
  paint(context, view, colors, coarse) {
    const places = inView(view);
    this.#wanted.clear();
    this.#forget(places.length);
    for (const kind of Object.keys(kinds)) {
      const missing = new Path2D();
      const found = [];
      let isWhole = true;
      for (const place of places) {
        const tile = this.#tile(kind, place);
        if (!place.isSeen || tile === null) continue;
        if (tile) found.push([place, tile]);
        else missing.rect(...place.frame);
        isWhole &&= tile != null;
      }
      if (!isWhole) within(context, missing, () => coarse[kind]?.());
      for (const [place, tile] of found) paintTile(kind, context, view, colors, place, tile);
    }
    if (this.#wanted.size > 0 && !this.#timer) this.#timer = setTimeout(() => this.#load(), pause);
  }

  /** The content of a tile: "land" if it is all land, null if it is empty, undefined until it is loaded. */
  #tile(kind, { column, row }) {
    const chart = this.#file(`tiles_${kind}.txt`, (text) => text.split("\n\n")[1].split("\n"));
    switch (chart?.[row][column]) {
      case "#": return "land";
      case ".": return null;
      case "+": return this.#file(`tiles_${kind}_${column * size - 180}_${80 - row * size}.txt`, (text) =>
        kinds[kind].read(text.split("\n").map(projection.polyline), row));
      default: return undefined;
    }
  }

  #file(name, read) {
    if (!this.#files.has(name)) return void this.#wanted.set(name, read);
    const content = this.#files.get(name);
    this.#files.delete(name);
    this.#files.set(name, content);
    return content;
  }

  #load() {
    this.#timer = null;
    for (const [name, read] of this.#wanted) this.#fetch(name, read);
    this.#wanted.clear();
  }

  async #fetch(name, read) {
    this.#files.set(name, undefined);
    try {
      const answer = await fetch(new URL(name, import.meta.url));
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      this.#files.set(name, read(await answer.text()));
    } catch {
      await new Promise((done) => setTimeout(done, retryTime));
      this.#files.delete(name);
    }
    this.#draw();
  }

  /** Forgets the least recently used files. */
  #forget(inView) {
    const most = Math.max(kept, Object.keys(kinds).length * (inView + 1));
    for (const name of this.#files.keys()) {
      if (this.#files.size <= most) break;
      this.#files.delete(name);
    }
  }
}

/**
 * A tile's place on the canvas. `left` is the position of the tile's western edge. `frame` is the tile's left, top, width and
 * height in whole pixels, so that neighbours touch and do not overlap.
 *
 * @typedef {{ column: number, row: number, left: number, frame: [number, number, number, number], isSeen: boolean }} Place
 */

/** The tiles in view, and those just outside it. */
function inView({ x, y, scale, width, height, ratio }) {
  const [across, down] = [width / scale / 2, height / scale / 2];
  /** @type {Place[]} */
  const places = [];
  const pixel = (far) => Math.round(far * ratio);
  const first = Math.floor((x - 1.5 * across) * columns);
  const last = Math.floor((x + 1.5 * across) * columns);
  for (let number = first; number <= last; number += 1) {
    const left = width / 2 + (number / columns - x) * scale;
    const right = width / 2 + ((number + 1) / columns - x) * scale;
    for (let row = 0; row < rows; row += 1) {
      if (top(row) > y + 1.5 * down || top(row + 1) < y - 1.5 * down) continue;
      const [above, below] = [row, row + 1].map((each) => height / 2 + (top(each) - y) * scale);
      places.push({
        column: ((number % columns) + columns) % columns, row, left,
        frame: [pixel(left), pixel(above), pixel(right) - pixel(left), pixel(below) - pixel(above)],
        isSeen: right > 0 && left < width && below > 0 && above < height,
      });
    }
  }
  return places;
}

/** @param {Place} place */
function paintTile(kind, context, { y, scale, height, ratio }, colors, place, tile) {
  const path = new Path2D();
  path.rect(...place.frame);
  within(context, path, () => {
    if (tile === "land") {
      context.fillStyle = colors.land;
      context.fill(path);
      return;
    }
    const above = height / 2 + (top(place.row) - y) * scale;
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * place.left, ratio * above);
    kinds[kind].paint(context, tile, colors, 1 / scale);
  });
}

/** Calls `paint` while the canvas is clipped to a path, so that nothing outside is painted. The path is in pixels. */
function within(context, path, paint) {
  context.save();
  context.resetTransform();
  context.clip(path);
  paint();
  context.restore();
}

function stroke(context, path, color, width) {
  context.lineWidth = width;
  context.lineCap = "square";
  context.lineJoin = "round";
  context.strokeStyle = color;
  context.stroke(path);
}

// Reading tiles: points are [latitude, longitude] in thousandths of a degree from the tile's south-western corner. Paths are
// measured in widths of the world from the tile's north-western corner, because the single-precision numbers of a path are too
// coarse for world coordinates.

const most = 1000 * size;

/**
 * Returns the function that converts a point of a tile into its position in the path. `row` is the tile's row.
 *
 * @returns {(point: number[]) => [number, number]}
 */
function placing(row) {
  const south = 80 - row * size;
  return ([latitude, longitude]) => [longitude / 360_000, projection.y(south + latitude / 1000) - top(row)];
}

/** All lines as one path. */
function lines(found, row) {
  const path = new Path2D();
  const at = placing(row);
  for (const points of found) points.forEach((point, index) => path[index === 0 ? "moveTo" : "lineTo"](...at(point)));
  return path;
}

/** The land, and its coast without the edges along which the land was cut. */
function rings(found, row) {
  const [land, coast] = [new Path2D(), new Path2D()];
  const at = placing(row);
  const lineBeyond = (point) => {
    const [x, y] = at(point);
    const [up, across] = point.map((far) => (far === 0 ? -overlap : far === most ? overlap : 0));
    land.lineTo(x + across, y - up);
  };
  for (const points of found) {
    points.forEach((point, index) => {
      const isCut = index > 0 && areOnEdge(points[index - 1], point);
      if (isCut) {
        lineBeyond(points[index - 1]);
        lineBeyond(point);
      }
      land[index === 0 ? "moveTo" : "lineTo"](...at(point));
      coast[index === 0 || isCut ? "moveTo" : "lineTo"](...at(point));
    });
  }
  return { land, coast };
}

/** Whether both points are on the same edge of a tile. */
const areOnEdge = (one, other) => one.some((far, axis) => (far === 0 || far === most) && other[axis] === far);
