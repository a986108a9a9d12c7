// Tells for which of the selected periods, magnitudes and regions the catalogue is complete. Where it is incomplete, an empty
// list does not mean that there were no earthquakes.

import * as format from "./format.js";

/**
 * @typedef {object} Held
 * @property {string} [service] the host of the service that published the events
 * @property {number} from milliseconds, like `until`
 * @property {number} until
 * @property {number | null} magnitude the smallest magnitude for which the catalogue is complete; null for all magnitudes
 * @property {[number, number, number, number] | null} box south, west, north, east; null for the whole earth
 */

/** @typedef {{ north: number, south: number, west: number | null, east: number | null }} Region */

/** @type {Region} */
const earth = { north: 90, south: -90, west: null, east: null };

/**
 * Whether a box contains the whole region.
 *
 * @param {[number, number, number, number]} box
 * @param {Region} region
 */
function contains([south, west, north, east], region) {
  if (region.south < south || region.north > north) return false;
  const turn = (degrees) => ((degrees % 360) + 360) % 360;
  const width = east - west >= 360 ? 360 : turn(east - west);
  if (region.west == null) return width === 360;
  const begin = turn(region.west - west);
  return width === 360 || begin + turn(region.east - region.west) <= width;
}

/**
 * The gaps, in which the catalogue is incomplete: { from, until, magnitude }. In a gap, the catalogue is complete only for events
 * of at least `magnitude`; infinity means that it is complete for none. Charts/Coverage.swift shades plots by the same rule.
 *
 * @param {Held[]} held
 * @param {number} from
 * @param {number} until
 * @param {number | null} least the smallest selected magnitude; null if all are selected
 * @param {Region} region the selected region
 */
export function gaps(held, from, until, least, region = earth) {
  const known = held.filter(({ box }) => box == null || contains(box, region));
  const ends = known.flatMap((each) => [each.from, each.until]).filter((end) => end > from && end < until);
  const cuts = [from, ...new Set(ends.sort((a, b) => a - b)), until];
  const found = [];
  for (let index = 0; index + 1 < cuts.length; index += 1) {
    const [begin, end] = [cuts[index], cuts[index + 1]];
    const magnitudes = known.filter((each) => each.from <= begin && end <= each.until).map((each) => each.magnitude ?? -Infinity);
    const magnitude = Math.min(Infinity, ...magnitudes);
    if (magnitude <= (least ?? -Infinity)) continue;
    const last = found.at(-1);
    if (last?.until === begin && last.magnitude === magnitude) last.until = end;
    else found.push({ from: begin, until: end, magnitude });
  }
  return found;
}

const most = 2;

/**
 * @typedef {object} Publishers
 * @property {(service: string) => string} nameOf gives the name of the agency that runs a service
 * @property {string[]} listed the names of the agencies that have events in the list and whose service is known
 * @property {boolean} areOthers whether the list also has events of agencies whose service is unknown
 */

/**
 * A gap that reaches up to `now` and is not longer than `tail` is ignored, because the feed's next document will fill the gap.
 *
 * @typedef {{ now: number, tail: number, minmag: number | null, zone: string }} More
 */

/**
 * How much of a selection the catalogue certainly has: all events (perhaps only the larger ones), a part of them, or nothing.
 * `words` is the end of the sentence about this. The result is null if the period is empty.
 *
 * @param {Held[]} held
 * @param {[number | null, number | null]} window from, until; open where they are null
 * @param {More} more
 * @param {Region} [region]
 * @returns {{ is: "whole" | "partial" | "nothing", words: string } | null}
 */
function extent(held, [from, until], { now, tail, minmag, zone }, region) {
  const begin = from ?? Math.min(...held.map((each) => each.from));
  const end = Math.min(until ?? now, now);
  if (begin >= end) return null;
  const found = gaps(held, begin, end, minmag, region)
    .filter((gap) => !(gap.until === end && end > now - 1000 && gap.until - gap.from <= tail));
  const open = from == null ? ` since ${format.time(begin, zone, false)}` : "";
  if (found.length === 0) return { is: "whole", words: open };
  const [only] = found;
  if (found.length === 1 && only.from === begin && only.until === end) {
    if (only.magnitude === Infinity) return { is: "nothing", words: "" };
    return { is: "whole", words: `${open} from magnitude ${format.magnitude(only.magnitude)} on` };
  }
  const below = ({ magnitude }) => (magnitude < Infinity ? `below magnitude ${format.magnitude(magnitude)}` : "");
  const areAlike = found.every(({ magnitude }) => magnitude === only.magnitude);
  const words = found.slice(0, most).map((gap) => {
    const times = gap.from === begin && from != null ? `before ${format.time(gap.until, zone, false)}`
      : gap.until === end ? `since ${format.time(gap.from, zone, false)}` : format.times(gap.from, gap.until, zone);
    return areAlike || !below(gap) ? times : `${times} ${below(gap)}`;
  });
  const rest = found.length > most ? `; and ${format.count(found.length - most, "more period")}` : "";
  return { is: "partial", words: `${areAlike && below(only) ? ` ${below(only)}` : ""}: ${words.join("; ")}${rest}` };
}

/**
 * The sentences that say how much of a selection the catalogue has; empty if unknown. If there are several agencies, the
 * sentences name them.
 *
 * @param {Held[] | null} held null until it is known
 * @param {[number | null, number | null]} window from, until; open where they are null
 * @param {More} more
 * @param {Region | undefined} region the whole earth if undefined
 * @param {Publishers} publishers
 */
export function sentence(held, window, more, region, { nameOf, listed, areOthers }) {
  if (!held || held.length === 0) return "";
  const services = [...new Set(held.map(({ service }) => service))];
  const names = new Set([...services.map(nameOf), ...listed]);
  const areMany = names.size > 1 || (areOthers && listed.length > 0);
  // The server does not name the service of some periods, so their agencies are unknown.
  if (areMany && services.includes(undefined)) return "";
  const told = services
    .map((service) => ({ name: nameOf(service), ...extent(held.filter((each) => each.service === service), window, more, region) }))
    .filter(({ is, name }) => is === "whole" || is === "partial" || (is === "nothing" && (listed.includes(name) || !areMany)));
  for (const name of listed) if (!services.some((service) => nameOf(service) === name)) told.push({ name, is: "nothing", words: "" });
  if (told.length === 0) return "";
  if (told.every(({ is }) => is === "nothing")) return "No part of this period was imported completely: earthquakes may be missing.";
  const whole = told.filter(({ is }) => is === "whole");
  const sentences = [...new Set(whole.map(({ words }) => words))].map((words) =>
    `Complete as published${areMany ? ` by ${list(whole.filter((each) => each.words === words))}` : ""}${words}.`);
  for (const { name, words } of told.filter(({ is }) => is === "partial")) {
    sentences.push(`${areMany ? `${name} may` : "May"} be incomplete${words}.`);
  }
  const missing = told.filter(({ is }) => is === "nothing");
  if (missing.length > 0) sentences.push(`Earthquakes of ${list(missing)} may be missing.`);
  return sentences.join(" ");
}

/** Such as `A, B and C`. */
const list = (all) => all.map(({ name }) => name).join(", ").replace(/, ([^,]*)$/, " and $1");
