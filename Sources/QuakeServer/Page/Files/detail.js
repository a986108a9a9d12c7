// Shows an event: a summary, and the event's story, which lists every revision that the history still has.

import { agency, agencyOf, label, termsAddress } from "./agencies.js";
import { button, definitions, element, foreign, outwards } from "./dom.js";
import * as format from "./format.js";
import * as groups from "./groups.js";
import { differences, distance, pages, typeLabel } from "./quake.js";
import { module, root, solutions, stateAt, story, untilAnswered, within } from "./service.js";

export class Detail {
  #box;
  #handlers;
  #code = null;
  #shown = {};
  /** The parts of the shown event: { summary, motion, others, steps }. */
  #parts = null;
  /** The arguments with which the event was last shown. */
  #last = null;
  /** The server's newest token at the last `check` of this event. */
  #token = null;
  #loading = null;
  #isMoreOpen = false;

  /**
   * - handlers.closed(): the user closed the event
   * - handlers.asOf(milliseconds): the user chose to see the catalogue as it was at this moment
   * - handlers.chosen(code): the user chose another event
   * - handlers.found(quake): the event does not match the filters, so its values were read from its story; null if it
   *   is withdrawn
   */
  constructor(box, handlers) {
    this.#box = box;
    this.#handlers = handlers;
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") handlers.closed();
    });
  }

  close() {
    if (this.#code == null) return;
    this.#code = null;
    this.#shown = {};
    this.#loading?.abort();
    this.#box.hidden = true;
    this.#box.replaceChildren();
  }

  /**
   * Shows an event as it was at the moment `settings.asof`, or as it is now if that is null. `begin` is the time at which the
   * history begins. If the event does not match the filters, `quake` is null, and the event's values are read from its story.
   *
   * The heading takes the focus if `isChosen`, or if the replaced event had the focus. If nothing has changed except the event's
   * age, only the age is updated.
   */
  show(code, quake, mark, settings, now, begin, isChosen) {
    const { asof, zone, units } = settings;
    this.#last = [code, quake, mark, settings, now, begin];
    const shown = { code, quake, mark, zone, units, asof, begin: asof && begin, agency: quake && agency(quake) };
    if (Object.keys(shown).every((name) => shown[name] === this.#shown[name])) {
      this.#tick(now);
      if (isChosen) this.#box.querySelector("h2").focus();
      return;
    }
    const isOther = code !== this.#code;
    const takesFocus = isChosen || (isOther && this.#box.contains(document.activeElement));
    this.#code = code;
    this.#shown = shown;
    if (isOther) this.#begin();
    const { summary, others } = this.#parts;
    if (quake) replace(summary, ...this.#summary(quake, mark, settings, now));
    else if (isOther) replace(summary, heading(foreign(code)));
    if (takesFocus) this.#box.querySelector("h2").focus();
    this.#tell(code, quake, settings, now, begin);
    if (quake?.earthquake) this.#compare(quake, settings);
    else if (quake) replace(others);
  }

  /** Makes the empty parts of another event. If the event itself changes, its parts stay until their new contents are read. */
  #begin() {
    const [summary, motion, others, steps] = ["summary", "mechanism", "solutions", "story"].map((name) => element("div", name));
    this.#parts = { summary, motion, others, steps };
    this.#token = null;
    this.#box.replaceChildren(button("Back to the list", () => this.#handlers.closed()), summary, motion, others, steps);
    this.#box.hidden = false;
    this.#box.scrollTop = 0;
  }

  /**
   * Reads the event again if the database has changed and the page's stream may lack the change, because the filters do not select
   * the event, or because the change may be another agency's. `token` is the server's newest one.
   */
  check(token) {
    if (this.#code == null || token === this.#token) return;
    this.#token = token;
    const { quake, asof } = this.#shown;
    if (asof != null || (quake && !quake.earthquake)) return;
    this.#shown = {};
    this.show(...this.#last, false);
  }

  /**
   * Shows each agency's values for the earthquake, and how these differ from the values of the shown event. `members` are the events
   * of the earthquake if they were read already.
   */
  async #compare(quake, { asof, units }, members = null) {
    const { signal } = this.#loading;
    const box = this.#parts.others;
    const { length } = groups.agenciesOf(quake);
    const title = element("h3", "", length > 1 ? `Reported by ${length} agencies` : "Reported more than once");
    if (!box.hasChildNodes()) box.append(title);
    const found = members ?? await loaded(
      (each) => solutions(quake.earthquake.members, asof, each), signal, box, () => "Couldn’t load the agencies’ values.");
    if (!found) return;
    const head = element("tr", "", ...["Agency", "M", "Time", "Distance", "Depth"].map((text) => element("th", "", text)));
    const rows = found.map((one) => {
      const isShown = one.code === quake.code;
      const name = label(agencyOf(one));
      const cells = [
        `${format.magnitude(one.magnitude)} ${one.magnitude_type ?? ""}`,
        isShown ? "shown" : `${format.signed((one.time - quake.time) / 1000)} s`,
        isShown ? "" : format.away(distance(quake, one), units),
        one.depth == null ? "unknown" : format.value("depth", one.depth),
      ];
      const node = isShown ? element("strong", "", name) : button(name, () => this.#handlers.chosen(one.code), "quiet");
      return element("tr", "", element("td", "", node), ...cells.map((text) => element("td", "", foreign(text))));
    });
    replace(box, title, element("table", "", head, ...rows));
  }

  async #draw(mechanism, box) {
    try {
      replace(box, ...(await module("mechanism.js")).shown(mechanism));
    } catch {
      replace(box, element("p", "", "Couldn’t load the drawing of the focal mechanism."));
    }
  }

  #tick(now) {
    for (const node of this.#box.querySelectorAll("[data-time]")) {
      const text = format.ago(Number(node.dataset.time), now);
      if (node.textContent !== text) node.textContent = text;
    }
  }

  #summary(quake, mark, { zone, units, asof }, now) {
    const kind = typeLabel(quake);
    const title = heading(
      element("span", "unseen", "Magnitude "), element("span", "large", format.magnitude(quake.magnitude)), " ",
      foreign(format.place(quake, units)));
    const gone = mark?.kind === "withdrawn"
      ? element("p", "warning", "This event was withdrawn", mark.reason ? ": " : ".", foreign(mark.reason ? format.reason(mark.reason) : "")) : null;
    const ago = element("span", "", format.ago(quake.time, now));
    ago.dataset.time = String(quake.time);
    const facts = [["Time", [`${format.time(quake.time, zone)} (`, ago, ")"]]];
    const yours = `${format.time(quake.time, "local")} (${format.offset(quake.time)})`;
    if (zone === "utc" && format.offset(quake.time) !== "UTC+0") facts.push(["Your time", yours]);
    if (zone === "local") facts.push(["UTC", format.time(quake.time, "utc")]);
    if (kind) facts.unshift(["Kind", `${kind}, not an earthquake`]);
    facts.push(["Magnitude", `${format.magnitude(quake.magnitude)}${quake.magnitude_type ? ` (${quake.magnitude_type})` : ""}`]);
    facts.push(["Depth", deep(quake.depth, units)], ["Position", format.position(quake)]);
    facts.push(...effects(quake), ["Agency", [agencyNode(quake)]]);
    if (quake.status) facts.push(["Review", statusWords(quake.status)]);
    const figures = [];
    for (const name of ["sig", "nst", "gap", "rms", "dmin", "ids"]) {
      const content = quake[name];
      if (content == null || content.length === 0) continue;
      figures.push([format.label(name), format.value(name, content, zone)]);
    }
    figures.push(["Last revised", format.time(quake.updated, zone)], ["Code", quake.code]);
    const more = element("details", "", element("summary", "", "For seismologists"), definitions(figures));
    more.open = this.#isMoreOpen;
    more.addEventListener("toggle", () => (this.#isMoreOpen = more.open));
    return [title, gone, definitions(facts), links(quake, asof, gone != null), more].filter(Boolean);
  }

  async #tell(code, quake, settings, now, begin) {
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    const { summary, motion, others, steps: box } = this.#parts;
    const title = element("h3", "", "Story");
    if (!box.hasChildNodes()) box.append(title);
    const told = await loaded((signal) => story(code, signal), loading.signal, box, ({ status }) =>
      status === 404 ? "The catalogue has no event with this code, or no longer keeps its history." : "Couldn’t load the event’s story.");
    if (!told) return;
    const then = stateAt(told, settings.asof, begin);
    if (!quake && then.quake) {
      const gone = then.is === "absent" ? { kind: "withdrawn", reason: then.reason } : null;
      const read = gone ? null : await earthquakeOf(code, settings.asof, loading.signal);
      if (loading.signal.aborted) return;
      const found = read?.event ?? then.quake;
      replace(summary, ...this.#summary(found, gone, settings, now));
      this.#handlers.found(gone ? null : found);
      if (found.earthquake) this.#compare(found, settings, read.members);
      else replace(others);
    } else if (!quake) {
      const words = then.is === "unknown" ? "The history of that time is no longer kept." : "The event was not in the catalogue at that time.";
      replace(summary, heading(foreign(code)), element("p", "warning", words));
      replace(others);
    }
    const mechanism = then.quake?.extra?.focal_mechanism;
    if (mechanism) this.#draw(mechanism, motion);
    else replace(motion);
    const isCut = told.steps.length > 0 && told.steps[0].change.operation !== "insert";
    const words =
      isCut ? "Earlier revisions are no longer kept." : told.steps.length === 0 ? "The event has not changed since the history began." : null;
    replace(box, title, ...(words ? [element("p", "", words)] : []), element("ol", "", ...told.steps.map((step) => this.#step(step, settings))));
  }

  #step({ change, before, after }, { zone, units }) {
    const moment = Date.parse(change.committed_at);
    const head = { insert: "Reported", update: "Revised", delete: "Withdrawn" }[change.operation];
    const then = button("Show the catalogue as it was then", () => this.#handlers.asOf(moment), "quiet");
    const changes = element("ul", "");
    if (change.operation === "insert" && after) {
      const depth = after.depth == null ? "depth unknown" : format.depth(after.depth, units);
      changes.append(element("li", "", `Magnitude ${format.magnitude(after.magnitude)}, ${depth}`));
    }
    if (change.operation === "update") {
      const shown = differences(before, after);
      for (const each of shown) changes.append(element("li", "", foreign(format.change(each, zone))));
      const others = Object.keys(change.before ?? {}).filter((name) => name !== "updated" && !shown.some((each) => each.name === name));
      if (others.length > 0) changes.append(element("li", "", `${shown.length > 0 ? "Also changed" : "Changed"}: `, foreign(others.join(", "))));
      else if (shown.length === 0) changes.append(element("li", "", "Only the time of the revision changed"));
    }
    if (change.reason) changes.append(element("li", "", this.#reason(change.reason)));
    const source = authorWords(change);
    return element(
      "li", `step step-${change.operation}`, element("strong", "", head), " ",
      element("span", "facts", format.time(moment, zone), source ? " · " : "", foreign(source)), changes, then);
  }

  /** The reason for a deletion. If the event has a new code, a button opens the event with that code. */
  #reason(reason) {
    const code = /^superseded by (\S+)$/.exec(reason)?.[1];
    return code ? element("span", "", "Now listed as ", button(code, () => this.#handlers.chosen(code), "quiet")) : foreign(format.reason(reason));
  }
}

/**
 * Replaces the contents of a part, unless they are equal, so that selected text stays selected. An element in it that has the focus
 * gives it to the element in its place, so that readers of a revised event stay where they are, or else to the heading.
 */
function replace(part, ...contents) {
  const fresh = part.cloneNode(false);
  fresh.append(...contents);
  if (fresh.isEqualNode(part)) return;
  const focusable = "h2, a, button, summary";
  const place = [...part.querySelectorAll(focusable)].indexOf(document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  if (place >= 0) (part.querySelectorAll(focusable)[place] ?? document.getElementById("detail-title")).focus({ preventScroll: true });
}

/**
 * An event that the filters do not select, as the list would show it, and all events of its earthquake: { event, members }; null if
 * they cannot be read.
 */
async function earthquakeOf(code, asof, signal) {
  try {
    const read = (codes) => within(patience, (limit) => solutions(codes, asof, limit), signal);
    const [event] = await read([code]);
    if (!event.earthquake) return { event, members: [event] };
    const members = await read(event.earthquake.members);
    const { quakes } = groups.shown(new Map(members.map((member) => [member.code, member])), new Map());
    return { event: quakes.get(code) ?? event, members };
  } catch {
    return null;
  }
}

/** A depth as text. If the units are miles, the agency's value in kilometres follows in brackets. */
const deep = (value, units) =>
  `${format.depth(value, units)}${units === "mi" && value != null ? ` (${format.value("depth", Math.abs(value))})` : ""}`;

/** The known effects of an event on people: [label, text]. */
function effects({ tsunami, alert, felt, cdi, mmi }) {
  const told = [];
  if (cdi != null) told.push(["Felt", `${format.intensity(cdi)}${felt ? `, from ${format.count(felt, "report")}` : ""}`]);
  else if (felt) told.push(["Felt", `${format.count(felt, "report")} from people`]);
  if (mmi != null) told.push(["Shaking", `${format.intensity(mmi)}, from instruments`]);
  if (alert) told.push(["Losses", `PAGER ${alert}: ${losses[alert] ?? "see the agency’s page"}`]);
  if (tsunami) {
    told.push(["Tsunami", "The event is large, and below or near the sea: tsunami warning centres assess such events. This notice does not say that there is a tsunami."]);
  }
  return told;
}

const losses = {
  green: "few or none are likely", yellow: "some are possible", orange: "many are likely", red: "very many are likely",
};

/** The limit for an answer, in ms. */
const patience = 20_000;

const statusWords = (status) =>
  ({ automatic: "not yet: a computer determined these values", reviewed: "by a person", deleted: "the agency deleted the event" })[status] ?? status;

/** The agency of an event, with a link to the terms of its data. */
function agencyNode(quake) {
  const known = agency(quake);
  if (!known) return foreign(quake.net);
  const link = outwards(termsAddress(known), known.title) ?? known.title;
  return element("span", "", link, known.licence ? ` (${known.licence})` : null);
}

/** The author of a change and the import that made the change, in words. */
function authorWords({ author, context }) {
  const run = /^run (\d+)$/.exec(context ?? "")?.[1];
  if (run) return `import ${run}${author && author !== "quakes" ? ` by ${author}` : ""}`;
  return [author && `by ${author}`, context].filter(Boolean).join(", ");
}

function links(quake, asof, isGone) {
  const query = new URLSearchParams({ eventid: quake.code });
  if (asof != null) query.set("asof", new Date(asof).toISOString());
  if (isGone) query.set("includedeleted", "true");
  const list = element("ul", "links");
  const add = (address, words) => {
    const link = outwards(address, words);
    if (link) list.append(element("li", "", link));
  };
  if (quake.url) add(quake.url, `Event page at ${/^https?:\/\/([^/?#]+)/i.exec(quake.url)?.[1] ?? "the agency"}`);
  for (const [words, address] of pages(quake)) add(address, words);
  if (quake.tsunami) add("https://www.tsunami.gov/", "Tsunami warnings: tsunami.gov");
  // Only GeoJSON can show an event that was deleted.
  for (const [name, format] of [["QuakeML", "xml"], ["GeoJSON", "geojson"]].slice(isGone ? 1 : 0)) {
    const link = element("a", "", name);
    link.href = `${root}fdsnws/event/1/query?${query}&format=${format}`;
    list.append(element("li", "", link));
  }
  return list;
}

/**
 * The answer to a request that is repeated until it succeeds. Meanwhile `box` says, in the words for the last error, that it has
 * failed. Null if the server refuses the request, or if `signal` is aborted.
 *
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} request @param {AbortSignal} signal @param {Element} box
 * @param {(error: any) => string} words
 */
async function loaded(request, signal, box, words) {
  const note = element("p", "failure");
  box.querySelector(".failure")?.remove();
  const failed = (error) => {
    note.textContent = words(error);
    box.append(note);
  };
  try {
    const answer = await untilAnswered(() => within(patience, request, signal), failed, signal);
    note.remove();
    return signal.aborted ? null : answer;
  } catch (error) {
    if (!signal.aborted) failed(error);
    return null;
  }
}

/** The event's heading. It can take the focus, so that a screen reader starts to read there. */
function heading(...children) {
  const made = element("h2", "", ...children);
  made.id = "detail-title";
  made.tabIndex = -1;
  return made;
}
