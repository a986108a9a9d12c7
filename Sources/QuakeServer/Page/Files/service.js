// The requests of the page to the server.

import { shown } from "./groups.js";
import { fromFeature, fromRow } from "./quake.js";

/** The path of the folder with the page's files. It contains their version: `/page/VERSION/`. */
const files = new URL(".", import.meta.url).pathname;
/** The beginning of all paths of the service. It ends with a slash. */
export const root = new URL("../..", import.meta.url).pathname;

/** An error response of the server, with the reason in words. */
class Refusal extends Error {
  constructor(status, text) {
    // The event service's errors have their details in the second paragraph.
    super(text.split("\n\n")[text.startsWith("Error") ? 1 : 0]?.trim() || `The server answered with status ${status}.`);
    this.status = status;
  }
}

/** @param {AbortSignal} [signal] @param {RequestCache} [cache] */
async function ask(path, signal, cache = "default") {
  const answer = await fetch(path, { signal, cache });
  if (answer.ok) return answer;
  // The error page of a proxy is HTML.
  const isText = answer.headers.get("Content-Type")?.startsWith("text/plain");
  throw new Refusal(answer.status, isText ? await answer.text() : "");
}

const retryTime = 3000;
let withheld = 0;
/** Called with the number of the page's files that are refused at the moment, each time that number changes. */
let toldWithheld = (/** @type {number} */ _) => {};
export const onWithheld = (told) => (toldWithheld = told);

/**
 * The text of a file of the page. If the server is busy or cannot be reached, the request is repeated until it succeeds.
 */
export async function file(name) {
  let isWithheld = false;
  const text = await untilAnswered(async () => (await ask(`${files}${name}`)).text(), () => {
    if (!isWithheld) toldWithheld((withheld += 1));
    isWithheld = true;
  });
  if (isWithheld) toldWithheld((withheld -= 1));
  return text;
}

/**
 * Repeats a request until it succeeds, the server refuses it, or `signal` is aborted. Calls `failed(error)` before each repetition.
 * In the last two cases it throws the error.
 *
 * @template T
 * @param {() => Promise<T>} request @param {(error: any) => void} failed @param {AbortSignal} [signal]
 */
export async function untilAnswered(request, failed, signal) {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (signal?.aborted || (error.status < 500 && error.status !== 429)) throw error;
      failed(error);
      await new Promise((done) => setTimeout(done, retryTime * (1 + Math.random())));
      if (signal?.aborted) throw error;
    }
  }
}

/**
 * The result of a request, which gets a signal that is aborted after `time` ms, or when `signal` is. Each call of `goOn` begins the
 * time again.
 *
 * @template T
 * @param {number} time @param {(signal: AbortSignal, goOn: () => void) => Promise<T>} request @param {AbortSignal} [signal]
 */
export async function within(time, request, signal) {
  const limit = new AbortController();
  const stop = () => limit.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  let timer = setTimeout(stop, time);
  const goOn = () => {
    clearTimeout(timer);
    timer = setTimeout(stop, time);
  };
  try {
    return await request(limit.signal, goOn);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    // `request` may have made several requests, and used the first answer.
    stop();
  }
}

/** How often the loading of a module has failed. @type {Record<string, number>} */
const failures = {};

/** Loads a module that the page does not need at the start. Each retry has a new URL, because browsers may remember failures. */
export async function module(name) {
  try {
    return await import(`./${name}${failures[name] ? `?${failures[name]}` : ""}`);
  } catch (error) {
    failures[name] = (failures[name] ?? 0) + 1;
    throw error;
  }
}

/**
 * Loads the selected events, the newest first: all of them, or as many as the server gives in one answer.
 *
 * Returns { quakes, total, position, isBare }. `total` includes the events that are not in the answer; among these, an earthquake
 * that several agencies report counts once. `position` is the position for /changes. `isBare` is true if the server has no events
 * at all; with `isBrief`, this is not checked. Throws if no part of an answer arrives for 75 s.
 */
export async function load(selection, asof, signal, isBrief = false) {
  const query = new URLSearchParams(selection);
  if (asof != null) query.set("asof", new Date(asof).toISOString());
  query.set("format", "geojson");
  query.set("includeearthquake", "true");
  const asked = (path) => within(75_000, async (limit, goOn) => {
    const answer = await ask(`${root}fdsnws/event/1/${path}`, limit);
    return { body: JSON.parse(await textOf(answer, goOn)), position: answer.headers.get("Quakes-Position") };
  }, signal);
  let counted = null;
  let answer;
  try {
    answer = await asked(`query?${query}`);
  } catch (error) {
    if (error.status !== 413) throw error;
    const all = new URLSearchParams(query);
    all.delete("includeearthquake");
    all.set("merge", "true");
    counted = (await asked(`count?${all}`)).body;
    query.set("limit", counted.maxAllowed);
    answer = await asked(`query?${query}`);
  }
  const quakes = answer.body.features.map(fromFeature);
  const given = counted && shown(new Map(quakes.map((quake) => [quake.code, quake])), new Map()).quakes.size;
  return {
    quakes,
    total: quakes.length + (counted ? counted.count - given : 0),
    position: answer.position,
    isBare: !isBrief && quakes.length === 0 && await hasNothing(query.get("asof"), signal),
  };
}

/** When the last part of a load arrived, in ms. */
let arrived = -Infinity;
/** Whether a load is arriving, perhaps so slowly that there is no room for other answers. */
export const isReceiving = () => performance.now() - arrived < 10_000;

/** The text of an answer. Calls `goOn` after each part of it. */
async function textOf(answer, goOn) {
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    arrived = performance.now();
    goOn();
  }
  arrived = -Infinity;
  return text + decoder.decode();
}

/** The events with these codes at a moment or a position; null is now. `more` has further parameters of the query. */
async function withCodes(codes, more, asof, signal) {
  const query = new URLSearchParams({ eventid: codes.join(","), format: "geojson", ...more });
  if (asof != null) query.set("asof", typeof asof === "number" ? new Date(asof).toISOString() : asof);
  const { features, ...only } = await (await ask(`${root}fdsnws/event/1/query?${query}`, signal)).json();
  return (features ?? [only]).map(fromFeature);
}

/** The events with these codes, all solutions of one earthquake, as they were at a moment; null is now. */
export const solutions = (codes, asof, signal) => withCodes(codes, { includeearthquake: "true" }, asof, signal);

/**
 * Those of these events that are in the catalogue at a moment or a position, whether a filter selects them or not, by their codes and
 * without their earthquakes.
 *
 * @param {string[]} codes @param {number | string | null} asof @param {AbortSignal} [signal]
 */
export async function present(codes, asof, signal) {
  const found = [];
  for (let at = 0; at < codes.length; at += 50) {
    try {
      found.push(...await withCodes(codes.slice(at, at + 50), { nodata: "404" }, asof, signal));
    } catch (error) {
      if (error.status !== 404 && error.status !== 409) throw error;
    }
  }
  return new Map(found.map((quake) => [quake.code, quake]));
}

/** Whether the catalogue has no events at all. If the request fails, the result is false. */
async function hasNothing(asof, signal) {
  const query = new URLSearchParams({ format: "geojson", ...(asof == null ? {} : { asof }) });
  try {
    return (await (await ask(`${root}fdsnws/event/1/count?${query}`, signal)).json()).count === 0;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

/**
 * The story of an event: { steps, now }. Each step is { change, before, after }, with the event's states before and after the
 * change, as far as the history has them; the oldest step is first. `now` is the current state; null if the event was deleted.
 */
export async function story(code, signal) {
  // Does not use the cache: this request often follows a change, and the server may still answer 304 just after a commit.
  const answer = await ask(`${root}history/${encodeURIComponent(code)}`, signal, "no-store");
  const lines = (await answer.text()).split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
  const row = lines.pop().row;
  let state = row;
  const steps = lines.reverse().map((change) => {
    const after = change.operation === "delete" ? null : state;
    const before = change.operation === "insert" ? null : { ...state, ...change.before };
    state = before;
    return { change, before: before && fromRow(before), after: after && fromRow(after) };
  });
  return { steps: steps.reverse(), now: row && fromRow(row) };
}

/**
 * The state of a story's event at `moment`. If `moment` is null, the result has the current state, or the last state before the
 * deletion.
 *
 * Returns { is: "present" | "absent" | "unknown", quake, reason }. An event is absent before its first import and after its
 * deletion, and unknown if the history of that time is no longer kept. `begin` is when the history begins. If the event is
 * absent, `quake` is its last state before the moment, or null, and `reason` is the reason for its deletion.
 *
 * @param {{ steps: any[], now: any }} story
 * @param {number | null} moment
 * @param {number | null} begin
 */
export function stateAt({ steps, now }, moment, begin) {
  const last = steps.filter(({ change }) => moment == null || Date.parse(change.committed_at) <= moment).at(-1);
  if (!last && moment != null && begin != null && moment < begin) return { is: "unknown", quake: null };
  const quake = last ? last.after : steps.length > 0 ? steps[0].before : now;
  return quake ? { is: "present", quake } : { is: "absent", quake: last?.before ?? null, reason: last?.change.reason };
}

/** The periods for which the catalogue is complete: see `Held` in coverage.js. */
export async function coverage() {
  const { held } = await within(20_000, async (limit) => (await ask(`${root}coverage`, limit)).json());
  return held.map(({ service, from, until, minimum_magnitude: magnitude, box }) =>
    ({ service, from: Date.parse(from), until: Date.parse(until), magnitude, box }));
}

/** How far the device's clock is behind the server's, in ms; 0 if the clocks differ by less than a minute. */
let behind = 0;

/** The server's time, in ms. Until the server's first answer, this is the device's time. */
export const now = () => Date.now() + behind;

/** Corrects `now` by the time of an answer if they differ by more than a minute. Returns whether they do. */
function setClock(answer) {
  const difference = Date.parse(answer.headers.get("Date")) - Date.now();
  // An answer without a date changes nothing.
  if (!(Math.abs(difference - behind) > 60_000)) return false;
  behind = Math.abs(difference) > 60_000 ? difference : 0;
  return true;
}

/**
 * The server's health: { answer, isClockSet }. `isClockSet` is true if `now` has changed. Throws an AggregateError if the server
 * does not answer within 10 s, or if a proxy answers in its place.
 *
 * After a network failure, a browser may try several dead connections first. So `times` requests are sent at once.
 */
export function health(times = 1) {
  return within(10_000, (signal) => Promise.any(Array.from({ length: times }, async () => {
    const answer = await fetch(`${root}health`, { signal, cache: "no-store" });
    if (answer.status === 429) throw new Refusal(429, "");
    return { answer: await answer.json(), isClockSet: setClock(answer) };
  })));
}
