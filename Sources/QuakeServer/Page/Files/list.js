// The list. It has elements only for the rows that can be seen, so that 20,000 rows are as fast as 20.

import { agencyOf, label } from "./agencies.js";
import { element, foreign } from "./dom.js";
import * as format from "./format.js";
import { typeLabel } from "./quake.js";
import { colorClass, radius, weight } from "./scale.js";

const spare = 6;
let made = 0;

export class QuakeList {
  #box;
  #inner = element("div", "rows");
  #handlers;
  #quakes = [];
  #places = new Map();
  #context = {};
  #rows = new Map();
  /** What each row shows. */
  #shown = new WeakMap();
  #active = null;
  #rowHeight = 64;

  /** - handlers.chosen(code): a row was clicked, or Enter pressed on it */
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
    new ResizeObserver(() => this.#render()).observe(box);
  }

  /**
   * Shows these, in this order.
   *
   * context: { marks, zone, now, colouring, areMany, selected }; areMany: they are of several agencies
   */
  show(quakes, context) {
    // What is read stays where it is while rows come and go above it.
    const anchor = this.#box.scrollTop > 4 ? this.#quakes[this.#firstVisible]?.code : null;
    const before = this.#places.get(anchor);
    this.#quakes = quakes;
    this.#context = context;
    this.#places = new Map(quakes.map((quake, index) => [quake.code, index]));
    this.#inner.style.height = `${quakes.length * this.#rowHeight}px`;
    const after = this.#places.get(anchor);
    if (before != null && after != null && after !== before) {
      this.#box.scrollTop += (after - before) * this.#rowHeight;
    }
    this.#render();
  }

  /** Puts the keyboard's place on an event's row, and brings it into view. */
  reveal(code) {
    if (this.#places.has(code)) this.#activate(code);
  }

  focus() { this.#box.focus(); }

  get #firstVisible() { return Math.floor(this.#box.scrollTop / this.#rowHeight); }

  #render() {
    const first = Math.max(0, this.#firstVisible - spare);
    const end = Math.min(
      this.#quakes.length,
      Math.ceil((this.#box.scrollTop + this.#box.clientHeight) / this.#rowHeight) + spare);
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
    this.#measure();
    if (active == null) this.#box.removeAttribute("aria-activedescendant");
    else this.#box.setAttribute("aria-activedescendant", this.#rows.get(this.#active).id);
  }

  /** The height of a row follows the size of the text. */
  #measure() {
    const height = this.#rows.values().next().value?.offsetHeight;
    if (!height || height === this.#rowHeight) return;
    this.#rowHeight = height;
    this.#inner.style.height = `${this.#quakes.length * height}px`;
    this.#render();
  }

  #row(code) {
    const row = element("div", "row");
    row.id = `row-${(made += 1)}`;
    row.dataset.code = code;
    row.setAttribute("role", "option");
    return row;
  }

  /** Brings a row up to date. Unchanged parts are left alone: the user may be selecting or clicking them. */
  #fill(row, index) {
    const quake = this.#quakes[index];
    const { marks, zone, now, colouring, areMany, selected } = this.#context;
    const { by } = colouring;
    const mark = marks.get(quake.code);
    const hue = colouring.number(quake, now);
    const agency = areMany ? label(agencyOf(quake)) : null;
    const shown = this.#shown.get(row) ?? {};
    row.style.top = `${index * this.#rowHeight}px`;
    setAttribute(row, "aria-selected", String(quake.code === selected));
    setAttribute(row, "aria-posinset", String(index + 1));
    setAttribute(row, "aria-setsize", String(this.#quakes.length));
    row.classList.toggle("is-active", quake.code === this.#active);
    const ago = format.ago(quake.time, now);
    if (shown.quake === quake && shown.mark === mark && shown.zone === zone && shown.hue === hue && shown.by === by && shown.agency === agency) {
      if (shown.ago.textContent !== ago) shown.ago.textContent = ago;
      return;
    }
    const agoNode = element("span", "", ago);
    this.#shown.set(row, { quake, mark, zone, hue, by, agency, ago: agoNode });
    for (const kind of Object.keys(kinds)) row.classList.toggle(`is-${kind}`, mark?.kind === kind);
    row.dataset.weight = String(weight(quake.magnitude));
    const kind = typeLabel(quake);
    const dot = element("span", `dot ${kind ? "other " : ""}${colorClass(by, hue)}`);
    dot.style.width = dot.style.height = `${Math.round(2 * Math.min(17, radius(quake.magnitude)))}px`;
    row.replaceChildren(
      element("span", "dot-box", dot),
      element("span", "magnitude", element("span", "unseen", "Magnitude "), format.magnitude(quake.magnitude)),
      element(
        "span", "words",
        element("span", "place", foreign(quake.place ?? quake.code)),
        element(
          "span", "facts", agency ? foreign(`${agency} · `) : "", kind ? foreign(`${kind} · `) : "", agoNode,
          ` · ${format.depth(quake.depth)} · ${format.time(quake.time, zone, false)}`),
        element("span", "extra", ...badges(quake), mark ? element("span", "mark", ...markText(mark, zone)) : null)));
  }

  // Keys

  #key(event) {
    const last = this.#quakes.length - 1;
    if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = this.#places.get(this.#active) ?? 0;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / this.#rowHeight) - 1);
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
    const top = this.#places.get(code) * this.#rowHeight;
    const box = this.#box;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + this.#rowHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = top + this.#rowHeight - box.clientHeight;
    }
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

/** What makes an event matter to people: its nodes. */
function badges({ alert, tsunami, felt }) {
  const made = [];
  if (alert) made.push(element("span", `badge badge-${["green", "yellow", "orange", "red"].includes(alert) ? alert : "plain"}`, "PAGER ", foreign(alert)));
  if (tsunami) made.push(element("span", "badge badge-plain", "Tsunami notice"));
  if (felt) made.push(element("span", "badge badge-plain", `Felt: ${felt.toLocaleString("en")}`));
  return made;
}

const kinds = { new: "New", revised: "Revised", withdrawn: "Withdrawn", left: "Revised" };

/** What has happened to an event, in few words: its nodes. */
function markText({ kind, changes, reason }, zone) {
  const words = [element("strong", "", kinds[kind])];
  const told = changes.slice(0, 2).map((change) => format.change(change, zone));
  if (kind === "left") told.push("no longer matches");
  if (reason) told.push(format.reason(reason));
  if (told.length > 0) words.push(" ", foreign(told.join("; ")));
  return words;
}
