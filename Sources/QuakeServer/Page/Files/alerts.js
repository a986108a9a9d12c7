// Decides which events cause alerts, without side effects; notify.js shows the alerts. The tests of `quakes notify` use the same
// table of cases (Tests/AlertsTests/Cases/alerts.json).

import { byEvent, distance, fromRow, isAmong } from "./quake.js";

/** The maximum age of an event that causes an alert, in ms. A backfill imports many older events, which are not news. */
const newest = 24 * 3_600_000;
/** Clocks differ, so an origin time may be this far in the future, in ms. A later origin time is an error. */
const ahead = 5 * 60_000;
const remembered = 7 * 24 * 3_600_000;

/** @typedef {{ on: boolean, magnitude: number, near: boolean, latitude: number, longitude: number, radius: number, sound: boolean }} Wish */

/** @type {Wish} */
export const usual = { on: false, magnitude: 5, near: false, latitude: 0, longitude: 0, radius: 500, sound: true };

/** Reads the stored wish. Another version of the page may have stored it, so unknown names and wrong types are ignored. */
export function readWish(text) {
  const kept = parsed(text);
  const known = Object.entries(kept).filter(([name, value]) =>
    name in usual && typeof value === typeof usual[name] && (typeof value !== "number" || Number.isFinite(value)));
  return /** @type {Wish} */ ({ ...usual, ...Object.fromEntries(known) });
}

function parsed(text) {
  try {
    const value = JSON.parse(text ?? "{}");
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

/** Reads the stored codes of the events that had alerts, and the alerts' times in ms. Entries older than a week are dropped. */
export function readTold(text, now) {
  const kept = Object.entries(parsed(text)).filter(([, time]) => typeof time === "number" && now - time < remembered);
  return new Map(/** @type {[string, number][]} */ (kept));
}

export const writeTold = (told) => JSON.stringify(Object.fromEntries(told));

/** The largest distance that the service accepts, in km: half the way round the Earth. */
const farthest = 20_016;

/** The parameters of /changes that select the events that may cause an alert. */
export function selection({ magnitude, near, latitude, longitude, radius }, now) {
  const query = new URLSearchParams({ minmagnitude: String(magnitude) });
  query.set("starttime", new Date(Math.floor((now - newest) / 3_600_000) * 3_600_000).toISOString().slice(0, -1));
  if (near) {
    query.set("latitude", String(latitude));
    query.set("longitude", String(longitude));
    query.set("maxradiuskm", String(Math.min(radius, farthest)));
  }
  return query;
}

const matches = (quake, wish, now) =>
  quake.magnitude != null && quake.magnitude >= wish.magnitude && now - quake.time <= newest && quake.time - now <= ahead
  && !isExercise(quake) && (!wish.near || distance(quake, wish) <= wish.radius);

const exercises = new Set(["scenario", "exercise", "training", "test", "drill"]);
const words = (text) => (text ?? "").toLowerCase().split(/\P{L}+/u).filter(Boolean);

/** Whether an event is a test, an exercise or a scenario, by its products, type or status, or the first word of its place. */
const isExercise = ({ type, types, status, place }) =>
  (types ?? []).some((each) => each === "scenario" || each.endsWith("-scenario"))
  || [...words(type), ...words(status), ...words(place).slice(0, 1)].some((word) => exercises.has(word));

/**
 * The events of a pass that cause an alert, the largest first. They match the wish now and did not match it before the pass, and
 * there was no alert for any of their codes. If an event is deleted and does not continue under another code, its codes are
 * removed from `told`. If the event appears again, it therefore causes another alert.
 *
 * @param {Map<string, number>} told the codes of the events with alerts; the codes of deleted events are removed
 */
export function crossing(changes, wish, told, now) {
  const found = [];
  for (const { last: { key, operation, row, reason, before: deleted }, before } of byEvent(changes)) {
    if (operation === "delete" && !reason?.startsWith("superseded by ")) {
      for (const code of [key, ...(deleted?.ids ?? [])]) told.delete(code);
    }
    if (operation === "delete" || !row) continue;
    const quake = fromRow(row);
    if (!matches(quake, wish, now) || isAmong(quake, told)) continue;
    if (!before || !matches(fromRow(before), wish, now)) found.push(quake);
  }
  return found.sort(byMagnitude);
}

/** The events of a snapshot that cause an alert. A snapshot has no changes, so events updated after `heard` count as changed. */
export const since = (quakes, heard, wish, told, now) =>
  quakes.filter((quake) => quake.updated > heard && matches(quake, wish, now) && !isAmong(quake, told)).sort(byMagnitude);

const byMagnitude = (a, b) => b.magnitude - a.magnitude;
