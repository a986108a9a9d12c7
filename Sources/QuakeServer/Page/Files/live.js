// Receives changes as they happen, by Server-Sent Events from /changes.

import { fromRow } from "./quake.js";
import { root } from "./service.js";

/** How long a connection may take to open, in ms. */
const patience = 30_000;

/**
 * Follows the changes after a position, until it is closed. After a restart of the server or a network failure, it resumes after
 * the last position that it received. A connection may also die without an error. Then `check` opens a new one.
 *
 * - handlers.opened(): the server has answered
 * - handlers.reached(position, changes): a pass of changes is complete
 * - handlers.restarted(position, quakes): the stream has started over, with all selected events
 * - handlers.cut(): the connection was lost; another attempt follows
 * - handlers.away() (optional): the server has lost its database
 */
export class Live {
  #position;
  /** The token that must be reached by the next check. */
  #awaited = null;
  /** Whether the previous connection was open, but fell behind. Then this one counts as open once it has sent a position. */
  #isDoubted = false;
  /** Since when the connection is not open; null if it is open. */
  #closedAt = null;
  #selection;
  #handlers;
  #source = null;
  #retry = null;
  #closed = new AbortController();

  constructor(position, selection, handlers) {
    this.#position = position;
    this.#selection = selection;
    this.#handlers = handlers;
    this.#open();
    // A browser keeps a page that the user has left, for the "back" button. For some time, that page's stream would still use one
    // of the few connections that the browser has to this server.
    const { signal } = this.#closed;
    addEventListener("pagehide", () => this.#end(), { signal });
    addEventListener("pageshow", ({ persisted }) => persisted && this.#open(), { signal });
  }

  /** Opens a new connection if this one has died. `token` is the newest one in the answer to another request. */
  check(token) {
    // The user has left the page.
    if (!this.#source) return;
    const isOpen = this.#closedAt == null;
    const isBehind = this.#awaited != null && Number.parseInt(this.#position, 10) < this.#awaited;
    if (isOpen) this.#awaited = token;
    if (isOpen ? !isBehind : Date.now() - this.#closedAt < patience) return;
    this.#isDoubted ||= isOpen;
    this.#handlers.cut();
    this.#open();
  }

  #open() {
    this.#end();
    this.#closedAt = Date.now();
    this.#awaited = null;
    const query = new URLSearchParams(this.#selection);
    query.set("after", this.#position);
    const source = new EventSource(`${root}changes?${query}`);
    let snapshot = null;
    let pass = [];
    source.addEventListener("open", () => {
      snapshot = null;
      pass = [];
      this.#closedAt = null;
      if (!this.#isDoubted) this.#handlers.opened();
    });
    source.addEventListener("snapshot", () => (snapshot = []));
    source.addEventListener("row", (event) => {
      const { row, earthquake } = JSON.parse(event.data);
      snapshot?.push(fromRow(row, earthquake));
    });
    source.addEventListener("change", (event) => pass.push(JSON.parse(event.data)));
    source.addEventListener("position", (event) => {
      const [quakes, changes] = [snapshot, pass];
      snapshot = null;
      pass = [];
      this.#position = event.lastEventId || this.#position;
      if (this.#isDoubted) this.#handlers.opened();
      this.#isDoubted = false;
      if (quakes) this.#handlers.restarted(this.#position, quakes);
      else this.#handlers.reached(this.#position, changes);
    });
    source.addEventListener("away", () => this.#handlers.away?.());
    source.addEventListener("error", () => {
      this.#closedAt = Date.now();
      this.#handlers.cut();
      // After an answer other than 200, an EventSource does not try again.
      if (source.readyState === EventSource.CLOSED) {
        this.#retry = setTimeout(() => this.#open(), 2000 + Math.random() * 3000);
      }
    });
    this.#source = source;
  }

  close() {
    this.#closed.abort();
    this.#end();
  }

  #end() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }
}
