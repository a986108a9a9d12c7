// The map: a canvas that can be moved and zoomed by pointer, by touch, by keys and by buttons.

import { atNextFrame, isIdle } from "./dom.js";
import { Dots } from "./dots.js";
import { closeUp, loadPlaces, paintEarth, paintPlaces, paintScaleBar } from "./earth.js";
import { listen } from "./gestures.js";
import * as projection from "./projection.js";
import { colouring, radius } from "./scale.js";
import { file, module } from "./service.js";
import { orders } from "./settings.js";

const centre = { longitude: 150, latitude: 12 };
const greatest = 2 ** 21;
const flightTime = 500;
/** The scale to which the map zooms in from the whole earth when an event is chosen in the list. */
const nearby = 256 * 2 ** 3;

export class QuakeMap {
  /** The visible part of the earth in degrees, rounded outwards. The longitudes are null if all of them are visible. */
  bounds = null;
  draw = atNextFrame((time) => this.#paint(time));
  #canvas;
  #handlers;
  /** @type {import("./earth.js").Base} */
  #base = { land: new Path2D() };
  #view = { x: 0, y: 0, scale: 1 };
  #isHome = true;
  /** @type {import("./dots.js").Shown} */
  #shown = { quakes: [], marks: new Map(), colouring: colouring("depth", []), now: 0, selected: null, visited: null, units: "km" };
  #dots = new Dots();
  #flight = null;
  #areTilesAsked = false;
  #calm = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * - handlers.moved(): the map shows another part of the earth
   * - handlers.chosen(code): an event was clicked, or Enter was pressed on it
   * - handlers.pointed(quake, at): the pointer is over an event at [x, y]; `quake` is null if there is no event under the pointer
   * - handlers.visited(quake, at): an event at [x, y] was reached with the keyboard; `quake` is null if the map lost the focus
   */
  constructor(canvas, handlers) {
    this.#canvas = canvas;
    this.#handlers = handlers;
    new ResizeObserver(() => {
      this.#resize();
      handlers.moved();
    }).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => this.#recolor());
    }
    this.#listen();
    this.#resize();
  }

  /** Loads the coastlines first, because they are the minimum for a map, and then the other parts. */
  async loadBase() {
    this.#take({ land: projection.path(await file("land.txt"), true) });
    const [borders, plates, places] = await Promise.all([file("borders.txt"), file("plates.txt"), loadPlaces()]);
    this.#take({ borders: projection.path(borders, false), plates: projection.path(plates, false), places });
  }

  /** Loads the code for tiles, which are shown close up. If that fails, it tries again later. */
  async #loadTiles() {
    this.#areTilesAsked = true;
    try {
      const { Tiles } = await module("tiles.js");
      this.#take({ tiles: new Tiles(this.draw) });
    } catch {
      setTimeout(() => this.#loadTiles(), 10_000);
    }
  }

  #take(part) {
    this.#base = { ...this.#base, ...part };
    this.draw();
  }

  /** The towns; empty until they are loaded. */
  get places() { return this.#base.places ?? []; }

  // Content

  /** Shows these events. The first event is drawn first, so it is under all others. */
  show(quakes, marks, colouring, now, selected, units) {
    const isRecolored = colouring.key !== this.#shown.colouring.key;
    this.#shown = { ...this.#shown, quakes, marks, colouring, now, selected, units };
    if (isRecolored) this.#recolor();
    this.draw();
  }

  /** Draws attention to new events for some seconds. */
  pulse(codes) {
    if (this.#calm.matches) return;
    this.#dots.pulse(codes);
    this.draw();
  }

  /** [latitude, longitude, zoom], or null if the map shows the whole earth. */
  get view() {
    if (this.#isHome) return null;
    const { x, y, scale } = this.#view;
    return [
      Number(projection.latitude(y).toFixed(3)), Number(projection.wrapped(projection.longitude(x)).toFixed(3)),
      Number(Math.log2(scale / 256).toFixed(2)),
    ];
  }

  set view(view) {
    this.#flight = null;
    this.#isHome = view == null;
    if (view) {
      const [latitude, longitude, zoom] = view;
      this.#set({ x: projection.x(longitude), y: projection.y(latitude), scale: 256 * 2 ** zoom });
    } else {
      this.#set({ x: projection.x(centre.longitude), y: projection.y(centre.latitude), scale: this.#least });
    }
  }

  get centre() {
    return {
      latitude: projection.latitude(this.#view.y),
      longitude: projection.wrapped(projection.longitude(this.#view.x)),
    };
  }

  /** Whether an event is in the visible part of the earth. */
  shows(quake) {
    const { north, south, west, east } = this.bounds;
    if (quake.latitude > north || quake.latitude < south) return false;
    if (west == null) return true;
    // Some agencies' longitudes go up to 360°.
    const longitude = projection.wrapped(quake.longitude);
    return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east;
  }

  /** Moves the map so that the event is near its middle. A map of the whole earth is also zoomed in. */
  reveal(quake) {
    const at = this.#places(quake).find((x) => x > this.#width * 0.2 && x < this.#width * 0.8);
    const top = this.#top(quake);
    const scale = this.#isHome ? Math.max(nearby, this.#view.scale) : this.#view.scale;
    if (at != null && top > this.#height * 0.2 && top < this.#height * 0.8 && scale === this.#view.scale) return;
    this.#fly({ x: projection.x(quake.longitude), y: projection.y(quake.latitude), scale });
  }

  /** Moves the map to the target view, in half a second, or at once if the user prefers less motion. */
  #fly(target) {
    if (this.#calm.matches) return this.#move(target);
    const start = { ...this.#view };
    const across = target.x - start.x - Math.round(target.x - start.x);
    this.#flight = { start, across, target, began: performance.now() };
    this.draw();
  }

  #flyOn(time) {
    const { start, across, target, began } = this.#flight;
    const share = Math.min(1, Math.max(0, (time - began) / flightTime));
    const eased = share * share * (3 - 2 * share);
    if (share === 1) this.#flight = null;
    this.#move({
      x: start.x + across * eased, y: start.y + (target.y - start.y) * eased,
      scale: start.scale * (target.scale / start.scale) ** eased,
    }, true);
  }

  // Moving

  get #width() { return this.#canvas.clientWidth || 1; }
  get #height() { return this.#canvas.clientHeight || 1; }
  /** The smallest scale, at which the earth fits from 74° N to 65° S. */
  get #least() { return Math.max(1, Math.min(this.#width, this.#height / 0.58)); }

  #move(view, isFlying = false) {
    if (!isFlying) this.#flight = null;
    this.#isHome = false;
    this.#set(view);
    this.#handlers.moved();
  }

  #set({ x, y, scale }) {
    const bounded = Math.max(this.#least, Math.min(greatest, scale));
    // The map cannot move far beyond the poles.
    const half = Math.min(0.5, this.#height / bounded / 2);
    this.#view = { x: x - Math.floor(x), y: Math.max(half - 0.08, Math.min(1.08 - half, y)), scale: bounded };
    this.#setBounds();
    this.draw();
  }

  #setBounds() {
    const { x, y, scale } = this.#view;
    const across = this.#width / scale / 2;
    const along = this.#height / scale / 2;
    const down = (degrees) => Math.floor(degrees * 1000) / 1000;
    const up = (degrees) => Math.ceil(degrees * 1000) / 1000;
    this.bounds = {
      north: Math.min(90, up(projection.latitude(y - along))),
      south: Math.max(-90, down(projection.latitude(y + along))),
      west: across >= 0.5 ? null : down(projection.wrapped(projection.longitude(x - across))),
      east: across >= 0.5 ? null : up(projection.wrapped(projection.longitude(x + across))),
    };
  }

  #zoom(factor, at = [this.#width / 2, this.#height / 2]) {
    const { x, y, scale } = this.#view;
    const next = Math.max(this.#least, Math.min(greatest, scale * factor));
    const [dx, dy] = [at[0] - this.#width / 2, at[1] - this.#height / 2];
    this.#move({ x: x + dx / scale - dx / next, y: y + dy / scale - dy / next, scale: next });
  }

  #pan(dx, dy) {
    const { x, y, scale } = this.#view;
    this.#move({ x: x - dx / scale, y: y - dy / scale, scale });
  }

  /** Moves or zooms by a step: `in`, `out`, `home`, `up`, `left`, `right` or `down`. */
  step(name) {
    const far = 120;
    switch (name) {
      case "in": return this.#zoom(2);
      case "out": return this.#zoom(0.5);
      case "up": return this.#pan(0, far);
      case "down": return this.#pan(0, -far);
      case "left": return this.#pan(far, 0);
      case "right": return this.#pan(-far, 0);
      default:
        this.view = null;
        return this.#handlers.moved();
    }
  }

  #listen() {
    const handlers = this.#handlers;
    listen(this.#canvas, isIdle, {
      stepped: (name) => this.step(name),
      zoomed: (factor, point) => this.#zoom(factor, point),
      panned: (dx, dy) => this.#pan(dx, dy),
      pointed: (point) => {
        const found = point && this.#find(...point);
        this.#canvas.classList.toggle("pointing", found != null);
        handlers.pointed(found, point);
      },
      clicked: (point) => {
        const found = this.#find(...point);
        if (found) handlers.chosen(found.code);
      },
      visited: (direction) => this.#visit(direction),
      entered: () => {
        if (this.#shown.visited != null) handlers.chosen(this.#shown.visited);
      },
      left: () => {
        if (this.#shown.visited == null) return;
        this.#shown.visited = null;
        handlers.visited(null);
        this.draw();
      },
    });
  }

  /** Visits the next (1) or the previous (-1) event in view. The order is by magnitude, the largest first. */
  #visit(direction) {
    const seen = this.#shown.quakes.filter((quake) => this.shows(quake)).sort(orders.largest);
    if (seen.length === 0) return;
    const index = seen.findIndex(({ code }) => code === this.#shown.visited);
    const quake = seen[(index + direction + seen.length + (index < 0 && direction < 0 ? 1 : 0)) % seen.length];
    this.#shown.visited = quake.code;
    this.#handlers.visited(quake, [this.#places(quake)[0], this.#top(quake)]);
    this.draw();
  }

  /** The event at a point; if there are several, the topmost event. */
  #find(x, y) {
    const { quakes } = this.#shown;
    for (let index = quakes.length - 1; index >= 0; index -= 1) {
      const quake = quakes[index];
      const reach = radius(quake.magnitude) + 4;
      if (Math.abs(this.#top(quake) - y) > reach) continue;
      if (this.#places(quake).some((px) => Math.hypot(px - x, this.#top(quake) - y) <= reach)) return quake;
    }
    return null;
  }

  /** The horizontal positions of an event's dots; empty if the event is not in view. */
  #places(quake) {
    return projection.copies(
      projection.x(quake.longitude), this.#view.x, this.#view.scale, this.#width, radius(quake.magnitude));
  }

  #top(quake) {
    return this.#height / 2 + (projection.y(quake.latitude) - this.#view.y) * this.#view.scale;
  }

  // Drawing

  #resize() {
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = Math.round(this.#width * ratio);
    this.#canvas.height = Math.round(this.#height * ratio);
    this.#recolor();
    if (this.#isHome) this.view = null;
    else this.#set(this.#view);
  }

  #recolor() {
    this.#dots.recolor(this.#shown.colouring);
    this.draw();
  }

  #paint(time) {
    if (this.#flight) this.#flyOn(time);
    const ratio = window.devicePixelRatio || 1;
    const context = this.#canvas.getContext("2d");
    const view = { ...this.#view, width: this.#width, height: this.#height, ratio };
    const { palette } = this.#dots;
    if (view.scale >= closeUp && !this.#areTilesAsked) this.#loadTiles();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.page;
    context.fillRect(0, 0, view.width, view.height);
    paintEarth(context, this.#base, view, palette);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.#base.places) paintPlaces(context, this.#base.places, view, palette);
    const isPulsing = this.#dots.paint(context, time, view, this.#shown);
    paintScaleBar(context, view, palette, this.#shown.units);
    if (isPulsing || this.#flight) this.draw();
  }
}
