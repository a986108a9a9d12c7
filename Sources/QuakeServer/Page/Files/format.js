// Formats numbers and times for people.

import { columns } from "./quake.js";

/** @typedef {"km" | "mi"} Units of length */

/** The countries where distances are in miles: the United States, the United Kingdom, Liberia and Myanmar. */
const inMiles = ["US", "GB", "LR", "MM"];

/** The units of a locale, such as `en-US`. @param {string | undefined} locale @returns {Units} */
export function unitsOf(locale) {
  try {
    return inMiles.includes(new Intl.Locale(locale ?? "").region ?? "") ? "mi" : "km";
  } catch {
    return "km";
  }
}

/** The length of each unit, in kilometres. */
export const kilometres = { km: 1, mi: 1.609344 };

/** @type {Intl.DateTimeFormatOptions} */
const clockStyle = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const makers = {};

function maker(zone, withSeconds) {
  const key = zone + withSeconds;
  makers[key] ??= new Intl.DateTimeFormat("sv-SE", {
    year: "numeric", month: "2-digit", day: "2-digit", ...clockStyle, second: withSeconds ? "2-digit" : undefined,
    timeZone: zone === "utc" ? "UTC" : undefined,
  });
  return makers[key];
}

/** Such as `2026-11-21 09:00:00 UTC`; without ` UTC` if the zone is this device's. */
export function time(milliseconds, zone, withSeconds = true) {
  if (milliseconds == null || Number.isNaN(milliseconds)) return "unknown";
  return maker(zone, withSeconds).format(milliseconds) + (zone === "utc" ? " UTC" : "");
}

/** Such as `2026-11-21 09:00 – 11:30 UTC`. */
export function times(from, until, zone) {
  const [first, last] = [from, until].map((each) => time(each, zone, false));
  const end = zone === "utc" ? first.length - 4 : first.length;
  return `${first.slice(0, end)} – ${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last}`;
}

/** Such as `5 min ago`. */
export function ago(milliseconds, now) {
  const seconds = Math.round((now - milliseconds) / 1000);
  if (seconds < -120) return "in the future";
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days < 365 ? `${days} d ago` : `${Math.floor(days / 365)} y ago`;
}

/** A number with a fixed number of decimals and a true minus sign; negative zero becomes 0. */
export const fixed = (value, digits) => (rounded(value, digits) + 0).toFixed(digits).replace("-", "−");

/** A half is rounded away from zero, as agencies do: 2.55 becomes 2.6. `toFixed` returns 2.5, because 2.55 is stored as 2.5499…. */
const rounded = (value, digits) => Math.sign(value) * Math.round(Math.abs(value) * 10 ** digits) / 10 ** digits;

/** A magnitude with one decimal; `?` if it is unknown. */
export const magnitude = (value) => (value == null ? "?" : fixed(value, 1));

/**
 * Such as `12.3 km deep`, or `12 km deep` if `isShort`. Some events in mountains are above sea level, so their depth is negative.
 *
 * @param {number | null} value in km
 * @param {Units} units
 */
export function depth(value, units, isShort = false) {
  if (value == null) return "depth unknown";
  const far = Math.abs(value) / kilometres[units];
  return `${trimmed(far, isShort && far >= 10 ? 0 : 1)} ${units} ${value < 0 ? "above sea level" : "deep"}`;
}

/** An event's place. A distance at its beginning, as in `136 km ESE of Petropavlovsk, Russia`, is converted to the units. */
export function place({ place, code }, units) {
  if (units === "km") return place || code;
  return (place || code).replace(/^(\d+(?:\.\d+)?) ?km (?=[NESW]{1,3} of )/, (_, far) => `${Math.max(1, Math.round(far / kilometres.mi))} mi `);
}

const numerals = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
const strengths = [
  "", "not felt", "weak", "weak", "light", "moderate", "strong", "very strong", "severe", "violent", "extreme", "extreme", "extreme",
];

/** An intensity on the Modified Mercalli scale in the USGS's words, such as `IX, violent` (https://www.usgs.gov/programs/earthquake-hazards/modified-mercalli-intensity-scale). */
export function intensity(value) {
  const grade = Math.max(1, Math.min(12, Math.round(value)));
  return `${numerals[grade]}, ${strengths[grade]}`;
}

/** The offset of this device's time zone from UTC at a moment, such as `UTC+5:30`. */
export function offset(milliseconds) {
  const minutes = -new Date(milliseconds).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Such as `06:38 UTC` for today, or `23 Nov 06:38 UTC` for another day of this year. Other years have the whole date. */
export function clock(milliseconds, now, zone) {
  const [then, today] = [milliseconds, now].map((each) => time(each, zone, false));
  if (then.slice(0, 10) === today.slice(0, 10)) return then.slice(11);
  return then.slice(0, 5) === today.slice(0, 5) ? `${Number(then.slice(8, 10))} ${months[Number(then.slice(5, 7)) - 1]} ${then.slice(11)}` : then;
}

export function position(quake) {
  const latitude = `${Math.abs(quake.latitude).toFixed(3)}° ${quake.latitude < 0 ? "S" : "N"}`;
  return `${latitude}, ${Math.abs(quake.longitude).toFixed(3)}° ${quake.longitude < 0 ? "W" : "E"}`;
}

/** Such as `+2.1` or `−0.3`. */
export const signed = (value) => `${value < 0 ? "" : "+"}${trimmed(value, 1)}`;

/** A distance, such as `14 km`. @param {number} value in km @param {Units} units */
export const away = (value, units) => `${trimmed(value / kilometres[units], 0)} ${units}`;

const trimmed = (value, digits) => String(rounded(value, digits)).replace("-", "−");

/** The value of a column, as text. */
export function value(name, content, zone) {
  if (content == null || content === "") return "none";
  if (name === "time") return time(content, zone);
  if (name === "magnitude") return magnitude(content);
  if (name === "cdi" || name === "mmi") return intensity(content);
  if (typeof content === "boolean") return content ? "yes" : "no";
  if (Array.isArray(content)) return content.join(", ");
  if (typeof content !== "number") return String(content);
  const [, , digits = 2, unit = ""] = columns.find(([column]) => column === name) ?? [];
  return trimmed(content, digits) + unit;
}

export const label = (name) => columns.find(([column]) => column === name)?.[1] ?? name;

/** Such as `Magnitude 4.1 → 4.3`. Values that would look the same are shown with all their digits. */
export function change({ name, old, new: now }, zone) {
  let [before, after] = [old, now].map((content) => value(name, content, zone));
  if (before === after) [before, after] = [old, now].map((content) => exact(name, content, zone));
  return `${label(name)} ${before} → ${after}`;
}

function exact(name, content, zone) {
  if (name === "time") return time(content, zone).replace(/( UTC)?$/, `.${String(((content % 1000) + 1000) % 1000).padStart(3, "0")}$1`);
  return typeof content === "number" ? String(content).replace("-", "−") : value(name, content, zone);
}

/** Such as `1 earthquake` and `1,234 earthquakes`. */
export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** A reason from the history in plain words, because only readers of the manual understand `retracted by all_day`. */
export function reason(text) {
  const [, verb, name] = /^(superseded|retracted|deleted) by (\S+)$/.exec(text) ?? [];
  if (verb === "superseded") return `Now listed as ${name}`;
  if (verb === "retracted") return `No longer in the agency’s feed ${name}`;
  return verb === "deleted" ? `Deleted by ${name}` : text;
}
