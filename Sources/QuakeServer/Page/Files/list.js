// The list. Only the visible rows have elements, so 20,000 rows are as fast as 20.

import { agencyOf, label } from "./agencies.js";
import { kinds } from "./catalogue.js";
import { element, foreign } from "./dom.js";
import * as format from "./format.js";
import { agenciesOf } from "./groups.js";
import { isOther, typeLabel } from "./quake.js";
import { colorClass, radius, weight } from "./scale.js";

/** The height of a line of text, and the vertical padding of a row, in rem. */
const line = 1.25;
const padding = 0.875;
/** In a list that is narrower than this, in rem, badges are smaller. */
const narrow = 24;
const spare = 6;
const year = 365 * 86_400_000;
let made = 0;

export class QuakeList {
  #box;
  #inner = element("div", "rows");
  #handlers;
  #quakes = [];
  #places = new Map();
  #context = {};
  #rows = new Map();
  /** The content of each row. */
  #shown = new WeakMap();
  #active = null;
  /** The number of lines of each row's facts. */
  #linesOfFacts = [];
  /** The top of each row, and the bottom of the last one, in pixels. */
  #tops = [0];

  /** - handlers.chosen(code): the user has clicked a row, or pressed Enter or Space on it */
  constructor(box, handlers) {
    this.#box = box;
    this.#handlers = handlers;
    this.#inner.setAttribute("role", "presentation");
    box.append(this.#inner);
    box.addEventListener("scroll", () => this.#render(), { passive: true });
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.#choose(row.dataset.code);
    });
    box.addEventListener("focus", () => {
      if (!this.#places.has(this.#active)) this.#activate(this.#quakes[this.#firstVisible]?.code);
    });
    new ResizeObserver(() => this.#arrange()).observe(box);
  }

  /**
   * Shows these events, in this order.
   *
   * context: { marks, zone, units, now, colouring, areMany, selected }; areMany: whether the events are from several agencies
   */
  show(quakes, context) {
    // The first visible row stays in its place when rows above it are added or removed.
    const anchor = this.#box.scrollTop > 4 ? this.#quakes[this.#firstVisible]?.code : null;
    const before = this.#tops[this.#places.get(anchor)];
    this.#quakes = quakes;
    const { now, zone } = context;
    const midnight = zone === "utc" ? new Date(now).setUTCHours(0, 0, 0, 0) : new Date(now).setHours(0, 0, 0, 0);
    this.#context = { ...context, midnight };
    this.#places = new Map(quakes.map((quake, index) => [quake.code, index]));
    this.#arrange(anchor, before);
  }

  /** Gives each row the height that it needs, and scrolls so that the row of `anchor`, which began at `before`, does not move. */
  #arrange(anchor = null, before = 0) {
    const size = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const width = this.#box.clientWidth / size;
    this.#box.classList.toggle("is-narrow", width < narrow);
    this.#linesOfFacts = this.#quakes.map((quake) => linesOfFacts(quake, this.#context, width));
    const tops = [0];
    for (const [index, quake] of this.#quakes.entries()) {
      const lines = 1 + this.#linesOfFacts[index] + linesOfMarks(quake, this.#context.marks.get(quake.code), width);
      tops.push(tops.at(-1) + Math.round((padding + line * lines) * size));
    }
    this.#tops = tops;
    this.#inner.style.height = `${tops.at(-1)}px`;
    const after = tops[this.#places.get(anchor)];
    if (after != null && after !== before) this.#box.scrollTop += after - before;
    this.#render();
  }

  /** Makes an event's row the active one for the keyboard, and brings it into view. */
  reveal(code) {
    if (this.#places.has(code)) this.#activate(code);
  }

  focus() { this.#box.focus(); }

  get #firstVisible() { return Math.max(0, this.#at(this.#box.scrollTop)); }

  /** The index of the row that is `height` pixels below the top of the list; beyond the end, the index of the last row. */
  #at(height) {
    let [low, high] = [0, this.#quakes.length];
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.#tops[middle] <= height) low = middle;
      else high = middle;
    }
    return low;
  }

  #render() {
    const first = Math.max(0, this.#firstVisible - spare);
    const end = Math.min(this.#quakes.length, this.#at(this.#box.scrollTop + this.#box.clientHeight) + 1 + spare);
    const wanted = new Set(this.#quakes.slice(first, end).map((quake) => quake.code));
    const active = this.#places.get(this.#active);
    if (active != null) wanted.add(this.#active);
    for (const [code, row] of this.#rows) {
      if (wanted.has(code)) continue;
      row.remove();
      this.#rows.delete(code);
    }
    for (const code of wanted) {
      let row = this.#rows.get(code);
      if (!row) {
        row = this.#row(code);
        this.#rows.set(code, row);
        this.#inner.append(row);
      }
      this.#fill(row, this.#places.get(code));
    }
    if (active == null) this.#box.removeAttribute("aria-activedescendant");
    else this.#box.setAttribute("aria-activedescendant", this.#rows.get(this.#active).id);
  }

  #row(code) {
    const row = element("div", "row");
    row.id = `row-${(made += 1)}`;
    row.dataset.code = code;
    row.setAttribute("role", "option");
    return row;
  }

  /**
   * Updates a row. If nothing but the age has changed, only the text of the age is replaced. The row keeps its elements, because
   * the user may be selecting or clicking them.
   */
  #fill(row, index) {
    const quake = this.#quakes[index];
    const { marks, zone, units, now, midnight, colouring, areMany, selected } = this.#context;
    const { by } = colouring;
    const mark = marks.get(quake.code);
    const hue = colouring.number(quake, now);
    const agency = areMany ? agencyWords(quake) : null;
    const shown = this.#shown.get(row) ?? {};
    row.style.top = `${this.#tops[index]}px`;
    row.style.height = `${this.#tops[index + 1] - this.#tops[index]}px`;
    setAttribute(row, "aria-selected", String(quake.code === selected));
    setAttribute(row, "aria-posinset", String(index + 1));
    setAttribute(row, "aria-setsize", String(this.#quakes.length));
    row.classList.toggle("is-active", quake.code === this.#active);
    row.style.setProperty("--lines", String(this.#linesOfFacts[index]));
    const ago = format.ago(quake.time, now);
    const looks = { quake, mark, zone, units, midnight, hue, by, agency };
    if (Object.keys(looks).every((name) => shown[name] === looks[name])) {
      if (shown.ago.textContent !== ago) shown.ago.textContent = ago;
      return;
    }
    const agoNode = element("span", "ago", ago);
    this.#shown.set(row, { ...looks, ago: agoNode });
    for (const kind of Object.keys(kinds)) row.classList.toggle(`is-${kind}`, mark?.kind === kind);
    row.dataset.weight = String(weight(quake.magnitude));
    const told = badges(quake, mark);
    const dot = element("span", `dot ${isOther(quake) ? "other " : ""}${colorClass(by, hue)}`);
    dot.style.width = dot.style.height = `${Math.round(2 * Math.min(17, radius(quake.magnitude)))}px`;
    row.replaceChildren(
      element("span", "dot-box", dot),
      element("span", "magnitude", element("span", "unseen", "Magnitude "), format.magnitude(quake.magnitude)),
      element(
        "span", "words",
        element("span", "place", foreign(format.place(quake, units))),
        element(
          "span", "facts",
          element("span", "", format.clock(quake.time, now, zone), ` · ${format.depth(quake.depth, units, true)}`, agency ? foreign(` · ${agency}`) : null),
          " ", agoNode),
        told.length > 0 ? element("span", "badges", ...told.map(([look, text]) => element("span", `badge badge-${look}`, foreign(text)))) : null,
        isBrief(mark) ? null : element("span", "mark", ...markText(mark, zone))));
  }

  // Keys

  #key(event) {
    const last = this.#quakes.length - 1;
    if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = this.#places.get(this.#active) ?? 0;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / (this.#tops.at(-1) / (last + 1))) - 1);
    const target = {
      ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: last,
    }[event.key];
    if (target != null) {
      event.preventDefault();
      this.#activate(this.#quakes[Math.max(0, Math.min(last, target))].code);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.#places.has(this.#active)) this.#choose(this.#active);
    }
  }

  #activate(code) {
    if (code == null) return;
    this.#rows.get(this.#active)?.classList.remove("is-active");
    this.#active = code;
    const index = this.#places.get(code);
    const [top, bottom] = [this.#tops[index], this.#tops[index + 1]];
    const box = this.#box;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    this.#render();
    this.#rows.get(code)?.classList.add("is-active");
  }

  #choose(code) {
    this.#activate(code);
    this.#handlers.chosen(code);
  }
}

function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** The width of the texts in a list of this width, in rem. */
const roomIn = (width) => width - 6.75;

/**
 * The number of lines that the facts need in a list of this width, in rem: the time, the depth and the agency, and the age at the
 * end of the last line.
 *
 * @param {any} quake @param {any} context @param {number} width
 */
function linesOfFacts(quake, context, width) {
  const { areMany, midnight } = context;
  const date = quake.time >= midnight ? 0 : quake.time > midnight - year ? 7 : 11;
  const text = 0.43 * (23 + date + (areMany ? agencyWords(quake).length + 3 : 0));
  const room = roomIn(width);
  return Math.ceil(text / room) + (text % room + 4.2 > room ? 1 : 0);
}

/** The number of lines that the badges and the mark need in a list of this width, in rem. */
function linesOfMarks(quake, mark, width) {
  // A short cut for most rows.
  if (!mark && !quake.alert && !quake.tsunami && !quake.felt && !isOther(quake)) return 0;
  const room = roomIn(width);
  let [badgeLines, used] = [0, Infinity];
  for (const [, text] of badges(quake, mark)) {
    const wide = 1.1 + 0.45 * text.length;
    if (used + wide > room) [badgeLines, used] = [badgeLines + 1, 0];
    used += wide;
  }
  return badgeLines + (isBrief(mark) ? 0 : 1);
}

/** The agency that reports an event, or the number of agencies. */
function agencyWords(quake) {
  const { length } = agenciesOf(quake);
  return length > 1 ? format.count(length, "agency", "agencies") : label(agencyOf(quake));
}

/** Whether a row has no line for its mark: there is no mark, or a badge shows it. */
const isBrief = (mark) => mark == null || mark.kind === "new";

/** An event's badges, [look, words]: whether it is new, its type if it is not an earthquake, and its effects on people. */
function badges(quake, mark) {
  const { alert, tsunami, felt } = quake;
  const kind = typeLabel(quake);
  const made = mark?.kind === "new" ? [["new", kinds.new]] : [];
  if (kind) made.push(["plain", kind]);
  if (alert) made.push([["green", "yellow", "orange", "red"].includes(alert) ? alert : "plain", `PAGER ${alert}`]);
  if (tsunami) made.push(["plain", "Tsunami notice"]);
  if (felt) made.push(["plain", `Felt: ${felt.toLocaleString("en")}`]);
  return made;
}

/** Nodes that briefly describe an event's mark. */
function markText({ kind, changes, reason }, zone) {
  const words = [element("strong", "", kinds[kind])];
  const told = changes.slice(0, 2).map((change) => format.change(change, zone));
  if (kind === "left") told.push("no longer matches");
  if (reason) told.push(format.reason(reason));
  if (told.length > 0) words.push(" ", foreign(told.join("; ")));
  return words;
}
