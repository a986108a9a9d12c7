// The map: a canvas that can be moved and zoomed by pointer, by touch, by keys and by buttons.

import { atNextFrame } from "./dom.js";
import { paintEarth } from "./earth.js";
import * as projection from "./projection.js";
import { color, palette, radius } from "./scale.js";

const centre = { longitude: 150, latitude: 12 };
const greatest = 2 ** 21;
const pulseTime = 4000;

export class QuakeMap {
  /** Degrees, rounded outwards: what the map shows. Longitudes are null when it shows all of them. */
  bounds = null;
  /** Draws at the next frame. */
  draw = atNextFrame((time) => this.#paint(time));
  #canvas;
  #told;
  #land = new Path2D();
  #view = { x: 0, y: 0, scale: 1 };
  #isHome = true;
  #quakes = [];
  #marks = new Map();
  #by = "depth";
  #now = 0;
  #selected = null;
  #pulses = new Map();
  #sprites = new Map();
  #palette;
  #pointers = new Map();
  #calm = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * - told.moved(): it shows something else
   * - told.chosen(code): an event was clicked
   * - told.pointed(quake): the pointer is over an event, or over none
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

  async loadLand(path) {
    const answer = await fetch(path);
    this.#land = projection.land(await answer.text());
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

  /** Brings an event into view. */
  reveal(quake) {
    if (this.shows(quake)) return;
    this.#move({ ...this.#view, x: projection.x(quake.longitude), y: projection.y(quake.latitude) });
  }

  // Moving

  get #width() { return this.#canvas.clientWidth || 1; }
  get #height() { return this.#canvas.clientHeight || 1; }
  get #least() { return Math.max(1, Math.min(this.#width, this.#height / 0.78)); }

  #move(view) {
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
    const canvas = this.#canvas;
    const keys = {
      "+": "in", "=": "in", "-": "out", 0: "home", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left",
      ArrowRight: "right",
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
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
    canvas.addEventListener("pointerleave", () => this.#told.pointed(null));
  }

  #pointerMoved(event) {
    const pointer = this.#pointers.get(event.pointerId);
    if (!pointer) {
      const found = this.#find(event.offsetX, event.offsetY);
      this.#canvas.classList.toggle("pointing", found != null);
      return this.#told.pointed(found);
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
      const [px, py] = this.#place(this.#quakes[index]);
      if (Math.hypot(px - x, py - y) <= radius(this.#quakes[index].magnitude) + 4) return this.#quakes[index];
    }
    return null;
  }

  /** Where an event is on the canvas: once, also where the earth is narrower than that. */
  #place(quake) {
    const { x, y, scale } = this.#view;
    let across = projection.x(quake.longitude) - x;
    across -= Math.round(across);
    return [this.#width / 2 + across * scale, this.#height / 2 + (projection.y(quake.latitude) - y) * scale];
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
    const ratio = window.devicePixelRatio || 1;
    const context = this.#canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.#palette.sea;
    context.fillRect(0, 0, this.#width, this.#height);
    paintEarth(
      context, this.#land, { ...this.#view, width: this.#width, height: this.#height, ratio }, this.#palette);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const marked = [];
    const dots = [];
    const seen = new Set();
    // From the top down: of equal dots on one pixel only the uppermost is drawn, since drawing takes nearly all the time.
    for (let index = this.#quakes.length - 1; index >= 0; index -= 1) {
      const quake = this.#quakes[index];
      const [x, y] = this.#place(quake);
      const r = radius(quake.magnitude);
      if (x < -r || y < -r || x > this.#width + r || y > this.#height + r) continue;
      const mark = this.#marks.get(quake.code);
      if (mark || quake.code === this.#selected) marked.push([quake, x, y, r, mark]);
      if (mark?.kind === "withdrawn" || mark?.kind === "left") continue;
      const sprite = this.#sprite(color(quake, this.#by, this.#now), r, ratio);
      const place = (Math.round(y) * 100_000 + Math.round(x)) * 1000 + sprite.number;
      if (seen.has(place)) continue;
      seen.add(place);
      dots.push([sprite, x, y]);
    }
    for (const [sprite, x, y] of dots.reverse()) {
      context.drawImage(sprite, x - sprite.half, y - sprite.half, sprite.half * 2, sprite.half * 2);
    }
    for (const each of marked.reverse()) this.#paintMark(context, time, ...each);
    if (this.#pulses.size > 0) this.draw();
  }

  #sprite(number, r, ratio) {
    const size = Math.round(r * 2) / 2;
    const key = number * 1000 + size;
    let sprite = this.#sprites.get(key);
    if (sprite) return sprite;
    sprite = document.createElement("canvas");
    sprite.number = this.#sprites.size;
    sprite.half = Math.ceil(size) + 2;
    sprite.width = sprite.height = sprite.half * 2 * ratio;
    const context = sprite.getContext("2d");
    context.scale(ratio, ratio);
    context.beginPath();
    context.arc(sprite.half, sprite.half, size, 0, 2 * Math.PI);
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
    } else {
      this.#pulses.delete(quake.code);
    }
    if (quake.code === this.#selected) {
      ring(r + 7, halo, 5);
      ring(r + 7, text, 2.5);
    }
  }
}
