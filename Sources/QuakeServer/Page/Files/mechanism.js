// Shows the focal mechanism of an event: its beachball and its figures. Few events have a mechanism, so the page loads this file
// and beachball.js when the first such event is opened.

import { beachball, faulting, momentOf, otherPlane, planeOf, planesOf, tensorOf } from "./beachball.js";
import { definitions, element } from "./dom.js";
import { fixed } from "./format.js";

const kinds = {
  normal: "Normal faulting", reverse: "Reverse faulting", "strike-slip": "Strike-slip faulting", oblique: "Oblique faulting",
  explosion: "No faulting: all first motion is outwards", implosion: "No faulting: all first motion is inwards",
};
const elements = ["Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp"];

/**
 * The elements that show a mechanism from an event's `extra`; none if neither a tensor nor a plane is known.
 *
 * @returns {HTMLElement[]}
 */
export function shown(mechanism) {
  const moment = momentOf(mechanism);
  if (!moment) return [];
  const kind = faulting(moment);
  const planes = bothPlanes(mechanism, moment, kind).map(planeWords);
  const tensor = tensorOf(mechanism);
  const source = tensor ? "From the moment tensor" : "From the planes";
  const caption = element(
    "figcaption", "", element("strong", "", kinds[kind]),
    element("p", "facts", `${source}: the lower half of the focal sphere, coloured where the first motion is outwards.`));
  const name = `Focal mechanism: ${planes.join("; ") || kinds[kind]}`;
  /** @type {[string, any][]} */
  const rows = planes.map((words, index) => [`Plane ${index + 1}`, words]);
  if (tensor) rows.push(["Tensor", tensorWords(tensor)]);
  if (Number.isFinite(mechanism.mw)) rows.push(["Magnitude", `Mw ${fixed(mechanism.mw, 2)}`]);
  const makers = ["agency", "evaluation_mode", "evaluation_status"].map((each) => mechanism[each]);
  const by = makers.filter((each) => typeof each === "string" && each).join(", ");
  if (by) rows.push(["By", by]);
  return [element("h3", "", "Focal mechanism"), element("figure", "", picture(moment, name), caption), definitions(rows)];
}

/** Both planes. A plane that is not given is computed from the other one or from the moment. */
function bothPlanes(mechanism, moment, kind) {
  const [one, other] = [planeOf(mechanism, 1), planeOf(mechanism, 2)];
  if (one || other) return [one ?? otherPlane(other), other ?? otherPlane(one)];
  return kind === "explosion" || kind === "implosion" ? [] : planesOf(moment);
}

const planeWords = ({ strike, dip, rake }) =>
  `strike ${Math.round(strike) % 360}°, dip ${Math.round(dip)}°, rake ${fixed(rake, 0)}°`;

/** Such as `Mrr 1.20, …, Mtp −0.31 · 10^17 N m`. */
function tensorWords(tensor) {
  const power = Math.floor(Math.log10(Math.max(...tensor.map(Math.abs))));
  const words = tensor.map((value, index) => `${elements[index]} ${fixed(value / 10 ** power, 2)}`);
  return [`${words.join(", ")} · 10`, element("sup", "", String(power)), " N m"];
}

function picture(moment, name) {
  const ball = shape("svg", { viewBox: "-1.02 -1.02 2.04 2.04", role: "img", "aria-label": name });
  const path = beachball(moment).map((each) => each.map((number) => number.toFixed(4)))
    .map(([x, y, width, height]) => `M${x} ${y}h${width}v${height}h-${width}z`).join("");
  ball.append(shape("circle", { r: "1", class: "inwards" }), shape("path", { d: path, class: "outwards" }), shape("circle", { r: "1", class: "rim" }));
  return ball;
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
