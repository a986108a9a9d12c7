// Alerts about new earthquakes, for who asks for them. The wish stays in this browser: a link never turns them on.

import { byId } from "./dom.js";
import * as format from "./format.js";
import { distance } from "./quake.js";
import { root } from "./service.js";

const key = "quakes.alerts";
const usual = { on: false, magnitude: 5, near: false, latitude: 0, longitude: 0, radius: 500, sound: true };

export class Alerts {
  #dialog = byId("notify");
  #form = this.#dialog.querySelector("form");
  #note = byId("notify-note");
  #wish = { ...usual };
  #sound = null;

  /** - told.centre(): the map's centre */
  constructor(told) {
    try {
      Object.assign(this.#wish, JSON.parse(localStorage.getItem(key) ?? "{}"));
    } catch {
      // Kept for this visit only.
    }
    this.#fill();
    byId("open-notify").addEventListener("click", () => {
      this.#fill();
      this.#dialog.showModal();
    });
    byId("take-centre").addEventListener("click", () => {
      const { latitude, longitude } = told.centre();
      this.#form.elements.latitude.value = latitude.toFixed(2);
      this.#form.elements.longitude.value = longitude.toFixed(2);
      this.#read();
    });
    byId("try-alert").addEventListener("click", async () => {
      await this.#permit();
      this.#alert("An alert looks like this", "and sounds like this.");
    });
    this.#form.addEventListener("input", () => this.#read());
    this.#form.elements.on.addEventListener("change", () => this.#permit());
  }

  /** Alerts about those of these new events that were asked for. */
  tell(quakes) {
    const { on, magnitude, near, radius } = this.#wish;
    if (!on) return;
    const wanted = quakes.filter((quake) =>
      quake.magnitude != null && quake.magnitude >= magnitude && (!near || distance(quake, this.#wish) <= radius));
    if (wanted.length === 0) return;
    const greatest = wanted.reduce((a, b) => (b.magnitude > a.magnitude ? b : a));
    const more = wanted.length > 1 ? ` and ${wanted.length - 1} more` : "";
    this.#alert(`Magnitude ${format.magnitude(greatest.magnitude)}${more}`, greatest.place ?? greatest.code);
  }

  #fill() {
    for (const [name, value] of Object.entries(this.#wish)) {
      const field = this.#form.elements[name];
      if (field.type === "checkbox") field.checked = value;
      else field.value = String(value);
    }
    this.#arrange();
  }

  #read() {
    for (const name of Object.keys(usual)) {
      const field = this.#form.elements[name];
      if (field.type === "checkbox") this.#wish[name] = field.checked;
      else if (field.value !== "" && field.validity.valid) this.#wish[name] = Number(field.value);
    }
    this.#arrange();
    try {
      localStorage.setItem(key, JSON.stringify(this.#wish));
    } catch {
      // Kept for this visit only.
    }
  }

  #arrange() {
    byId("notify-place").hidden = !this.#wish.near;
    byId("open-notify").classList.toggle("is-on", this.#wish.on);
    byId("open-notify").textContent = this.#wish.on ? "Alerts on" : "Alerts";
  }

  /** Asks the browser, which only allows it after a click. */
  async #permit() {
    if (!("Notification" in window) || !window.isSecureContext) {
      this.#note.textContent = "This browser shows alerts only on pages with HTTPS; here, there is only the sound.";
      return;
    }
    const answer = Notification.permission === "default" ? await Notification.requestPermission() : Notification.permission;
    this.#note.textContent = answer === "granted" ? "" : "The browser does not allow alerts; there is only the sound.";
  }

  #alert(title, text) {
    if (this.#wish.sound) this.#beep();
    if (!("Notification" in window) || Notification.permission !== "granted") return;
    try {
      new Notification(title, { body: text, tag: "quakes", icon: `${root}page/icon.svg` });
    } catch {
      // Some phones only show those of service workers.
    }
  }

  /** Two soft tones. */
  #beep() {
    this.#sound ??= new AudioContext();
    const sound = this.#sound;
    for (const [delay, pitch] of [[0, 660], [0.22, 880]]) {
      const [tone, volume] = [sound.createOscillator(), sound.createGain()];
      const start = sound.currentTime + delay;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.0001, start);
      volume.gain.exponentialRampToValueAtTime(0.2, start + 0.03);
      volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.4);
      tone.connect(volume).connect(sound.destination);
      tone.start(start);
      tone.stop(start + 0.45);
    }
  }
}
