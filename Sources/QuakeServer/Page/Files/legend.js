// The legend, which explains the map's colours, sizes and marks.

import { byId, element } from "./dom.js";
import { colorClass, radius } from "./scale.js";

let legendOf = null;

const marks = [
  ["ring", "new"], ["ring dashed", "revised"], ["ring crossed", "withdrawn"], ["dot other", "blast or other"],
  ["plate", "plate edge"],
];

/** @param {import("./scale.js").Colouring} colouring */
export function showLegend({ key, by, labels }) {
  if (legendOf === key) return;
  legendOf = key;
  byId("legend-colors").replaceChildren(...labels.map((label, number) =>
    element("li", "", element("span", `dot ${colorClass(by, number)}`), label)));
  byId("legend-sizes").replaceChildren(...[3, 5, 7].map((magnitude) => {
    const dot = element("span", "dot");
    dot.style.width = dot.style.height = `${Math.round(2 * radius(magnitude))}px`;
    return element("li", "", dot, `M ${magnitude}`);
  }));
  byId("legend-marks").replaceChildren(...marks.map(([kind, label]) => element("li", "", element("span", kind), label)));
}
