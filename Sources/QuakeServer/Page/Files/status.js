// The lamp, the warnings, and what a screen reader is told.

import { status, warnings } from "./words.js";
import { byId, element, setText } from "./dom.js";
import * as format from "./format.js";
import { typeLabel } from "./quake.js";

let shown = "";

/** Shows how the page and the server are. A warning that stands is not put up again: a screen reader would read it each time. */
export function showStatus(state) {
  const { lamp, text } = status(state);
  byId("state").dataset.state = lamp;
  setText(byId("state-text"), text);
  const told = warnings(state);
  if (shown === String(told)) return;
  shown = String(told);
  byId("warnings").replaceChildren(...told.map((each) => element("p", "warning", each)));
}

const verbs = { new: "New", revised: "Revised", withdrawn: "Withdrawn", left: "Revised" };

/** Tells a screen reader what happened: [kind, quake], in these units. */
export function speak(news, units) {
  if (news.length === 0) return;
  const texts = news.length > 3
    ? [`${news.length} changes`]
    : news.map(([kind, quake]) =>
      `${verbs[kind]}: ${typeLabel(quake) ?? ""} magnitude ${format.magnitude(quake.magnitude)}, ${format.place(quake, units)}`);
  const spoken = byId("spoken");
  spoken.append(...texts.map((text) => element("p", "", text)));
  while (spoken.children.length > 5) spoken.firstChild.remove();
}
