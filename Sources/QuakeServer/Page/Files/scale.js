// Colours and sizes of earthquakes. The colours themselves are in page.css, for light and dark.

import { agencyOf, label } from "./agencies.js";
import { kilometres } from "./format.js";

const depths = [10, 35, 70, 150, 300, Infinity];
const ages = [3_600_000, 6 * 3_600_000, 86_400_000, 7 * 86_400_000, Infinity];

const ageLabels = ["last hour", "6 hours", "day", "week", "older"];

/** The labels of the depth colours, such as `0–10 km`, `10–35`. */
function depthLabels(units) {
  const limits = [0, ...depths.slice(0, -1)].map((limit) => Math.round(limit / kilometres[units]));
  return limits.map((limit, index) => (index === limits.length - 1 ? `${limit} and more` : `${limit}–${limits[index + 1]}${index === 0 ? ` ${units}` : ""}`));
}

/** The maximum number of agencies with their own colour. */
const most = 6;

/**
 * The meaning of the colours. `number` returns the number of an event's colour; -1 if the event's value is unknown.
 *
 * @typedef {{ key: string, by: string, labels: string[], number: (quake: any, now: number) => number }} Colouring
 */

/**
 * @param {"depth" | "age" | "agency"} by
 * @param {string[]} agencies the agencies of the shown events, in order
 * @param {import("./format.js").Units} units
 * @returns {Colouring}
 */
export function colouring(by, agencies, units = "km") {
  if (by === "agency") {
    const numbers = new Map(agencies.slice(0, most).map((name, number) => [name, number]));
    return {
      key: `agency ${agencies}`, by, labels: [...numbers.keys()].map(label), number: (quake) => numbers.get(agencyOf(quake)) ?? -1,
    };
  }
  const number = by === "age" ? (quake, now) => ages.findIndex((limit) => now - quake.time < limit)
    : (quake) => (quake.depth == null ? -1 : depths.findIndex((limit) => quake.depth < limit));
  return { key: `${by} ${units}`, by, labels: by === "age" ? ageLabels : depthLabels(units), number };
}

/** The CSS class of the colour with this number. */
export const colorClass = (by, number) => (number < 0 ? "color-unknown" : `color-${by}-${number}`);

/** The radius in pixels. */
export const radius = (magnitude) => (magnitude == null ? 2.5 : 2 + 0.55 * 1.6 ** Math.max(-1, Math.min(10, magnitude)));

/** How much an event of this magnitude stands out in the list, from 0 to 4. */
export const weight = (magnitude) => [2.5, 4.5, 6, 7].filter((limit) => magnitude != null && magnitude >= limit).length;

/**
 * The current colours of the style sheet: `fills` are the colours of events, by number; the others have names.
 *
 * @param {Colouring} colouring
 */
export function palette({ by, labels }) {
  // A custom property may be an expression, such as light-dark(…), which only an element turns into a colour.
  const probe = document.body.appendChild(document.createElement("span"));
  // The map keeps its colours where the device forces its own.
  probe.style.setProperty("forced-color-adjust", "none");
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["page", "sea", "land", "coast", "border", "plate", "fault", "town", "grid", "outline", "accent", "text", "halo", "unknown"];
  const colors = Object.fromEntries(names.map((name) => [name, read(name)]));
  const fills = labels.map((_, number) => read(`${by}-${number}`));
  probe.remove();
  return { ...colors, fills };
}
