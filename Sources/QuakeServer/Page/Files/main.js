// Brings the parts together: settings lead to a selection, the selection to a catalogue, and that to list and map.

import { Alerts } from "./notify.js";
import { Catalogue } from "./catalogue.js";
import { Detail } from "./detail.js";
import { atNextFrame, byId, foreign } from "./dom.js";
import * as format from "./format.js";
import { showLegend } from "./legend.js";
import { QuakeList } from "./list.js";
import { Live } from "./live.js";
import { QuakeMap } from "./map.js";
import { fromRow } from "./quake.js";
import * as service from "./service.js";
import * as wishes from "./settings.js";
import { isLoading, showState, speak, warn } from "./status.js";
import { Timeline } from "./timeline.js";

const tick = 30_000;
const checkTime = 20_000;
const lateAfter = 15 * 60_000;

let settings = wishes.read(location.search);
let now = Date.now();
/** How many of the selected events are not here, because the server gives no more at once. */
let omitted = 0;
let live = null;
let loading = null;
/** What loads anew a little later. */
let pending = null;
let isUnreachable = false;
let historyBegin = null;
let since = now;

const catalogue = new Catalogue();
const list = new QuakeList(byId("list"), { chosen: (event) => set({ event }) });
const map = new QuakeMap(byId("map"), {
  chosen: (event) => set({ event }),
  moved: () => mapMoved(),
  pointed: (quake) => point(quake),
});
const detail = new Detail(byId("detail"), {
  closed: () => closeDetail(),
  asOf: (asof) => set({ asof }),
});
const timeline = new Timeline({
  moved: (asof, isLast) => set({ asof }, isLast ? "push" : "nothing", 150),
  played: (asof, isFirst) => play(asof, isFirst),
});
const alerts = new Alerts({ centre: () => map.centre });

// Settings

const selecting = ["period", "from", "to", "minmag", "maxmag", "asof"];
/** Whether an event was just chosen, so that it takes the focus. */
let isChosen = false;

/** Changes settings and, unless `how` is `nothing`, the URL. What has to be loaded is loaded after `delay` ms, unless more changes follow. */
function set(changes, how = "push", delay = 0) {
  const before = settings;
  settings = { ...settings, ...changes };
  const url = wishes.written(settings) || location.pathname;
  if (how !== "nothing") history[how === "push" ? "pushState" : "replaceState"](null, "", url);
  follow(before, delay);
}

function follow(before, delay) {
  fill();
  if (selecting.some((name) => settings[name] !== before[name])) {
    clearTimeout(pending);
    pending = setTimeout(() => reload(), delay);
  }
  if (settings.event !== before.event && settings.event) {
    const quake = catalogue.quakes.get(settings.event);
    if (quake) map.reveal(quake);
    list.reveal(settings.event);
    isChosen = true;
  }
  refresh();
}

window.addEventListener("popstate", () => {
  const before = settings;
  settings = wishes.read(location.search);
  timeline.stop();
  map.view = settings.map;
  follow(before, 0);
});

/** Shows the settings in the fields. */
function fill() {
  const choose = (name, value) => {
    for (const field of document.getElementsByName(name)) {
      if (field.type === "radio") field.checked = field.value === value;
      else if (field.type === "checkbox") field.checked = value;
      // What is being typed stays.
      else if (field.tagName === "SELECT" || document.activeElement !== field) field.value = value ?? "";
    }
  };
  for (const name of ["period", "zone", "sort", "color", "inview", "minmag", "maxmag"]) choose(name, settings[name]);
  choose("preset", settings.maxmag == null ? String(settings.minmag ?? "") : null);
  for (const name of ["from", "to"]) choose(name, toField(settings[name]));
  byId("range").hidden = settings.period !== "range";
}

function toField(moment) {
  if (moment == null) return "";
  const offset = settings.zone === "utc" ? 0 : new Date(moment).getTimezoneOffset() * 60_000;
  return new Date(moment - offset).toISOString().slice(0, 16);
}

const fromField = (text) => (text ? Date.parse(settings.zone === "utc" ? `${text}Z` : text) : null);

document.addEventListener("change", ({ target }) => {
  if (target.closest("dialog")) return;
  switch (target.name) {
    case "zone": case "sort": case "color": return set({ [target.name]: target.value });
    case "inview": return set({ inview: target.checked });
    case "preset": return set({ minmag: wishes.decimal(target.value), maxmag: null });
    case "minmag": case "maxmag": return set({ [target.name]: wishes.decimal(target.value) });
    case "from": case "to": return set({ [target.name]: fromField(target.value) });
    case "period": {
      const [from] = wishes.window(settings, now);
      const isRange = target.value === "range";
      return set({ period: target.value, from: isRange ? settings.from ?? from : null, to: isRange ? settings.to : null });
    }
  }
});

byId("toggle-filters").addEventListener("click", ({ target }) => {
  const isOpen = document.body.classList.toggle("filters-open");
  target.setAttribute("aria-expanded", String(isOpen));
});

for (const button of document.querySelectorAll("[data-move]")) {
  button.addEventListener("click", () => map.step(button.dataset.move));
}

byId("clear-news").addEventListener("click", () => {
  catalogue.clearMarks();
  since = Date.now();
  changed();
  list.focus();
});

// Loading

/** Loads what the settings select. `mark` says to mark in what it differs from what is there. */
async function reload(mark = false) {
  loading?.abort();
  clearTimeout(pending);
  pending = null;
  live?.close();
  live = null;
  const own = new AbortController();
  loading = own;
  const wrong = wishes.contradiction(settings);
  warn("selection", wrong);
  if (wrong) {
    catalogue.replace([]);
    return changed();
  }
  if (!mark) showState("loading", "Loading");
  now = Date.now();
  const selection = wishes.selection(settings, settings.asof ?? now);
  const { asof } = settings;
  try {
    const loaded = await service.load(selection, asof, own.signal);
    if (own.signal.aborted) return;
    omitted = loaded.total - loaded.quakes.length;
    if (mark && omitted === 0) become(loaded.quakes, asof ?? now);
    else catalogue.replace(loaded.quakes);
    since = now;
    isUnreachable = false;
    warn("connection", null);
    warn("past", null);
    if (asof == null) startLive(loaded.position, selection);
    else showState("past", `As it was ${format.time(asof, settings.zone, false)}`);
  } catch (error) {
    if (own.signal.aborted) return;
    timeline.stop();
    if (error.status === 400) {
      catalogue.replace([]);
      showState("past", "No such past");
      warn("past", `The server does not have this: ${error.message}.`);
    } else {
      lost(error.status ? error.message : null);
      pending ??= setTimeout(() => reload(), 3000 + Math.random() * 3000);
    }
  }
  changed();
}

function play(asof, isFirst) {
  settings = { ...settings, asof };
  history.replaceState(null, "", wishes.written(settings));
  return reload(!isFirst);
}

/** Takes these in place of what is there, and returns those that are new. What only grew too old is not withdrawn. */
function become(quakes, moment) {
  const [start] = wishes.window(settings, moment);
  if (start != null) catalogue.age(start);
  const added = catalogue.become(quakes);
  map.pulse(added.map((quake) => quake.code));
  return added;
}

function startLive(position, selection) {
  live = new Live(position, selection, {
    pass: (changes) => apply(changes),
    snapshot: (quakes) => {
      alerts.tell(become(quakes, Date.now()));
      omitted = 0;
      changed();
    },
    connected: () => {
      warn("connection", null);
      showState("live", "Live");
    },
    lost: () => lost(),
  });
}

/** The changes of a pass: of each event, the last one counts. */
function apply(changes) {
  const added = [];
  const words = [];
  for (const change of new Map(changes.map((change) => [change.key, change])).values()) {
    const { key, operation, row, reason, selected } = change;
    const quake = row && fromRow(row);
    const isKnown = catalogue.has(key);
    if (quake && selected !== false) {
      const kind = catalogue.put(quake);
      if (kind === "new") added.push(quake);
      if (kind) words.push([kind, quake]);
    } else if (isKnown && (operation === "delete" || quake)) {
      const known = quake ?? catalogue.quakes.get(key);
      const kind = operation === "delete" ? "withdrawn" : "left";
      catalogue.remove(key, kind, reason, quake);
      words.push([kind, known]);
    }
  }
  map.pulse(added.map((quake) => quake.code));
  alerts.tell(added);
  speak(words);
  changed();
}

// Saying how things are

function lost(reason = null) {
  if (settings.asof == null) showState("lost", "Not connected");
  warn("connection", `${reason ?? "The connection is lost."} What you see may be out of date. Trying again.`);
}

/** Asks how the server is: a connection that was cut without a word shows here only. */
async function check() {
  try {
    const { status, services = [], history_begins_at: begin } = await service.health(isUnreachable ? 6 : 1);
    historyBegin = begin ? Date.parse(begin) : null;
    warn("database", status === "ok" ? null : "The server has lost its database. What you see may be out of date.");
    const newest = Math.max(...services.map(({ generated }) => Date.parse(generated)));
    const isLate = services.length > 0 && Date.now() - newest > lateAfter;
    warn("late", isLate
      ? `The feed is late: its newest document is of ${format.time(newest, settings.zone, false)} (${format.ago(newest, Date.now())}). Newer earthquakes may be missing.`
      : null);
    if (isUnreachable && live) live.open();
    else if (isUnreachable) reload();
    isUnreachable = false;
  } catch {
    isUnreachable = true;
    live?.close();
    lost();
  }
  clearTimeout(checking);
  checking = setTimeout(check, isUnreachable ? 3000 : checkTime);
  refresh();
}

let checking = null;
window.addEventListener("online", check);
window.addEventListener("offline", check);
document.addEventListener("visibilitychange", () => document.hidden || check());

// Showing

/** By order. */
const sortings = new Map();
let shown = null;

/** The earthquakes in an order: sorted once, until the catalogue changes. */
function sorted(order) {
  if (!sortings.has(order)) sortings.set(order, [...catalogue.quakes.values()].sort(wishes.orders[order]));
  return sortings.get(order);
}

/** The catalogue has changed. */
function changed() {
  now = Date.now();
  sortings.clear();
  // Also where nothing is drawn, as in a tab behind others.
  const added = [...catalogue.marks.values()].filter(({ kind }) => kind === "new").length;
  document.title = added > 0 && settings.asof == null ? `(${added}) Quakes` : "Quakes";
  refresh();
}

/** Shows everything anew, at the next frame. */
const refresh = atNextFrame(show);

function show() {
  const { zone, color: by, event: selected } = settings;
  const moment = settings.asof ?? now;
  // The small ones lie on the large ones; where age is the colour, the new ones on the old.
  map.show(sorted(by === "age" ? "oldest" : "largest"), catalogue.marks, by, moment, selected);
  showList(moment);
  showLegend(by);
  timeline.show(
    Math.max(now - wishes.reach(settings, now), historyBegin ?? 0), now, settings.asof, zone);
  const quake = catalogue.quakes.get(selected);
  const mark = catalogue.marks.get(selected);
  byId("listing").hidden = selected != null;
  if (selected == null) {
    if (detail.code != null) detail.close();
  } else if (detail.code !== selected || shown.quake !== quake || shown.mark !== mark || shown.zone !== zone) {
    detail.show(selected, quake ?? null, mark, zone, moment, isChosen);
  }
  isChosen = false;
  shown = { quake, mark, zone };
}

function showList(moment) {
  const { marks } = catalogue;
  const all = sorted(settings.sort);
  const visible = settings.inview ? all.filter((quake) => map.shows(quake)) : all;
  list.show(visible, { marks, zone: settings.zone, now: moment, by: settings.color, selected: settings.event });
  const gone = [...marks.values()].filter(({ kind }) => kind === "withdrawn" || kind === "left").length;
  const present = visible.length - gone;
  setText(byId("count"), isLoading() && all.length === 0
    ? "Earthquakes"
    : settings.inview
    ? `${visible.length.toLocaleString("en")} on the map`
    : format.count(present, "earthquake") + (omitted > 0 ? `, the newest of ${(present + omitted).toLocaleString("en")}` : ""));
  const empty = byId("empty");
  const isEmpty = visible.length === 0 && !isLoading();
  empty.hidden = !isEmpty;
  byId("list").hidden = visible.length === 0;
  setText(empty, isEmpty
    ? settings.inview && all.length > 0
      ? "None of the earthquakes is on this part of the map."
      : "No earthquake matches. Try a longer period or a smaller magnitude."
    : "");
  showNews(marks);
  showDownloads(moment);
}

function showNews(marks) {
  const counts = { new: 0, revised: 0, withdrawn: 0, left: 0 };
  for (const { kind } of marks.values()) counts[kind] += 1;
  const parts = [
    [counts.new, "new"], [counts.revised + counts.left, "revised"], [counts.withdrawn, "withdrawn"],
  ].filter(([number]) => number > 0).map(([number, word]) => `${number.toLocaleString("en")} ${word}`);
  byId("news").hidden = parts.length === 0;
  const start = settings.asof == null ? ` since ${format.time(since, settings.zone, false).slice(11)}` : "";
  setText(byId("news-text"), parts.join(", ") + start);
}

/** The links give what the list shows. */
function showDownloads(moment) {
  const query = wishes.selection(settings, moment);
  const { north, south, west, east } = map.bounds ?? {};
  if (settings.inview && north != null) {
    query.set("minlatitude", south);
    query.set("maxlatitude", north);
    if (west != null) {
      query.set("minlongitude", west);
      query.set("maxlongitude", east);
    }
  }
  if (settings.asof != null) query.set("asof", new Date(settings.asof).toISOString());
  const order = { newest: null, oldest: "time-asc", largest: "magnitude", smallest: "magnitude-asc" }[settings.sort];
  if (omitted > 0) query.set("limit", sorted(settings.sort).length);
  else if (order) query.set("orderby", order);
  for (const link of document.querySelectorAll("[data-format]")) {
    query.set("format", link.dataset.format);
    link.href = `${service.root}fdsnws/event/1/query?${query}`;
  }
}

function point(quake) {
  byId("pointed").replaceChildren(...(quake
    ? [`M ${format.magnitude(quake.magnitude)} · `, foreign(quake.place ?? quake.code), ` · ${format.ago(quake.time, settings.asof ?? now)}`]
    : []));
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function closeDetail() {
  const code = settings.event;
  set({ event: null });
  show();
  list.reveal(code);
  list.focus();
}

let moving = null;

function mapMoved() {
  if (settings.inview) refresh();
  clearTimeout(moving);
  moving = setTimeout(() => {
    const view = map.view;
    if (String(view) !== String(settings.map)) set({ map: view }, "replace");
  }, 250);
}

setInterval(() => {
  now = Date.now();
  if (settings.asof == null) {
    const [start] = wishes.window(settings, now);
    if (start != null) catalogue.age(start);
    changed();
  }
}, tick);

if (matchMedia("(max-width: 52rem)").matches) byId("legend").open = false;
fill();
map.view = settings.map;
map.loadLand(`${service.root}page/land.txt`);
reload();
check();
