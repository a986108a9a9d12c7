// What the page says of itself: its state, its warnings, and what a screen reader is told.

import { byId, element } from "./dom.js";
import * as format from "./format.js";

/** `loading`, `live`, `past` or `lost`, and its words. */
export function showState(state, text) {
  byId("state").dataset.state = state;
  byId("state-text").textContent = text;
}

export const isLoading = () => byId("state").dataset.state === "loading";

const warnings = new Map();

/** Shows a warning, once; null takes it away. */
export function warn(key, text) {
  if ((warnings.get(key) ?? null) === text) return;
  if (text == null) warnings.delete(key);
  else warnings.set(key, text);
  byId("warnings").replaceChildren(...[...warnings.values()].map((each) => element("p", "warning", each)));
}

const verbs = { new: "New", revised: "Revised", withdrawn: "Withdrawn", left: "Revised" };

/** Tells a screen reader what happened. */
export function speak(words) {
  if (words.length === 0) return;
  const texts = words.length > 3
    ? [`${words.length} changes`]
    : words.map(([kind, quake]) => `${verbs[kind]}: magnitude ${format.magnitude(quake.magnitude)}, ${quake.place ?? quake.code}`);
  const spoken = byId("spoken");
  spoken.append(...texts.map((text) => element("p", "", text)));
  while (spoken.children.length > 5) spoken.firstChild.remove();
}
