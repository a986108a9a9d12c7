// The shell around machine.js: reports events to it, and performs its actions.

import { load as loadAgencies } from "./agencies.js";
import { Alerts } from "./notify.js";
import { Catalogue } from "./catalogue.js";
import { atNextFrame, byId, isEmbedded, watchUse } from "./dom.js";
import { Controls } from "./controls.js";
import { Live } from "./live.js";
import { begin, step } from "./machine.js";
import * as service from "./service.js";
import { share } from "./share.js";
import * as wishes from "./settings.js";
import { speak } from "./status.js";
import { View } from "./view.js";

const catalogue = new Catalogue();
const chosen = (changes, how = "push", delay = 0) => tell({ is: "chosen", changes, how, delay });
const view = new View(catalogue, {
  chosen,
  moved: (map) => tell({ is: "moved", view: map }),
  played: (moment, first, end) => tell({ is: "played", moment, begin: first, end }),
  paused: () => tell({ is: "paused" }),
  redrawn: () => refresh(),
});
const controls = new Controls({ chosen });
byId("whole").hidden = !isEmbedded();
if (isEmbedded()) watchUse();
let state;
let loading = new AbortController();
let live = null;
/** Ends with the stream. */
let following = new AbortController();
let alerts = null;
const timers = new Map();
/** The query of the URL. */
let query = location.search;
/** The moment or the position of the shown events. */
let shownAt = null;
/** Whether the user has gone back or forward. Then fields with the focus show the settings, too. */
let isNavigated = false;
const refresh = atNextFrame(() => {
  controls.show(state.settings, isNavigated);
  view.show(isNavigated);
  isNavigated = false;
  byId("whole").href = service.root + location.search;
});

/** The most events that are looked up to find out whether they exist although the filter does not select them. */
const compares = 300;

/**
 * Looks up the events that only the catalogue or only `quakes` have: { now, before }, the events that exist at the moment of `quakes`
 * and those that existed at the moment of the catalogue. The result is null if they are too many, or cannot be looked up.
 */
async function compared(quakes, asof, signal) {
  const { missing, added } = catalogue.unlike(quakes);
  if (missing.length + added.length > compares) return null;
  try {
    return await service.within(15_000, async (limit) => {
      const [now, before] = await Promise.all([service.present(missing, asof, limit), service.present(added, shownAt, limit)]);
      return { now, before };
    }, signal);
  } catch {
    return null; // the events are then replaced without marks
  }
}

function tell(event) {
  follow(step(state, { now: service.now(), ...event }));
}

function follow([next, actions]) {
  state = next;
  for (const action of actions) perform[action.do](action);
  view.showWords(state);
  refresh();
}

const perform = {
  url({ how, text }) {
    if (text === location.search) return;
    history[how === "push" ? "pushState" : "replaceState"](null, "", text || location.pathname);
    query = location.search;
  },

  wait({ name, time }) {
    clearTimeout(timers.get(name));
    if (time == null) timers.delete(name);
    else timers.set(name, setTimeout(() => tell({ is: "due", name }), time));
  },

  async load({ id, selection, asof, isBrief }) {
    loading.abort();
    loading = new AbortController();
    const { signal } = loading;
    try {
      const loaded = await service.load(selection, asof, signal, isBrief);
      const others = state.load?.mark ? await compared(loaded.quakes, asof, signal) : null;
      if (signal.aborted) return;
      shownAt = asof ?? loaded.position;
      tell({ is: "loaded", id, ...loaded, others });
    } catch (error) {
      if (!signal.aborted) tell({ is: "failed", id, status: error.status ?? null, message: error.message, chance: Math.random() });
    }
  },

  abort: () => loading.abort(),

  follow({ position, selection }) {
    perform.unfollow();
    following = new AbortController();
    const { signal } = following;
    let ordered = Promise.resolve();
    // A pass waits until the comparison of an earlier restart is over.
    const inOrder = (action) => (ordered = ordered.then(() => (signal.aborted ? undefined : action())).catch(reportError));
    live = new Live(position, selection, {
      opened: () => tell({ is: "opened" }),
      cut: () => tell({ is: "cut" }),
      away: check,
      reached: (position, changes) => inOrder(() => {
        shownAt = position;
        tell({ is: "reached", position, changes });
      }),
      restarted: (position, quakes) => inOrder(async () => {
        const others = await compared(quakes, null, signal);
        if (signal.aborted) return;
        shownAt = position;
        tell({ is: "restarted", position, quakes, others });
      }),
    });
  },

  unfollow() {
    following.abort();
    live?.close();
    live = null;
  },

  async ask({ times }) {
    let health;
    try {
      health = await service.health(times);
    } catch ({ errors }) {
      const isBusy = service.isReceiving() || errors?.some(({ status }) => status === 429);
      return tell({ is: "silent", isBusy, chance: Math.random() });
    }
    tell({ is: "healthy", ...health, isInFront: !document.hidden });
  },

  check({ token }) {
    live?.check(token);
    alerts?.check(token);
    view.check(token);
  },

  async survey() {
    try {
      tell({ is: "surveyed", held: await service.coverage() });
    } catch {
      // The last answer is kept. If the server is away, the health check reports that.
    }
  },

  take({ quakes, mark, start, others, keepsMarks = false }) {
    if (mark && others) {
      if (!keepsMarks) catalogue.clearMarks();
      // Events that are merely too old by now must not be marked as withdrawn.
      if (start != null) catalogue.age(start);
      const shown = quakes.filter(({ time }) => start == null || time >= start);
      view.map.pulse(catalogue.become(shown, others).map(({ code }) => code));
    } else catalogue.replace(quakes);
    view.changed();
  },

  apply({ changes, start }) {
    const { added, news } = catalogue.apply(changes, start);
    view.map.pulse(added.map(({ code }) => code));
    speak(news, state.settings.units);
    view.changed();
  },

  age({ start }) {
    if (catalogue.age(start)) view.changed();
  },

  unmark() {
    catalogue.clearMarks();
    view.changed();
    view.list.focus();
  },

  view: ({ view: map }) => (view.map.view = map),
  reveal: ({ code }) => view.reveal(code),
  listed: ({ code }) => view.return(code),
};

addEventListener("popstate", () => {
  if (location.search === query) return; // only the fragment has changed: the user has skipped to the list
  query = location.search;
  isNavigated = true;
  tell({ is: "navigated", settings: wishes.read(location.search) });
});
byId("share").addEventListener("click", () => share(document.title, state.settings.units));
byId("clear-news").addEventListener("click", () => tell({ is: "cleared" }));
const check = () => tell({ is: "due", name: "check" });
addEventListener("online", check);
addEventListener("offline", check);
document.addEventListener("visibilitychange", () => document.hidden || check());
setInterval(() => tell({ is: "tick" }), 30_000);

const settings = wishes.read(location.search);
view.map.view = settings.map;
follow(begin(settings, service.now()));
if (!isEmbedded()) {
  alerts = new Alerts({ centre: () => view.map.centre, units: () => state.settings.units, chosen: (event) => chosen({ event }) });
}
service.onWithheld((count) => tell({ is: "withheld", count }));
view.map.loadBase();
// Until the list of agencies is loaded, the page shows the names of networks in their place.
loadAgencies().then(() => view.changed()).then(refresh);
if (settings.event) view.reveal(settings.event, settings.map == null, false);
