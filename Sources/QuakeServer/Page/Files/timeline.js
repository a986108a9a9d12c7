// The slider with which the catalogue is seen as it was, and the button that plays it.

import { byId } from "./dom.js";
import * as format from "./format.js";

const frames = 60;
const frameTime = 300;

export class Timeline {
  #slider = byId("moment");
  #text = byId("moment-text");
  #play = byId("play");
  #back = byId("now");
  #told;
  #begin = 0;
  #end = 0;
  #zone = "utc";
  #playing = null;

  /**
   * - told.moved(moment, isLast): the slider shows this moment; null is now. isLast is false while it is being moved.
   * - told.played(moment, isFirst): the next moment of playing; resolves when the catalogue of then is shown
   */
  constructor(told) {
    this.#told = told;
    this.#slider.addEventListener("input", () => this.#moved(false));
    this.#slider.addEventListener("change", () => this.#moved(true));
    this.#back.addEventListener("click", () => {
      this.stop();
      told.moved(null, true);
    });
    this.#play.addEventListener("click", () => (this.#playing ? this.stop() : this.#start()));
  }

  /** The slider reaches from `begin` to `end`, which is now, and is at `moment`; null is now. */
  show(begin, end, moment, zone) {
    this.#begin = begin;
    this.#end = end;
    this.#zone = zone;
    const steps = Number(this.#slider.max);
    const share = moment == null ? 1 : Math.max(0, Math.min(1, (moment - begin) / (end - begin)));
    // The last step is now: no moment of the past may look like it.
    const step = moment == null ? steps : Math.min(steps - 1, Math.round(share * steps));
    if (document.activeElement !== this.#slider || moment == null) this.#slider.value = String(step);
    this.#say(moment);
    this.#back.hidden = moment == null;
  }

  stop() {
    if (!this.#playing) return;
    this.#playing.abort();
    this.#playing = null;
    this.#play.textContent = "Play";
    this.#play.setAttribute("aria-pressed", "false");
  }

  #moment() {
    const steps = Number(this.#slider.max);
    const step = Number(this.#slider.value);
    return step >= steps ? null : Math.round(this.#begin + ((this.#end - this.#begin) * step) / steps);
  }

  #say(moment) {
    const text = moment == null ? "Now" : format.time(moment, this.#zone, false);
    this.#text.textContent = text;
    this.#slider.setAttribute("aria-valuetext", text);
  }

  #moved(isLast) {
    this.stop();
    const moment = this.#moment();
    this.#say(moment);
    this.#told.moved(moment, isLast);
  }

  async #start() {
    const playing = new AbortController();
    this.#playing = playing;
    this.#play.textContent = "Pause";
    this.#play.setAttribute("aria-pressed", "true");
    let moment = this.#moment() ?? this.#begin;
    const step = (this.#end - this.#begin) / frames;
    for (let isFirst = true; !playing.signal.aborted && moment < this.#end; isFirst = false) {
      const shown = this.#told.played(Math.round(moment), isFirst);
      await Promise.all([shown, new Promise((resolve) => setTimeout(resolve, frameTime))]);
      moment += step;
    }
    if (playing.signal.aborted) return;
    this.stop();
    this.#told.moved(null, true);
  }
}
