// An event's summary, and its story: every revision that history has kept.

import { element, foreign, outwards } from "./dom.js";
import * as format from "./format.js";
import { columns, differences } from "./quake.js";
import { root, story } from "./service.js";

// What few people look for.
const further = new Set(["magnitude_type", "sig", "nst", "gap", "rms", "dmin", "ids"]);

export class Detail {
  #box;
  #told;
  #code = null;
  #loading = null;
  #isMoreOpen = false;

  /**
   * - told.closed()
   * - told.asOf(milliseconds): show the catalogue as it was then
   */
  constructor(box, told) {
    this.#box = box;
    this.#told = told;
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") told.closed();
    });
  }

  get code() { return this.#code; }

  close() {
    this.#code = null;
    this.#loading?.abort();
    this.#box.hidden = true;
    this.#box.replaceChildren();
  }

  /**
   * Shows an event. `quake` is null if it is not among the selected ones: its story then tells what it is.
   *
   * The heading takes the focus if `isChosen`, or if the focus was on what is replaced.
   */
  show(code, quake, mark, zone, now, isChosen) {
    this.#code = code;
    const back = element("button", "", "Back to the list");
    back.type = "button";
    back.addEventListener("click", () => this.#told.closed());
    const summary = element("div", "summary");
    const steps = element("div", "story");
    const hadFocus = this.#box.contains(document.activeElement);
    this.#box.replaceChildren(back, summary, steps);
    this.#box.hidden = false;
    summary.append(...(quake ? this.#summary(quake, mark, zone, now) : [heading(foreign(code))]));
    if (isChosen || hadFocus) this.#box.querySelector("h2").focus();
    this.#tell(code, quake, mark, zone, now, summary, steps);
  }

  #summary(quake, mark, zone, now) {
    const title = heading(
      element("span", "unseen", "Magnitude "), element("span", "large", format.magnitude(quake.magnitude)), " ",
      foreign(quake.place ?? quake.code));
    const gone = mark?.kind === "withdrawn"
      ? element("p", "warning", "This event was withdrawn", mark.reason ? ": " : ".", foreign(mark.reason ?? "")) : null;
    const facts = [["Time", `${format.time(quake.time, zone)} (${format.ago(quake.time, now)})`]];
    const local = format.time(quake.time, "local");
    if (zone === "utc" && !format.time(quake.time, zone).startsWith(local)) facts.push(["Local time", local]);
    facts.push(["Place", format.position(quake)]);
    const figures = [];
    for (const [name, label] of columns) {
      if (["magnitude", "place", "time", "latitude", "longitude"].includes(name)) continue;
      const content = quake[name];
      if (content == null || content === "" || content === false || content.length === 0) continue;
      (further.has(name) ? figures : facts).push([label, format.value(name, content, zone)]);
    }
    figures.push(["Last revised", format.time(quake.updated, zone)], ["Code", quake.code]);
    const more = element("details", "", element("summary", "", "More figures"), definitions(figures));
    more.open = this.#isMoreOpen;
    more.addEventListener("toggle", () => (this.#isMoreOpen = more.open));
    const code = encodeURIComponent(quake.code);
    const links = element("p", "links");
    const page = quake.url && outwards(quake.url, "Page of the agency");
    if (page) links.append(page, " ");
    for (const [name, path] of [
      ["QuakeML", `${root}fdsnws/event/1/query?eventid=${code}&format=xml`],
      ["GeoJSON", `${root}earthquakes/feed/v1.0/detail/${code}.geojson`],
    ]) {
      const link = element("a", "", name);
      link.href = path;
      links.append(link, " ");
    }
    return [title, gone, definitions(facts), more, links].filter(Boolean);
  }

  async #tell(code, quake, mark, zone, now, summary, box) {
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    box.append(element("h3", "", "Story"));
    let told;
    try {
      told = await story(code, loading.signal);
    } catch (error) {
      if (loading.signal.aborted) return;
      const reason = error.status === 404 ? "History has nothing on this event." : "Its story cannot be loaded now.";
      box.append(element("p", "", reason));
      return;
    }
    if (loading.signal.aborted) return;
    const last = told.now ?? told.steps.at(-1)?.before;
    if (!quake && last) {
      const gone = told.now ? null : { kind: "withdrawn", reason: told.steps.at(-1).change.reason };
      const hadFocus = summary.contains(document.activeElement);
      summary.replaceChildren(...this.#summary(last, gone, zone, now));
      if (hadFocus) summary.querySelector("h2").focus();
    }
    if (told.steps.length > 0 && told.steps[0].change.operation !== "insert") {
      box.append(element("p", "", "What was before this is no longer kept."));
    }
    if (told.steps.length === 0) box.append(element("p", "", "History has kept no change of it."));
    const list = element("ol", "");
    for (const step of told.steps) list.append(this.#step(step, zone));
    box.append(list);
  }

  #step({ change, before, after }, zone) {
    const moment = Date.parse(change.committed_at);
    const head = { insert: "Reported", update: "Revised", delete: "Withdrawn" }[change.operation];
    const then = element("button", "quiet", "Show the map of then");
    then.type = "button";
    then.addEventListener("click", () => this.#told.asOf(moment));
    const changes = element("ul", "");
    if (change.operation === "insert" && after) {
      const first = `${format.magnitude(after.magnitude)}, depth ${after.depth == null ? "unknown" : format.depth(after.depth)}`;
      changes.append(element("li", "", "Magnitude ", first));
    }
    if (change.operation === "update") {
      const shown = differences(before, after);
      for (const each of shown) changes.append(element("li", "", foreign(format.change(each, zone))));
      if (shown.length === 0) changes.append(element("li", "", "Details that are not shown here"));
    }
    if (change.reason) changes.append(element("li", "", foreign(change.reason)));
    const source = [change.author, change.context].filter(Boolean).join(", ");
    return element(
      "li", `step step-${change.operation}`, element("strong", "", head), " ",
      element("span", "facts", `${format.time(moment, zone)} · `, foreign(source)), changes, then);
  }
}

function definitions(rows) {
  const list = element("dl", "");
  for (const [label, text] of rows) list.append(element("dt", "", label), element("dd", "", foreign(text)));
  return list;
}

/** The heading, which can have the focus: with it, a screen reader begins to read the event. */
function heading(...children) {
  const made = element("h2", "", ...children);
  made.id = "detail-title";
  made.tabIndex = -1;
  return made;
}
