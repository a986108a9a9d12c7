// The texts about the state of the page. Each text is computed from the machine's current state only.

import { label, publishers } from "./agencies.js";
import { sentence } from "./coverage.js";
import { placeName } from "./earth.js";
import * as format from "./format.js";
import { typeLabel } from "./quake.js";
import { around, periods, window } from "./settings.js";

/** @typedef {import("./machine.js").State} State */

/** @param {State} state */
export const isLate = (state) => state.feed != null && state.now - state.feed.generated > state.feed.limit;

/** Whether the selected events are still being loaded, so that the catalogue does not have them. @param {State} state */
export const isLoading = (state) => state.load != null && !state.load.mark && !state.play;

/** Whether a past state of the catalogue is shown, which cannot become outdated. @param {State} state */
const isOldPast = (state) => state.settings.asof != null && state.isLoaded && !state.trouble;

/** Whether the server has nothing to load for these settings. @param {State} state */
const isNothing = ({ trouble }) => trouble != null && trouble.kind !== "unreachable";

/** Whether the server does not have the selected past. Then the page shows neither the list nor an event. @param {State} state */
export const isPastMissing = ({ trouble, settings }) =>
  settings.asof != null && (trouble?.kind === "refused" || trouble?.kind === "pruned");

/**
 * The lamp and its text. The lamp is green only if the shown events are up to date.
 *
 * @param {State} state
 * @returns {{ lamp: "loading" | "live" | "late" | "past" | "lost" | "off", text: string }}
 */
export function status(state) {
  const { settings, trouble, stream } = state;
  if (trouble?.kind === "contradiction") return { lamp: "off", text: "Nothing selected" };
  if (trouble?.kind === "refused") return { lamp: "off", text: settings.asof == null ? "Request refused" : "Past not available" };
  if (trouble?.kind === "pruned") return { lamp: "off", text: "Past no longer kept" };
  if (!state.hasDatabase && state.isReachable && !isOldPast(state)) return { lamp: "lost", text: "Database unavailable" };
  if (!state.isReachable || trouble || stream === "lost") return { lamp: "lost", text: "Not connected" };
  if (isLoading(state)) return { lamp: "loading", text: "Loading" };
  if (settings.asof != null) return { lamp: "past", text: `As of ${format.time(settings.asof, settings.zone, false)}` };
  if (stream !== "open") return { lamp: "loading", text: "Connecting" };
  if (isLate(state)) return { lamp: "late", text: "Live, feed late" };
  return { lamp: "live", text: "Live" };
}

/**
 * The warnings, as sentences.
 *
 * @param {State} state
 * @returns {string[]}
 */
export function warnings(state) {
  const { trouble, settings, feed } = state;
  const told = [];
  if (trouble?.kind === "contradiction") told.push(trouble.text);
  if (isPastMissing(state)) told.push(missingPast(state));
  else if (trouble?.kind === "refused") told.push(`The server refused the request: ${trouble.text}.`);
  const isAway = !state.hasDatabase && state.isReachable;
  if (!isNothing(state) && (isAway || trouble || !state.isReachable || state.stream === "lost")) {
    const reason = isAway ? "The database does not answer." : trouble?.text ?? "The connection is lost.";
    told.push(`${reason}${state.isLoaded && !isOldPast(state) ? " What you see may be out of date." : ""} Trying again.`);
  }
  if (state.withheld > 0) told.push("Couldn’t load all of the map. Retrying.");
  if (isLate(state) && !isAway && settings.asof == null) {
    // The text has no age, because a screen reader reads each new text.
    told.push(
      `The feed is late: its newest document is from ${format.time(feed.generated, settings.zone, false)}. `
      + "Newer earthquakes may be missing.");
  }
  return told;
}

/** @param {State} state */
function missingPast({ trouble, settings, historyBegin }) {
  const { asof, zone } = settings;
  const then = `the catalogue as of ${format.time(asof, zone, false)}`;
  const begin = historyBegin == null ? "" : ` The history begins at ${format.time(historyBegin, zone, false)}.`;
  if (trouble.kind === "pruned") return `${then[0].toUpperCase()}${then.slice(1)} is no longer kept.${begin}`;
  return historyBegin != null && asof < historyBegin ? `There is no record of ${then}.${begin}` : `The server does not have ${then}: ${trouble.text}.`;
}

/**
 * The text in place of an empty list, and offers of other settings that would fill the list: [label, changes of the settings].
 * Null until the reason for the empty list is known.
 *
 * @param {State} state
 * @param {number} selected the number of selected events, including those that the map or the search hides
 * @param {import("./earth.js").Place | null} [town] the town that the user searched for
 * @returns {{ text: string, offers: [string, object][] } | null}
 */
export function emptiness(state, selected, town = null) {
  const { settings, trouble } = state;
  if (trouble?.kind === "contradiction") {
    return { text: "No earthquake can match these filters.", offers: [["All magnitudes, last day", { minmag: null, maxmag: null, period: "day", from: null, to: null }]] };
  }
  if (isPastMissing(state)) return { text: "", offers: [["Back to now", { asof: null }]] };
  if (trouble || !state.isLoaded || isLoading(state)) return null;
  if ((selected > 0 || town) && settings.search) {
    return { text: `No place here matches “${settings.search}”.`, offers: [...(town ? [near(town)] : []), ["Clear the search", { search: null }]] };
  }
  if (selected > 0 && settings.agency) {
    return { text: `None of these earthquakes is reported by ${label(settings.agency)}.`, offers: [["All agencies", { agency: null }]] };
  }
  if (selected > 0) {
    return { text: "None of the earthquakes is on this part of the map.", offers: [["List those elsewhere, too", { inview: false }]] };
  }
  if (state.isBare) {
    return settings.asof == null ? { text: "Nothing has been imported yet.", offers: [] }
      : { text: "Nothing had been imported at that time.", offers: [["Back to now", { asof: null }]] };
  }
  /** @type {[string, object][]} */
  const offers = [];
  if (settings.minmag != null || settings.maxmag != null) offers.push(["All magnitudes", { minmag: null, maxmag: null }]);
  const longer = { hour: "day", day: "week", week: "month" }[settings.period];
  if (longer) offers.push([`The last ${periods[longer]}`, { period: longer }]);
  return { text: `No earthquake ${magnitudes(settings)}${span(settings)}.`, offers };
}

/**
 * The offer to list the events near a town, including those whose places name other towns.
 *
 * @param {import("./earth.js").Place} town
 * @returns {[string, object]}
 */
export const near = (town) => [`Near ${placeName(town)}`, { search: null, inview: true, map: around(town) }];

/** The list's magnitudes and period in a few words, for small screens and frames, which hide the filters. @param {State} state */
export function which({ settings }) {
  const [least, most] = [settings.minmag, settings.maxmag].map((value) => (value == null ? null : format.magnitude(value)));
  const sizes = most != null ? `M ${least == null ? `up to ${most}` : `${least} to ${most}`}` : least == null ? "All magnitudes" : `M ${least}+`;
  return settings.period === "range" ? `${sizes}, ${span(settings)}` : `${sizes}, last ${periods[settings.period]}`;
}

function magnitudes({ minmag, maxmag }) {
  const [least, most] = [minmag, maxmag].map((value) => (value == null ? null : format.magnitude(value)));
  if (least != null && most != null) return `of magnitude ${least} to ${most} `;
  if (least != null) return `of magnitude ${least} or more `;
  return most != null ? `of magnitude ${most} or less ` : "";
}

function span({ period, from, to, zone }) {
  if (period !== "range") return `in the last ${periods[period]}`;
  const [first, last] = [from, to].map((moment) => (moment == null ? null : format.time(moment, zone, false)));
  if (first && last) return `from ${first} to ${last}`;
  if (first) return `since ${first}`;
  return last ? `before ${last}` : "at any time";
}

const citation = "To cite this state of the catalogue, give this page’s address. It works until the history of that time is pruned; “quakes cite” keeps that history longer.";

/**
 * The text that says how complete the selected events are; empty if unknown. If a past state of the catalogue is shown, the text
 * says how to cite this state instead.
 *
 * @param {State} state
 * @param {string[]} agencies the names of the agencies with selected events
 * @param {import("./coverage.js").Region} [region] the visible part of the map, if only its events are listed
 */
export function held(state, agencies, region) {
  const { settings, now, feed, trouble } = state;
  if (trouble) return "";
  if (settings.asof != null) return state.isLoaded && !state.load && !state.play ? citation : "";
  const { minmag, zone } = settings;
  return sentence(state.held, window(settings, now), { now, tail: feed?.limit ?? 15 * 60_000, minmag, zone }, region, publishers(agencies));
}

/**
 * The list's heading, with the number of events. Explosions and quarry blasts count as others, not as earthquakes.
 *
 * @param {State} state
 * @param {{ type: string | null }[]} quakes the listed events, without withdrawn events and events that left the selection
 */
export function count(state, quakes) {
  if (!state.isLoaded && state.trouble) return isNothing(state) ? "Nothing to show" : "Couldn’t load the list";
  if (state.isBare && quakes.length === 0) return "Empty catalogue";
  const others = quakes.filter((quake) => typeLabel(quake) != null).length;
  const number = format.count(quakes.length - others, "earthquake") + (others > 0 ? `, ${format.count(others, "other", "others")}` : "");
  const where = state.settings.inview ? " on the map" : "";
  const all = state.omitted > 0 && !state.settings.inview && !state.settings.search
    ? `, the newest of ${(quakes.length + state.omitted).toLocaleString("en")}` : "";
  return number + where + all;
}
