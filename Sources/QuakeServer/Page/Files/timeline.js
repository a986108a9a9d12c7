// The slider that selects a past moment of the catalogue, and the button that plays the catalogue's history.

import { byId } from "./dom.js";
import * as format from "./format.js";

export class Timeline {
  #slider = byId("moment");
  #text = byId("moment-text");
  #play = byId("play");
  #back = byId("now");
  #begin = 0;
  #end = 0;
  #zone = "utc";
  #isPlaying = false;

  /**
   * - handlers.moved(moment, isLast): the user moved the slider to this moment; null is now. isLast is false during the movement.
   * - handlers.played(moment, begin, end): the user started to play the history from this moment, or from the beginning if it is
   *   null
   * - handlers.paused(): the user paused
   */
  constructor(handlers) {
    const move = (isLast) => {
      const moment = this.#moment();
      this.#say(moment);
      handlers.moved(moment, isLast);
    };
    this.#slider.addEventListener("input", () => move(false));
    this.#slider.addEventListener("change", () => move(true));
    this.#back.addEventListener("click", () => handlers.moved(null, true));
    this.#play.addEventListener("click", () =>
      this.#isPlaying ? handlers.paused() : handlers.played(this.#moment(), this.#begin, this.#end));
  }

  /**
   * Lets the slider range from `begin` to `end`, the present, and moves it to `moment`; null is the present. While the user moves
   * the slider, it stays unchanged, unless `isNavigated`.
   */
  show(begin, end, moment, zone, isPlaying, isNavigated) {
    this.#begin = begin;
    this.#end = end;
    this.#zone = zone;
    const steps = Number(this.#slider.max);
    const share = moment == null ? 1 : Math.max(0, Math.min(1, (moment - begin) / (end - begin)));
    // The last step means now, so a past moment must not be rounded to it.
    const step = moment == null ? steps : Math.min(steps - 1, Math.round(share * steps));
    if (document.activeElement !== this.#slider || moment == null || isPlaying || isNavigated) this.#slider.value = String(step);
    this.#say(moment);
    this.#back.hidden = moment == null;
    if (isPlaying === this.#isPlaying) return;
    this.#isPlaying = isPlaying;
    this.#play.textContent = isPlaying ? "Pause" : "Play";
    this.#play.setAttribute("aria-pressed", String(isPlaying));
  }

  #moment() {
    const steps = Number(this.#slider.max);
    const step = Number(this.#slider.value);
    return step >= steps ? null : Math.round(this.#begin + ((this.#end - this.#begin) * step) / steps);
  }

  #say(moment) {
    const text = moment == null ? "Now" : format.time(moment, this.#zone, false);
    if (this.#text.textContent === text) return;
    this.#text.textContent = text;
    this.#slider.setAttribute("aria-valuetext", text);
  }
}
