// Which of the selected periods, magnitudes and regions the catalogue holds whole. Where it does not, no earthquake means nothing.

import * as format from "./format.js";

/**
 * @typedef {object} Held
 * @property {number} from milliseconds, like `until`
 * @property {number} until
 * @property {number | null} magnitude held from this one on; null for all
 * @property {[number, number, number, number] | null} box south, west, north, east; null for the whole earth
 */

/** @typedef {{ north: number, south: number, west: number | null, east: number | null }} Region */

/** @type {Region} */
const earth = { north: 90, south: -90, west: null, east: null };

/**
 * Whether a box has all of a region.
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
 * The stretches that are not held whole: { from, until, magnitude }. Such a stretch is held from a magnitude on, or not at all,
 * which is infinity. The rule is that of the plots' shade (Charts/Coverage.swift).
 *
 * @param {Held[]} held
 * @param {number} from
 * @param {number} until
 * @param {number | null} least only what is as large matters
 * @param {Region} region only what is there matters
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
 * What is held of a selection, in a sentence; empty if that is not known.
 *
 * @param {Held[] | null} held null as long as it is not known
 * @param {[number | null, number | null]} window from, until; open where they are null
 * @param {{ now: number, tail: number, minmag: number | null, zone: string }} more `tail`: a gap at the end that is no longer than
 *   this is only the time until the next document comes
 * @param {Region} [region]
 */
export function sentence(held, [from, until], { now, tail, minmag, zone }, region) {
  if (!held || held.length === 0) return "";
  const begin = from ?? Math.min(...held.map((each) => each.from));
  const end = Math.min(until ?? now, now);
  if (begin >= end) return "";
  const found = gaps(held, begin, end, minmag, region)
    .filter((gap) => !(gap.until === end && end > now - 1000 && gap.until - gap.from <= tail));
  const open = from == null ? ` since ${format.time(begin, zone, false)}` : "";
  if (found.length === 0) return `Complete as published${open}.`;
  const [only] = found;
  if (found.length === 1 && only.from === begin && only.until === end) {
    return only.magnitude === Infinity ? "Nothing here was imported whole: earthquakes may be missing."
      : `Complete as published${open} from magnitude ${format.magnitude(only.magnitude)} on.`;
  }
  const below = ({ magnitude }) => (magnitude < Infinity ? `below magnitude ${format.magnitude(magnitude)}` : "");
  const areAlike = found.every(({ magnitude }) => magnitude === only.magnitude);
  const words = found.slice(0, most).map((gap) => {
    const times = gap.from === begin && from != null ? `before ${format.time(gap.until, zone, false)}`
      : gap.until === end ? `since ${format.time(gap.from, zone, false)}` : format.times(gap.from, gap.until, zone);
    return areAlike || !below(gap) ? times : `${times} ${below(gap)}`;
  });
  const rest = found.length > most ? `; and ${format.count(found.length - most, "more stretch", "more stretches")}` : "";
  return `May be incomplete${areAlike && below(only) ? ` ${below(only)}` : ""}: ${words.join("; ")}${rest}.`;
}
