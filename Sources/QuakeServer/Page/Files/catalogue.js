// The earthquakes that were selected, and what has happened to them since.

import { differences, fromRow } from "./quake.js";

export class Catalogue {
  /** @type {Map<string, any>} By code. What was withdrawn stays until its mark is cleared. */
  quakes = new Map();
  /** @type {Map<string, any>} By code: { kind: "new" | "revised" | "withdrawn" | "left", changes, reason }. */
  marks = new Map();

  /** Forgets everything, and takes these. */
  replace(quakes) {
    this.quakes = new Map(quakes.map((quake) => [quake.code, quake]));
    this.marks.clear();
  }

  /** Takes these, and marks in what they differ from those that are there. Returns the new ones. */
  become(quakes) {
    this.clearMarks();
    const next = new Map(quakes.map((quake) => [quake.code, quake]));
    const added = quakes.filter((quake) => this.put(quake) === "new");
    for (const code of [...this.quakes.keys()]) if (!next.has(code)) this.remove(code, "withdrawn", null);
    return added;
  }

  /**
   * Takes the changes of a pass: of each event, the last one counts.
   *
   * Returns the new ones, and what happened in words for people: [kind, quake].
   */
  apply(changes) {
    const added = [];
    const news = [];
    for (const { key, operation, row, reason, selected, earthquake } of new Map(changes.map((each) => [each.key, each])).values()) {
      const quake = row && fromRow(row, earthquake);
      if (quake && selected !== false) {
        const kind = this.put(quake);
        if (kind === "new") added.push(quake);
        if (kind) news.push([kind, quake]);
      } else if (this.has(key) && (operation === "delete" || quake)) {
        const kind = operation === "delete" ? "withdrawn" : "left";
        news.push([kind, quake ?? this.quakes.get(key)]);
        this.remove(key, kind, reason, quake);
      }
    }
    return { added, news };
  }

  /** Takes an event as it is now, and returns its mark's kind; undefined if nothing that is shown has changed. */
  put(quake) {
    const known = this.quakes.get(quake.code);
    const mark = this.marks.get(quake.code);
    this.quakes.set(quake.code, quake);
    if (!known || mark?.kind === "withdrawn" || mark?.kind === "left") return this.#mark(quake.code, "new", []);
    const changes = differences(mark?.first ?? known, quake);
    // What is new stays new when it is revised.
    if (mark?.kind === "new" || differences(known, quake).length === 0) return undefined;
    return this.#mark(quake.code, "revised", changes, null, mark?.first ?? known);
  }

  /** Marks an event as withdrawn, or as one that left the selection when it was revised to `quake`. */
  remove(code, kind, reason, quake = null) {
    const known = this.quakes.get(code);
    if (!known || this.marks.get(code)?.kind === kind) return;
    if (quake) this.quakes.set(code, quake);
    this.#mark(code, kind, quake ? differences(known, quake) : [], reason);
  }

  #mark(code, kind, changes, reason = null, first = null) {
    this.marks.set(code, { kind, changes, reason, first });
    return kind;
  }

  /** Forgets the marks, and the deleted events with them. */
  clearMarks() {
    for (const [code, { kind }] of this.marks) {
      if (kind === "withdrawn" || kind === "left") this.quakes.delete(code);
    }
    this.marks.clear();
  }

  /** Whether the event is in the catalogue still. */
  has(code) {
    const kind = this.marks.get(code)?.kind;
    return this.quakes.has(code) && kind !== "withdrawn" && kind !== "left";
  }

  /** Forgets events from before a moment, and returns whether there were any. */
  age(start) {
    const before = this.quakes.size;
    for (const [code, quake] of this.quakes) {
      if (quake.time >= start) continue;
      this.quakes.delete(code);
      this.marks.delete(code);
    }
    return this.quakes.size < before;
  }
}
