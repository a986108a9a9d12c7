// Draws the events on the map: dots for earthquakes, diamonds for other events, and rings around new, revised and chosen events.

import { isGone } from "./catalogue.js";
import * as projection from "./projection.js";
import { isOther } from "./quake.js";
import { palette, radius } from "./scale.js";

const pulseTime = 4000;

/**
 * @typedef {object} Shown
 * @property {any[]} quakes in drawing order: the first is at the bottom
 * @property {Map<string, any>} marks
 * @property {import("./scale.js").Colouring} colouring
 * @property {number} now
 * @property {string | null} selected the code of the chosen event
 * @property {string | null} visited the code of the event that the keyboard is on
 * @property {import("./format.js").Units} units
 */

export class Dots {
  /** All colours of the map. */
  palette;
  #sprites = new Map();
  /** When the pulse of each event began, by code. */
  #pulses = new Map();

  /** Call this when the colours or the device's pixel ratio have changed. */
  recolor(colouring) {
    this.palette = palette(colouring);
    this.#sprites.clear();
  }

  /** Draws attention to events for some seconds. */
  pulse(codes) {
    for (const code of codes.slice(0, 50)) this.#pulses.set(code, performance.now());
  }

  /**
   * Paints the events. Returns whether a visible event pulses, which needs another frame.
   *
   * @param {Shown} shown
   */
  paint(context, time, { x: centre, y: middle, scale, width, height, ratio }, shown) {
    // Removes the old pulses of all events here, because events that are hidden or out of view do not reach the code below.
    for (const [code, began] of this.#pulses) if (time - began >= pulseTime) this.#pulses.delete(code);
    const { quakes, marks, colouring, now, selected, visited } = shown;
    const marked = [];
    const dots = [];
    const seen = new Set();
    // Starts with the topmost event. If equal dots are on the same pixel, only the topmost one is drawn, because drawing takes
    // most of the time.
    for (let index = quakes.length - 1; index >= 0; index -= 1) {
      const quake = quakes[index];
      const y = height / 2 + (projection.y(quake.latitude) - middle) * scale;
      const r = radius(quake.magnitude);
      if (y < -r || y > height + r) continue;
      const mark = marks.get(quake.code);
      const [first, last] = projection.reach(projection.x(quake.longitude), centre, scale, width, r);
      for (let x = first; x <= last; x += scale) {
        if (mark || quake.code === selected || quake.code === visited) marked.push([quake, x, y, r, mark]);
        if (isGone(mark)) continue;
        const sprite = this.#sprite(colouring.number(quake, now), r, isOther(quake), ratio);
        const place = (Math.round(y) * 100_000 + Math.round(x)) * 1000 + sprite.number;
        if (seen.has(place)) continue;
        seen.add(place);
        dots.push([sprite, x, y]);
      }
    }
    for (const [sprite, x, y] of dots.reverse()) {
      context.drawImage(sprite, x - sprite.half, y - sprite.half, sprite.half * 2, sprite.half * 2);
    }
    for (const [quake, x, y, r, mark] of marked.reverse()) this.#paintMark(context, time, quake.code, x, y, r, mark, shown);
    return marked.some(([{ code }]) => this.#pulses.has(code));
  }

  /** The picture of an event: a dot, or a diamond if the event is not an earthquake. */
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
    context.fillStyle = number < 0 ? this.palette.unknown : this.palette.fills[number];
    context.fill();
    // A strong outline would hide the colour of small dots.
    context.globalAlpha = size > 4 ? 1 : 0.55;
    context.lineWidth = 1;
    context.strokeStyle = this.palette.outline;
    context.stroke();
    this.#sprites.set(key, sprite);
    return sprite;
  }

  #paintMark(context, time, code, x, y, r, mark, { selected, visited }) {
    const { accent, text, halo } = this.palette;
    const ring = (size, style, width, dash = []) => {
      context.beginPath();
      context.setLineDash(dash);
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = style;
      context.stroke();
      context.setLineDash([]);
    };
    if (isGone(mark)) {
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
    const began = this.#pulses.get(code);
    if (began != null) {
      const share = ((time - began) / 1000) % 1;
      context.globalAlpha = 1 - share;
      ring(r + 4 + 26 * share, accent, 2);
      context.globalAlpha = 1;
    }
    if (code === visited) ring(r + 11, accent, 2, [2, 3]);
    if (code === selected) {
      ring(r + 7, halo, 5);
      ring(r + 7, text, 2.5);
    }
  }
}
