// The selected events, with marks for the events that have changed since they were loaded.

import { byEvent, differences, fromRow } from "./quake.js";

/** The kinds of marks, in words for people. An event that left the selection did so because it was revised. */
export const kinds = { new: "New", revised: "Revised", withdrawn: "Withdrawn", left: "Revised" };

/** Whether a mark says that its event was withdrawn or has left the selection. There may be no mark. */
export const isGone = (mark) => mark?.kind === "withdrawn" || mark?.kind === "left";

export class Catalogue {
  /** @type {Map<string, any>} The events by code. A withdrawn event stays until its mark is cleared. */
  quakes = new Map();
  /** @type {Map<string, any>} The marks by code: { kind: "new" | "revised" | "withdrawn" | "left", changes, reason }. */
  marks = new Map();

  /** Replaces all events with these, without marks. */
  replace(quakes) {
    this.quakes = new Map(quakes.map((quake) => [quake.code, quake]));
    this.marks.clear();
  }

  /** The codes of the events that these events lack, and those of the events that the catalogue lacks. */
  unlike(quakes) {
    const next = new Set(quakes.map(({ code }) => code));
    return {
      missing: [...this.quakes.keys()].filter((code) => !next.has(code) && this.has(code)),
      added: [...next].filter((code) => !this.has(code)),
    };
  }

  /**
   * Replaces all events with these, and marks the differences from the previous events. An event that is missing was withdrawn
   * unless `now` has it, and an event that was added is new unless `before` has it: then only its revision crossed the filter.
   * Returns the new events.
   */
  become(quakes, { now, before }) {
    const { missing } = this.unlike(quakes);
    const added = quakes.filter((quake) => this.put(quake, before.get(quake.code)) === "new");
    for (const code of missing) {
      const left = now.get(code);
      if (left) this.remove(code, "left", null, { ...left, earthquake: this.quakes.get(code).earthquake });
      else this.remove(code, "withdrawn", null);
    }
    return added;
  }

  /**
   * Applies the changes of a pass. Only the last change of each event counts. An event with an origin time before `start` is not
   * added, because it is too old for the selected period. An event that a revision has brought into the selection is not new.
   *
   * Returns the new events, and the news for screen readers: [kind, quake].
   */
  apply(changes, start = null) {
    const added = [];
    const news = [];
    for (const { last: { key, operation, row, reason, selected, earthquake }, before } of byEvent(changes)) {
      const quake = row && fromRow(row, earthquake);
      if (quake && selected !== false) {
        if (start != null && quake.time < start && !this.has(key)) continue;
        const kind = this.put(quake, before && fromRow(before, earthquake));
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

  /**
   * Adds an event, or replaces its older state. `earlier` is the state before, if the event was not selected then. Returns the kind
   * of the new mark; undefined if the event gets no new mark.
   */
  put(quake, earlier = null) {
    const isHere = this.has(quake.code);
    const known = isHere ? this.quakes.get(quake.code) : earlier;
    if (!isHere) this.marks.delete(quake.code);
    const mark = this.marks.get(quake.code);
    this.quakes.set(quake.code, quake);
    if (!known) return this.#mark(quake.code, "new", []);
    const changes = differences(mark?.first ?? known, quake);
    // A new event stays new when it is revised.
    if (mark?.kind === "new" || differences(known, quake).length === 0) return undefined;
    return this.#mark(quake.code, "revised", changes, null, mark?.first ?? known);
  }

  /** Marks an event as `withdrawn`, or as `left` if its revision `quake` no longer belongs to the selection. */
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

  /** Clears the marks, and removes the events that were withdrawn or left the selection. */
  clearMarks() {
    for (const [code, mark] of this.marks) if (isGone(mark)) this.quakes.delete(code);
    this.marks.clear();
  }

  /** Whether the catalogue has an event that was not withdrawn and has not left the selection. */
  has(code) {
    return this.quakes.has(code) && !isGone(this.marks.get(code));
  }

  /** Removes the events with origin times before `start`. Returns whether any were removed. */
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
