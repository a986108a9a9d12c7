// The settings of the page. They are in its URL, so that a link shows the same page and the back button works.

/**
 * @typedef {object} Settings
 * @property {"hour" | "day" | "week" | "month" | "range"} period
 * @property {number | null} from milliseconds, like `to` and `asof`
 * @property {number | null} to
 * @property {number | null} minmag
 * @property {number | null} maxmag
 * @property {string | null} search words that a place must contain
 * @property {string | null} agency the name of an agency that must report the listed earthquakes
 * @property {"newest" | "oldest" | "largest" | "smallest"} sort
 * @property {boolean} inview whether only the events in the visible part of the map are listed
 * @property {"depth" | "age" | "agency"} color
 * @property {"utc" | "local"} zone
 * @property {format.Units} units
 * @property {number | null} asof the past moment whose catalogue is shown; null for now
 * @property {string | null} event the code of the event that is shown in detail
 * @property {number[] | null} map latitude, longitude and zoom
 */

import * as format from "./format.js";

/** The periods in words, as they follow “the last”. */
export const periods = { hour: "hour", day: "day", week: "week", month: "30 days" };

const spans = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 30 * 86_400_000 };

/**
 * The settings if the URL has no query. As on the USGS's map, the many small earthquakes, which few regions report, are left out.
 */
const standard = {
  period: "day", from: null, to: null, minmag: 2.5, maxmag: null, search: null, agency: null, sort: "newest", inview: false, color: "depth",
  zone: "utc", units: format.unitsOf(globalThis.navigator?.language), asof: null, event: null, map: null,
};

const choices = {
  period: [...Object.keys(spans), "range"], sort: ["newest", "oldest", "largest", "smallest"],
  color: ["depth", "age", "agency"], zone: ["utc", "local"], units: ["km", "mi"],
};

/**
 * Reads the query of a URL. Invalid values count as not given.
 *
 * @returns {Settings}
 */
export function read(search) {
  const given = new URLSearchParams(search);
  const settings = /** @type {any} */ ({ ...standard });
  for (const [name, words] of Object.entries(choices)) {
    if (words.includes(given.get(name))) settings[name] = given.get(name);
  }
  for (const name of ["from", "to", "asof"]) settings[name] = instant(given.get(name));
  settings.maxmag = decimal(given.get("maxmag"));
  // If a link has a maximum magnitude below the default minimum, and no minimum, the default minimum is not used, because it
  // would exclude all events.
  const least = decimal(given.get("minmag"));
  if (least != null || given.get("minmag") === "all" || (settings.maxmag != null && settings.maxmag < standard.minmag)) settings.minmag = least;
  settings.inview = given.get("inview") === "1";
  settings.event = given.get("event")?.slice(0, 64) || null;
  // An agency's name, the host of a service that is not in the list, or `other networks`.
  settings.agency = /^[\w.:[\] -]{1,64}$/.exec(given.get("agency") ?? "")?.[0] ?? null;
  settings.search = given.get("search")?.slice(0, 100) || null;
  settings.map = view(given.get("map"));
  return settings;
}

/** The query of a URL for these settings. `read` reads it back. */
export function written(settings) {
  const query = new URLSearchParams();
  for (const [name, usual] of Object.entries(standard)) {
    const value = settings[name];
    if (value === usual || (value == null && name !== "minmag")) continue;
    if (name === "minmag") query.set(name, String(value ?? "all"));
    else if (name === "inview") query.set(name, "1");
    else if (name === "map") query.set(name, value.join(","));
    else if (["from", "to", "asof"].includes(name)) query.set(name, new Date(value).toISOString());
    else query.set(name, String(value));
  }
  // Commas and colons need no escaping in a query, and people can read them better this way.
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text ? `?${text}` : "";
}

/**
 * A time without an offset is in UTC, as in the event service. A `+` before an offset may arrive as a space. `Date.parse` would read
 * a text that does not begin with a year in some way, too.
 */
function instant(text) {
  const given = (text ?? "").replace(/^(\S+-\d\d) (?=\d\d:)/, "$1T").replace(/ (?=\d\d:?\d\d$)/, "+");
  const value = Date.parse(/T[\d:.]+$/.test(given) ? `${given}Z` : given);
  return !/^\d{4}(-|$)/.test(given) || Number.isNaN(value) || Math.abs(value) > 253_402_300_799_999 ? null : value;
}

export function decimal(text) {
  if (text == null || !/^[-−]?(\d{1,2}(\.\d{1,9})?|\.\d{1,9})$/.test(text)) return null;
  return Number(Number(text.replace("−", "-")).toFixed(3));
}

function view(text) {
  const numbers = (text ?? "").split(",").map(Number);
  return text && numbers.length === 3 && numbers.every(Number.isFinite) ? numbers : null;
}

/** The map's view of a town: about 500 km around it. */
export const around = ({ latitude, longitude }) => [latitude, longitude, 7];

const minute = 60_000;

/**
 * The range of origin times that is shown at a moment: [begin, end], with null for an open end. A period begins at a full minute,
 * so that all pages send the same request, and the server needs to compute the answer only once.
 *
 * @returns {[number | null, number | null]}
 */
export function window({ period, from, to }, moment) {
  return period === "range" ? [from, to] : [Math.floor(moment / minute) * minute - spans[period], null];
}

/** How far before the present the slider begins, in ms. */
export const reach = ({ period, from }, now) =>
  period === "range" ? Math.max(3_600_000, now - (from ?? now - spans.month)) : spans[period];

/** The parameters of the event service and of /changes that select the shown events. */
export function selection(settings, moment) {
  const [start, end] = window(settings, moment);
  const query = new URLSearchParams();
  const text = (instant) => new Date(instant).toISOString().slice(0, -1);
  if (start != null) query.set("starttime", text(start));
  if (end != null) query.set("endtime", text(end));
  if (settings.minmag != null) query.set("minmagnitude", settings.minmag);
  if (settings.maxmag != null) query.set("maxmagnitude", settings.maxmag);
  return query;
}

/** The reason why no event can match; null if events can. */
export function contradiction({ period, from, to, minmag, maxmag }) {
  if (minmag != null && maxmag != null && minmag > maxmag) return "The smallest magnitude is above the greatest.";
  if (period === "range" && from != null && to != null && from > to) return "The range ends before it begins.";
  return null;
}

export const orders = {
  newest: (a, b) => b.time - a.time,
  oldest: (a, b) => a.time - b.time,
  largest: (a, b) => (b.magnitude ?? -99) - (a.magnitude ?? -99) || b.time - a.time,
  smallest: (a, b) => (a.magnitude ?? 99) - (b.magnitude ?? 99) || b.time - a.time,
};
