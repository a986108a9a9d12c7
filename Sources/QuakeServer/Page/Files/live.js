// The changes as they happen, by Server-Sent Events from /changes.

import { fromRow } from "./quake.js";
import { root } from "./service.js";

/**
 * Follows from a position on, until it is closed. Survives restarts of the server and cuts of the network: it goes on after
 * the last position that it has taken.
 *
 * - told.pass(changes): the changes of one pass, once it is whole
 * - told.snapshot(quakes): a fresh start, with all selected events
 * - told.connected(): the server has answered
 * - told.lost(): the connection is gone; another one is being tried
 */
export class Live {
  #position;
  #selection;
  #told;
  #source = null;
  #retry = null;

  constructor(position, selection, told) {
    this.#position = position;
    this.#selection = selection;
    this.#told = told;
    this.open();
  }

  /** Opens a connection, also in place of one that may be dead. */
  open() {
    this.close();
    const query = new URLSearchParams(this.#selection);
    query.set("after", this.#position);
    const source = new EventSource(`${root}changes?${query}`);
    let snapshot = null;
    let pass = [];
    source.addEventListener("open", () => {
      snapshot = null;
      pass = [];
      this.#told.connected();
    });
    source.addEventListener("snapshot", () => (snapshot = []));
    source.addEventListener("row", (event) => snapshot?.push(fromRow(JSON.parse(event.data).row)));
    source.addEventListener("change", (event) => pass.push(JSON.parse(event.data)));
    source.addEventListener("position", (event) => {
      if (snapshot) this.#told.snapshot(snapshot);
      if (pass.length > 0) this.#told.pass(pass);
      snapshot = null;
      pass = [];
      this.#position = event.lastEventId || this.#position;
    });
    source.addEventListener("error", () => {
      this.#told.lost();
      // After an answer other than 200, an EventSource does not try again.
      if (source.readyState === EventSource.CLOSED) {
        this.#retry = setTimeout(() => this.open(), 2000 + Math.random() * 3000);
      }
    });
    this.#source = source;
  }

  close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }
}
