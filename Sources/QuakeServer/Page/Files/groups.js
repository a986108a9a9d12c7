// Earthquakes that several agencies report. Each is shown once, with the solution that `quakes associate` prefers.

import { agencyOf, agencyOfNetwork } from "./agencies.js";

/**
 * The value of `earthquake` in an event if other events describe the same earthquake.
 *
 * @typedef {{ code: string, preferred: string, magnitude_from: string | null, networks: string[], members: string[] }} Group
 */

/** The names of the agencies that report an event's earthquake. @returns {string[]} */
export const agenciesOf = (quake) =>
  (quake.earthquake ? [...new Set(quake.earthquake.networks.map(agencyOfNetwork))].sort() : [agencyOf(quake)]);

/** The events to show, one for each earthquake, and their marks, both by code. The arguments are the catalogue's properties. */
export function shown(quakes, marks) {
  /** @type {Map<string, any>} */
  const found = new Map();
  const shownMarks = new Map();
  for (const quake of quakes.values()) {
    if (shownCode(quake, quakes) !== quake.code) continue;
    found.set(quake.code, merged(quake, quakes));
    const sized = quake.earthquake && marks.get(chosen(quake.earthquake)[1]);
    const mark = marks.get(quake.code) ?? (sized?.kind === "revised" || sized?.kind === "left" ? sized : undefined);
    if (mark && !(mark.kind === "new" && wasKnown(quake, quakes, marks))) shownMarks.set(quake.code, mark);
  }
  return { quakes: found, marks: shownMarks };
}

/**
 * The code of the event that represents this event's earthquake on the page. It is null if the event that supplies the
 * earthquake's magnitude is not in the catalogue. In that case, the filters do not select the earthquake.
 */
export function shownCode({ code, earthquake }, quakes) {
  if (!earthquake) return code;
  const [preferred, sized] = chosen(earthquake);
  if (!quakes.has(sized)) return null;
  return quakes.has(preferred) ? preferred : sized;
}

/**
 * The codes of the event to show and of the event that supplies the magnitude. If one of them is deleted before the group is
 * updated, another event takes its place.
 */
function chosen({ preferred, magnitude_from: from, members }) {
  const shown = members.includes(preferred) ? preferred : members[0];
  return [shown, members.includes(from) ? from : shown];
}

/** The results of `merged`, kept so that `merged` returns the same object as long as the events do not change. */
const made = new WeakMap();

/** An event with the magnitude of its earthquake. */
function merged(quake, quakes) {
  if (!quake.earthquake) return quake;
  const sized = quakes.get(chosen(quake.earthquake)[1]);
  if (sized === quake) return quake;
  const known = made.get(quake);
  if (known?.sized === sized) return known.whole;
  const whole = { ...quake, magnitude: sized.magnitude, magnitude_type: sized.magnitude_type };
  made.set(quake, { sized, whole });
  return whole;
}

/** Whether the catalogue has another event of the same earthquake that is not marked as new. */
const wasKnown = ({ code, earthquake }, quakes, marks) =>
  earthquake?.members.some((other) => other !== code && quakes.has(other) && marks.get(other)?.kind !== "new") ?? false;
