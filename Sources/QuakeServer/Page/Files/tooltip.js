// A box beside the event under the pointer, or the event that was reached with the keyboard.

import { byId, element, foreign } from "./dom.js";
import * as format from "./format.js";
import { agenciesOf } from "./groups.js";
import { typeLabel } from "./quake.js";

export class Tooltip {
  #box;

  constructor(box) {
    this.#box = box;
  }

  /** Shows an event at [x, y] in the box's parent. Without an event, hides the box. */
  show(quake, at, { zone, units }, now) {
    if (!quake) return this.hide();
    const box = this.#box;
    const kind = typeLabel(quake);
    const { length } = agenciesOf(quake);
    box.replaceChildren(
      element("strong", "", `M ${format.magnitude(quake.magnitude)} `, foreign(format.place(quake, units))),
      element("span", "facts", kind ? foreign(`${kind} · `) : "", `${format.ago(quake.time, now)} · ${format.depth(quake.depth, units)}${length > 1 ? ` · ${length} agencies` : ""}`),
      element("span", "facts", format.time(quake.time, zone, false)));
    box.hidden = false;
    const frame = box.parentElement;
    const [x, y] = at;
    box.style.left = `${Math.max(4, Math.min(frame.clientWidth - box.offsetWidth - 4, x + 14))}px`;
    const below = y + 16;
    box.style.top = `${Math.max(4, below + box.offsetHeight > frame.clientHeight ? y - box.offsetHeight - 12 : below)}px`;
  }

  hide() {
    this.#box.hidden = true;
  }

  /** Tells a screen reader which event was reached with the keyboard. */
  speak(quake, units) {
    byId("visited").textContent = quake
      ? `${typeLabel(quake) ?? "Earthquake"}, magnitude ${format.magnitude(quake.magnitude)}, ${format.place(quake, units)}. Enter opens it.` : "";
  }
}
