// The page's state machine: `step` takes a state and an event, and returns the next state and the actions to take. It has no side
// effects: main.js reports the events to it, with the time, and performs the actions.

import * as wishes from "./settings.js";

const retryTime = 3000;
/** The database counts as away after this many seconds without an answer. The server queries the database every 5 s. */
const silence = 10;
/** The interval of health checks, in ms, for a page in the foreground and for a page in the background. */
const checkTime = { front: 10_000, back: 20_000 };
const frameTime = 300;
const frames = 60;
/** The interval, in ms, at which the page asks how complete the catalogue is. The server updates its answer once a minute. */
const surveyTime = 60_000;

/**
 * @typedef {object} State
 * @property {wishes.Settings} settings
 * @property {number} now
 * @property {number} id the number of the newest load
 * @property {{ mark: boolean, began: number } | null} load the load in progress, or a load that begins after a short wait. If
 *   `mark` is true, differences from the shown events will be marked
 * @property {string | null} shown the selection that the events in the catalogue belong to; null before the first answer
 * @property {{ kind: "contradiction" | "refused" | "pruned" | "unreachable", text: string | null } | null} trouble
 * @property {boolean} isLoaded whether the catalogue has the events of an answer; if not, it is empty because nothing was loaded
 * @property {boolean} isBare whether the server had no events at all, with any filters
 * @property {"closed" | "opening" | "open" | "lost"} stream
 * @property {string | null} position the position after which the stream continues
 * @property {boolean} isReachable
 * @property {number} probes the number of requests for the server's health that the next check sends at once
 * @property {boolean} hasDatabase
 * @property {{ generated: number, limit: number } | null} feed when the newest document was made, and its maximum age in ms
 * @property {number | null} historyBegin
 * @property {import("./coverage.js").Held[] | null} held the periods for which the catalogue is complete; null until known
 * @property {number} surveyed when `held` was last requested
 * @property {{ moment: number, pace: number, end: number } | null} play the shown moment while the history is played, the time
 *   between two frames, and the last moment
 * @property {number} omitted the number of selected events that are missing, because the server limits the size of an answer
 * @property {number | null} oldest the origin time of the oldest event in the answer; null if it has none
 * @property {number} since the time from which changes are marked
 * @property {number} withheld the number of the page's files that were refused and are requested again
 */

/** @typedef {{ do: string, [name: string]: any }} Action */

/**
 * The first state and actions of a page that has just been opened.
 *
 * @returns {[State, Action[]]}
 */
export function begin(settings, now) {
  return handled({
    settings, now, id: 0, load: null, shown: null, trouble: null, isLoaded: false, isBare: false, stream: "closed", position: null,
    isReachable: true, probes: 1, hasDatabase: true, feed: null, historyBegin: null, held: null, surveyed: -Infinity, play: null,
    omitted: 0, oldest: null, since: now, withheld: 0,
  }, (state, act) => {
    load(state, act);
    act("ask", { times: 1 });
  });
}

/**
 * Handles an event: { is: its name, now, … }. Returns the next state and the actions.
 *
 * @param {State} state
 * @param {{ is: string, [name: string]: any }} event
 * @returns {[State, Action[]]}
 */
export function step(state, event) {
  return handled({ ...state, now: event.now ?? state.now }, (next, act) => handlers[event.is](next, act, event));
}

/**
 * Runs a handler, which changes its own copy of the state.
 *
 * @returns {[State, Action[]]}
 */
function handled(state, handler) {
  /** @type {Action[]} */
  const actions = [];
  handler(state, (name, more = {}) => actions.push({ do: name, ...more }));
  return [state, actions];
}

const selecting = ["period", "from", "to", "minmag", "maxmag", "asof"];
/** A text that is equal for settings that select the same events. */
const selected = (settings) => JSON.stringify(selecting.map((name) => settings[name]));

const handlers = {
  /** The user changed settings. `how` says how the browser's history changes: push, replace or nothing. */
  chosen(state, act, { changes, how = "push", delay = 0 }) {
    const before = state.settings;
    if ("asof" in changes) pause(state, act);
    state.settings = { ...before, ...changes };
    if (how !== "nothing") act("url", { how, text: wishes.written(state.settings) });
    if ("map" in changes) act("view", { view: changes.map });
    follow(state, act, before, delay);
  },

  /** The user went back or forward. */
  navigated(state, act, { settings }) {
    const before = state.settings;
    pause(state, act);
    state.settings = settings;
    act("view", { view: settings.map });
    follow(state, act, before, 0);
  },

  /** The map shows another part of the earth. */
  moved: (state, act, { view }) => {
    if (String(view) === String(state.settings.map)) return;
    state.settings = { ...state.settings, map: view };
    act("url", { how: "replace", text: wishes.written(state.settings) });
  },

  cleared(state, act) {
    state.since = state.now;
    act("unmark");
  },

  // Loading

  loaded(state, act, { id, quakes, total, position, isBare = false, others = null }) {
    if (id !== state.id || !state.load) return;
    const { mark, began } = state.load;
    state.load = null;
    state.trouble = null;
    state.isReachable = true;
    state.isLoaded = true;
    state.isBare = isBare;
    state.omitted = total - quakes.length;
    state.oldest = quakes.at(-1)?.time ?? null;
    state.since = state.now;
    const start = wishes.window(state.settings, state.settings.asof ?? state.now)[0];
    act("take", { quakes, mark: mark && state.omitted === 0, start, others });
    state.shown = selected(state.settings);
    if (state.settings.asof == null) {
      state.position = position;
      stream(state, act);
    } else if (state.play) {
      wait(act, "frame", Math.max(0, frameTime - (state.now - began)));
    }
  },

  failed(state, act, { id, status, message, chance }) {
    if (id !== state.id || !state.load) return;
    state.load = null;
    if (state.play) stay(state, act);
    const refusal = { 400: "refused", 410: "pruned" }[status];
    state.trouble = refusal ? { kind: refusal, text: message } : { kind: "unreachable", text: status ? message : null };
    // Removes the shown events if users could mistake them for events of the current selection.
    if (refusal || state.shown !== selected(state.settings)) empty(state, act);
    if (refusal) return;
    wait(act, "retry", retryTime + chance * retryTime);
    // The server's health tells whether its database is away.
    if (status === 503) act("ask", { times: 1 });
  },

  // The stream

  opened: (state) => {
    if (state.stream !== "closed") state.stream = "open";
  },

  cut: (state) => {
    if (state.stream !== "closed") state.stream = "lost";
  },

  /** The stream has sent a position: after a complete pass of changes, or without changes. */
  reached: (state, act, { position, changes }) => {
    if (tokenOf(position) !== tokenOf(state.position)) state.isBare = false;
    state.position = position;
    if (changes.length === 0) return;
    const [start] = wishes.window(state.settings, state.now);
    // An older event may be one of the missing events, and not new.
    act("apply", { changes, start: state.omitted > 0 ? Math.max(start ?? -Infinity, state.oldest ?? -Infinity) : start });
  },

  /** The stream has started over, with all selected events. Those of another database have no history in common with the old ones. */
  restarted: (state, act, { position, quakes, others = null }) => {
    const isSame = storeOf(position) === storeOf(state.position);
    // Without a comparison, all marks are lost.
    if (!isSame || !others) state.since = state.now;
    state.position = position;
    state.isBare = false;
    state.omitted = 0;
    act("take", { quakes, mark: isSame, keepsMarks: true, others, start: wishes.window(state.settings, state.now)[0] });
  },

  // The server's health

  healthy(state, act, { answer, isClockSet = false, isInFront = true }) {
    const { status, token = null, services = [], history_begins_at: begins, seconds_since_database_answered: silent = 0 } = answer;
    const wasReachable = state.isReachable;
    state.isReachable = true;
    state.probes = 1;
    // A server that is shutting down is not healthy either, but still has its database.
    state.hasDatabase = status !== "the database does not answer" && silent < silence;
    state.historyBegin = begins ? Date.parse(begins) : null;
    state.feed = lateness(services);
    // A stream or a load may die without an error, and answers to other requests do not reveal that.
    if (state.stream !== "closed" && !wasReachable) stream(state, act);
    else if (!wasReachable && (state.load || state.trouble?.kind === "unreachable")) load(state, act, state.load?.mark);
    // With the right clock, the period has other events.
    if (isClockSet && state.settings.asof == null) load(state, act);
    act("check", { token });
    wait(act, "check", state.hasDatabase ? checkTime[isInFront ? "front" : "back"] : retryTime);
    if (state.now - state.surveyed < surveyTime) return;
    state.surveyed = state.now;
    act("survey");
  },

  surveyed: (state, _, { held }) => {
    state.held = held;
  },

  /** There was no answer about the server's health. If `isBusy`, a proxy refuses so many requests, or another answer arrives. */
  silent(state, act, { isBusy = false, chance = 0 }) {
    state.probes = !isBusy && state.isReachable ? 6 : 1;
    if (isBusy) return wait(act, "check", checkTime.front * (1 + chance));
    state.isReachable = false;
    if (state.stream !== "closed") {
      state.stream = "lost";
      act("unfollow");
    }
    wait(act, "check", retryTime * (1 + chance));
  },

  /** The server now refuses `count` of the page's files. */
  withheld: (state, _, { count }) => {
    state.withheld = count;
  },

  // Time

  /** The wait with this name is over. */
  due(state, act, { name }) {
    if (name === "check") return act("ask", { times: state.probes });
    if (name === "frame") return frame(state, act);
    return load(state, act);
  },

  tick(state, act) {
    if (state.settings.asof != null) return;
    const start = wishes.window(state.settings, state.now)[0];
    if (start != null) act("age", { start });
  },

  // Playing

  /** Plays the history from `moment`, or from the beginning if `moment` is null, up to now. The URL does not change meanwhile. */
  played(state, act, { moment, begin: first, end }) {
    state.play = { moment: moment ?? first, pace: (end - first) / frames, end };
    state.settings = { ...state.settings, asof: Math.round(state.play.moment) };
    load(state, act);
  },

  paused: (state, act) => {
    if (state.play) stay(state, act);
  },
};

/** Loads the events, or shows another event, if the settings have changed from `before`. */
function follow(state, act, before, delay) {
  if (selected(state.settings) !== selected(before)) {
    if (delay > 0) {
      // The answer to an earlier load belongs to other settings, so it is ignored if it arrives before the reload.
      state.id += 1;
      state.load = { mark: false, began: state.now };
      wait(act, "reload", delay);
    } else load(state, act);
  }
  if (state.settings.event !== before.event) {
    if (state.settings.event) act("reveal", { code: state.settings.event });
    else act("listed", { code: before.event });
  }
}

/** Loads the events that the settings select. */
function load(state, act, mark = false) {
  for (const name of ["reload", "retry", "frame"]) wait(act, name, null);
  state.id += 1;
  state.stream = "closed";
  act("unfollow");
  const wrong = wishes.contradiction(state.settings);
  if (wrong) {
    state.load = null;
    state.trouble = { kind: "contradiction", text: wrong };
    act("abort");
    return empty(state, act);
  }
  if (state.trouble?.kind !== "unreachable") state.trouble = null;
  state.load = { mark, began: state.now };
  const { asof } = state.settings;
  act("load", { id: state.id, selection: wishes.selection(state.settings, asof ?? state.now), asof, isBrief: state.play != null });
}

function empty(state, act) {
  state.omitted = 0;
  state.isLoaded = false;
  state.shown = selected(state.settings);
  act("take", { quakes: [], mark: false, start: null });
}

function stream(state, act) {
  state.stream = "opening";
  act("follow", { position: state.position, selection: wishes.selection(state.settings, state.now) });
}

function frame(state, act) {
  if (!state.play) return;
  const moment = state.play.moment + state.play.pace;
  const isOver = moment >= state.play.end;
  state.play = isOver ? null : { ...state.play, moment };
  state.settings = { ...state.settings, asof: isOver ? null : Math.round(moment) };
  if (isOver) act("url", { how: "push", text: wishes.written(state.settings) });
  load(state, act, !isOver);
}

/** Stops playing. */
function pause(state, act) {
  state.play = null;
  wait(act, "frame", null);
}

/** Stops playing, and keeps showing the moment that was reached. */
function stay(state, act) {
  pause(state, act);
  act("url", { how: "push", text: wishes.written(state.settings) });
}

/** Starts a wait of `time` ms; null cancels the wait. */
const wait = (act, name, time) => act("wait", { name, time });

const tokenOf = (position) => Number.parseInt(position ?? "", 10);
const storeOf = (position) => position?.split("_").at(-1);

/**
 * When the newest document was made, and the age in ms at which it counts as late: 15 minutes, or 2.5 times the worker's interval
 * if that is longer.
 */
function lateness(services) {
  if (services.length === 0) return null;
  const newest = services
    .map(({ generated, interval }) => ({ generated: Date.parse(generated), limit: Math.max(15 * 60, (interval ?? 0) * 2.5) * 1000 }))
    .reduce((a, b) => (b.generated > a.generated ? b : a));
  return newest;
}
