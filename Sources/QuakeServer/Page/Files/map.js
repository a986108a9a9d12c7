// The map: a canvas that can be moved and zoomed by pointer, by touch, by keys and by buttons.

import { atNextFrame } from "./dom.js";
import { paintEarth, paintPlaces, paintScaleBar, places } from "./earth.js";
import * as projection from "./projection.js";
import { isOther } from "./quake.js";
import { color, palette, radius } from "./scale.js";

const centre = { longitude: 150, latitude: 12 };
const greatest = 2 ** 21;
const pulseTime = 4000;
const flightTime = 500;
/** How near an event is brought that was chosen elsewhere, when the map shows the whole earth. */
const nearby = 256 * 2 ** 3;

export class QuakeMap {
  /** Degrees, rounded outwards: what the map shows. Longitudes are null when it shows all of them. */
  bounds = null;
  /** Draws at the next frame. */
  draw = atNextFrame((time) => this.#paint(time));
  #canvas;
  #told;
  /** @type {import("./earth.js").Base} */
  #base = { land: new Path2D() };
  #view = { x: 0, y: 0, scale: 1 };
  #isHome = true;
  #quakes = [];
  #marks = new Map();
  #by = "depth";
  #now = 0;
  #selected = null;
  #pulses = new Map();
  #flight = null;
  /** @type {string | null} The code of the event that the keyboard is on. */
  #visited = null;
  #sprites = new Map();
  #palette;
  #pointers = new Map();
  #calm = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * - told.moved(): it shows something else
   * - told.chosen(code): an event was clicked, or Enter pressed on it
   * - told.pointed(quake, at): the pointer is over an event at [x, y], or over none
   * - told.visited(quake, at): the same by keyboard
   */
  constructor(canvas, told) {
    this.#canvas = canvas;
    this.#told = told;
    new ResizeObserver(() => {
      this.#resize();
      told.moved();
    }).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) {
      matchMedia(query).addEventListener("change", () => this.#recolor());
    }
    this.#listen();
    this.#recolor();
    this.#resize();
  }

  /** Loads the coastlines first, because there is no map without them, and then what makes it easier to read. */
  async loadBase(folder) {
    const load = async (name) => {
      const answer = await fetch(folder + name);
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      return answer.text();
    };
    this.#take({ land: projection.path(await load("land.txt"), true) });
    const [borders, plates, towns] = await Promise.all(["borders.txt", "plates.txt", "places.txt"].map(load));
    this.#take({ borders: projection.path(borders, false), plates: projection.path(plates, false), places: places(towns) });
  }

  #take(part) {
    this.#base = { ...this.#base, ...part };
    this.draw();
  }

  // What it shows

  /** The events, the first at the bottom. */
  show(quakes, marks, by, now, selected) {
    this.#quakes = quakes;
    this.#marks = marks;
    this.#now = now;
    this.#selected = selected;
    if (by !== this.#by) {
      this.#by = by;
      this.#recolor();
    }
    this.draw();
  }

  /** Draws attention to new events for some seconds. */
  pulse(codes) {
    if (this.#calm.matches) return;
    for (const code of codes.slice(0, 50)) this.#pulses.set(code, performance.now());
    this.draw();
  }

  /** [latitude, longitude, zoom], or null when it shows the whole earth. */
  get view() {
    if (this.#isHome) return null;
    const { x, y, scale } = this.#view;
    return [
      Number(projection.latitude(y).toFixed(3)), Number(projection.wrapped(projection.longitude(x)).toFixed(3)),
      Number(Math.log2(scale / 256).toFixed(2)),
    ];
  }

  set view(view) {
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

  /** Whether an event is on the part that is shown. */
  shows({ latitude, longitude }) {
    const { north, south, west, east } = this.bounds;
    if (latitude > north || latitude < south) return false;
    if (west == null) return true;
    return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east;
  }

  /** Brings an event that was chosen elsewhere near the middle, and near enough for its surroundings to be seen. */
  reveal(quake) {
    const at = this.#places(quake).find((x) => x > this.#width * 0.2 && x < this.#width * 0.8);
    const top = this.#top(quake);
    const scale = this.#isHome ? Math.max(nearby, this.#view.scale) : this.#view.scale;
    if (at != null && top > this.#height * 0.2 && top < this.#height * 0.8 && scale === this.#view.scale) return;
    this.#fly({ x: projection.x(quake.longitude), y: projection.y(quake.latitude), scale });
  }

  /** Goes there, in half a second where motion is welcome. */
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
  get #least() { return Math.max(1, Math.min(this.#width, this.#height / 0.7)); }

  #move(view, isFlying = false) {
    if (!isFlying) this.#flight = null;
    this.#isHome = false;
    this.#set(view);
    this.#told.moved();
  }

  #set({ x, y, scale }) {
    const bounded = Math.max(this.#least, Math.min(greatest, scale));
    // No further than the poles.
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

  /** `in`, `out`, `home`, `up`, `left`, `right` or `down`. */
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
        return this.#told.moved();
    }
  }

  #listen() {
    const told = this.#told;
    const canvas = this.#canvas;
    const visits = { PageDown: 1, PageUp: -1, n: 1, p: -1 };
    const keys = {
      "+": "in", "=": "in", "-": "out", 0: "home", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left",
      ArrowRight: "right",
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (visits[event.key]) {
        event.preventDefault();
        return this.#visit(visits[event.key]);
      }
      if (event.key === "Enter" && this.#visited != null) return told.chosen(this.#visited);
      if (!keys[event.key]) return;
      event.preventDefault();
      this.step(keys[event.key]);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoom(2 ** (-event.deltaY / (event.ctrlKey ? 100 : 300)), [event.offsetX, event.offsetY]);
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.#zoom(2, [event.offsetX, event.offsetY]));
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY, moved: 0 });
    });
    canvas.addEventListener("pointermove", (event) => this.#pointerMoved(event));
    canvas.addEventListener("pointerup", (event) => {
      const pointer = this.#pointers.get(event.pointerId);
      this.#pointers.delete(event.pointerId);
      if (!pointer || pointer.moved > 5) return;
      const found = this.#find(event.offsetX, event.offsetY);
      if (found) this.#told.chosen(found.code);
    });
    canvas.addEventListener("pointercancel", (event) => this.#pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => told.pointed(null));
    canvas.addEventListener("blur", () => this.#leave());
  }

  /** Goes to the next event that the map shows, or back: the largest is the first. */
  #visit(direction) {
    const seen = this.#quakes.filter((quake) => this.shows(quake))
      .sort((a, b) => (b.magnitude ?? -99) - (a.magnitude ?? -99) || b.time - a.time);
    if (seen.length === 0) return;
    const index = seen.findIndex(({ code }) => code === this.#visited);
    const quake = seen[(index + direction + seen.length + (index < 0 && direction < 0 ? 1 : 0)) % seen.length];
    this.#visited = quake.code;
    this.#told.visited(quake, [this.#places(quake)[0], this.#top(quake)]);
    this.draw();
  }

  #leave() {
    if (this.#visited == null) return;
    this.#visited = null;
    this.#told.visited(null);
    this.draw();
  }

  #pointerMoved(event) {
    const pointer = this.#pointers.get(event.pointerId);
    if (!pointer) {
      const found = this.#find(event.offsetX, event.offsetY);
      this.#canvas.classList.toggle("pointing", found != null);
      return this.#told.pointed(found, [event.offsetX, event.offsetY]);
    }
    const [dx, dy] = [event.offsetX - pointer.x, event.offsetY - pointer.y];
    const others = [...this.#pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
    if (others.length === 0) {
      if (pointer.moved + Math.hypot(dx, dy) > 5) this.#pan(dx, dy);
    } else {
      const apart = (x, y) => Math.max(10, Math.hypot(x - others[0].x, y - others[0].y));
      const factor = apart(event.offsetX, event.offsetY) / apart(pointer.x, pointer.y);
      this.#zoom(factor, [(event.offsetX + others[0].x) / 2, (event.offsetY + others[0].y) / 2]);
    }
    pointer.moved += Math.hypot(dx, dy);
    [pointer.x, pointer.y] = [event.offsetX, event.offsetY];
  }

  /** The event at a point; of several, the one on top. */
  #find(x, y) {
    for (let index = this.#quakes.length - 1; index >= 0; index -= 1) {
      const quake = this.#quakes[index];
      const reach = radius(quake.magnitude) + 4;
      if (Math.abs(this.#top(quake) - y) > reach) continue;
      if (this.#places(quake).some((px) => Math.hypot(px - x, this.#top(quake) - y) <= reach)) return quake;
    }
    return null;
  }

  /** How far from the left an event is: several times where the earth is narrower than the canvas. */
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
    this.#sprites.clear();
    if (this.#isHome) this.view = null;
    else this.#set(this.#view);
  }

  #recolor() {
    this.#palette = palette(this.#by);
    this.#sprites.clear();
    this.draw();
  }

  #paint(time) {
    if (this.#flight) this.#flyOn(time);
    const ratio = window.devicePixelRatio || 1;
    const context = this.#canvas.getContext("2d");
    const view = { ...this.#view, width: this.#width, height: this.#height, ratio };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.#palette.sea;
    context.fillRect(0, 0, view.width, view.height);
    paintEarth(context, this.#base, view, this.#palette);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.#base.places) paintPlaces(context, this.#base.places, view, this.#palette);
    // Also of events that are elsewhere, or hidden: nothing is drawn again for them.
    for (const [code, began] of this.#pulses) if (time - began >= pulseTime) this.#pulses.delete(code);
    const isPulsing = this.#paintQuakes(context, time, view);
    paintScaleBar(context, view, this.#palette);
    if (isPulsing || this.#flight) this.draw();
  }

  /** Returns whether one of them moves. */
  #paintQuakes(context, time, { x: centre, scale, width, height, ratio }) {
    const marked = [];
    const dots = [];
    const seen = new Set();
    // From the top down: of equal dots on one pixel only the uppermost is drawn, since drawing takes nearly all the time.
    for (let index = this.#quakes.length - 1; index >= 0; index -= 1) {
      const quake = this.#quakes[index];
      const y = this.#top(quake);
      const r = radius(quake.magnitude);
      if (y < -r || y > height + r) continue;
      const mark = this.#marks.get(quake.code);
      const isGone = mark?.kind === "withdrawn" || mark?.kind === "left";
      const first = projection.firstCopy(projection.x(quake.longitude), centre, scale, width, r);
      for (let x = first; x <= width + r; x += scale) {
        if (mark || quake.code === this.#selected || quake.code === this.#visited) marked.push([quake, x, y, r, mark]);
        if (isGone) continue;
        const sprite = this.#sprite(color(quake, this.#by, this.#now), r, isOther(quake), ratio);
        const place = (Math.round(y) * 100_000 + Math.round(x)) * 1000 + sprite.number;
        if (seen.has(place)) continue;
        seen.add(place);
        dots.push([sprite, x, y]);
      }
    }
    for (const [sprite, x, y] of dots.reverse()) {
      context.drawImage(sprite, x - sprite.half, y - sprite.half, sprite.half * 2, sprite.half * 2);
    }
    for (const each of marked.reverse()) this.#paintMark(context, time, ...each);
    return marked.some(([{ code }]) => this.#pulses.has(code));
  }

  /** A dot; a diamond for what is no earthquake. */
  #sprite(number, r, isDiamond, ratio) {
    const size = Math.round(r * 2) / 2;
    const key = (number * 1000 + size) * 2 + Number(isDiamond);
    let sprite = this.#sprites.get(key);
    if (sprite) return sprite;
    sprite = document.createElement("canvas");
    sprite.number = this.#sprites.size;
    sprite.half = Math.ceil(size) + 2;
    sprite.width = sprite.height = sprite.half * 2 * ratio;
    const context = sprite.getContext("2d");
    context.scale(ratio, ratio);
    context.beginPath();
    if (isDiamond) {
      for (const [dx, dy] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) context.lineTo(sprite.half + dx * size, sprite.half + dy * size);
      context.closePath();
    } else context.arc(sprite.half, sprite.half, size, 0, 2 * Math.PI);
    context.globalAlpha = 0.78;
    context.fillStyle = number < 0 ? this.#palette.unknown : this.#palette.fills[number];
    context.fill();
    // Small ones would be nothing but outline.
    context.globalAlpha = size > 4 ? 1 : 0.55;
    context.lineWidth = 1;
    context.strokeStyle = this.#palette.outline;
    context.stroke();
    this.#sprites.set(key, sprite);
    return sprite;
  }

  #paintMark(context, time, quake, x, y, r, mark) {
    const { accent, text, halo } = this.#palette;
    const ring = (size, style, width, dash = []) => {
      context.beginPath();
      context.setLineDash(dash);
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = style;
      context.stroke();
      context.setLineDash([]);
    };
    if (mark?.kind === "withdrawn" || mark?.kind === "left") {
      ring(r, text, 1, [3, 2]);
      context.beginPath();
      context.moveTo(x - r, y - r);
      context.lineTo(x + r, y + r);
      context.moveTo(x - r, y + r);
      context.lineTo(x + r, y - r);
      context.stroke();
    } else if (mark) {
      ring(r + 3, halo, 4);
      ring(r + 3, accent, 2, mark.kind === "revised" ? [4, 3] : []);
    }
    const began = this.#pulses.get(quake.code);
    const age = began == null ? pulseTime : time - began;
    if (age < pulseTime) {
      context.globalAlpha = 1 - ((age / 1000) % 1);
      ring(r + 4 + 26 * ((age / 1000) % 1), accent, 2);
      context.globalAlpha = 1;
    }
    if (quake.code === this.#visited) ring(r + 11, accent, 2, [2, 3]);
    if (quake.code === this.#selected) {
      ring(r + 7, halo, 5);
      ring(r + 7, text, 2.5);
    }
  }
}
