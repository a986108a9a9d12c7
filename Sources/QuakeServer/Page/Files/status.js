// The lamp, the warnings, and the messages for screen readers.

import { status, warnings } from "./words.js";
import { kinds } from "./catalogue.js";
import { byId, element, setText } from "./dom.js";
import * as format from "./format.js";
import { typeLabel } from "./quake.js";

let shown = "";

/** Shows the lamp and the warnings. Unchanged warnings are not replaced, because a screen reader would read them again. */
export function showStatus(state) {
  const { lamp, text } = status(state);
  byId("state").dataset.state = lamp;
  setText(byId("state-text"), text);
  const told = warnings(state);
  if (shown === String(told)) return;
  shown = String(told);
  byId("warnings").replaceChildren(...told.map((each) => element("p", "warning", each)));
}

/** Tells a screen reader the news. Each item of `news` is [kind, quake]; `units` is the unit of length. */
export function speak(news, units) {
  if (news.length === 0) return;
  const texts = news.length > 3
    ? [`${news.length} changes`]
    : news.map(([kind, quake]) =>
      `${kinds[kind]}: ${typeLabel(quake) ?? ""} magnitude ${format.magnitude(quake.magnitude)}, ${format.place(quake, units)}`);
  const spoken = byId("spoken");
  spoken.append(...texts.map((text) => element("p", "", text)));
  while (spoken.children.length > 5) spoken.firstChild.remove();
}
