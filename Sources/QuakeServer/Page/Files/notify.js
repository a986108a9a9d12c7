// Alerts about new earthquakes, if switched on: with their own selection, independent of the page's. The wish stays in this
// browser: a link never turns them on.

import * as alerts from "./alerts.js";
import { offerTowns } from "./controls.js";
import { byId } from "./dom.js";
import { loadPlaces, placeNamed } from "./earth.js";
import * as format from "./format.js";
import { kilometres } from "./format.js";
import { Live } from "./live.js";
import { typeLabel } from "./quake.js";
import { root } from "./service.js";
import { Turn } from "./turn.js";

const wishKey = "quakes.alerts";
const toldKey = "quakes.told";
/** So many notifications at once; what is more is one. */
const most = 3;

export class Alerts {
  #dialog = byId("notify");
  #form = this.#dialog.querySelector("form");
  #note = byId("notify-note");
  #handlers;
  #wish = alerts.readWish(stored(wishKey));
  #live = null;
  #heard = Date.now();
  #starting = null;
  #turn = new Turn("quakes.alerts", navigator.locks);
  #sound = null;

  /**
   * - handlers.centre(): the map's centre; handlers.units(): those of lengths
   * - handlers.chosen(code): an alert was clicked
   */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#fill();
    byId("open-notify").addEventListener("click", () => {
      this.#fill();
      this.#dialog.showModal();
      offerTowns();
    });
    byId("take-centre").addEventListener("click", () => this.#takePlace(handlers.centre()));
    byId("take-here").addEventListener("click", () => this.#locate());
    byId("town").addEventListener("input", async ({ target }) => {
      const town = placeNamed(await loadPlaces(), target.value);
      if (town) this.#takePlace(town);
    });
    byId("try-alert").addEventListener("click", async () => {
      await this.#permit();
      this.#alert("An alert looks like this", "and sounds like this.", "try");
    });
    this.#form.addEventListener("input", ({ target }) => target.id === "town" || this.#read());
    this.#form.elements.on.addEventListener("change", () => this.#permit());
    // Another tab has another wish now.
    addEventListener("storage", ({ key }) => {
      if (key !== wishKey) return;
      this.#wish = alerts.readWish(stored(wishKey));
      this.#fill();
      this.#watch();
    });
    this.#watch();
  }

  // Watching

  /** Follows what is asked for, once for all tabs where the browser can tell them apart. */
  #watch() {
    clearTimeout(this.#starting);
    this.#live?.close();
    this.#live = null;
    delete byId("open-notify").dataset.watching;
    if (!this.#wish.on) return this.#turn.give();
    // While the user types a number, each digit is a wish.
    this.#starting = setTimeout(() => this.#turn.take(() => this.#follow()), 400);
  }

  #follow() {
    this.#live?.close();
    if (!this.#wish.on) return;
    const wish = { ...this.#wish };
    this.#live = new Live("now", alerts.selection(wish, Date.now()), {
      reached: (_position, changes) => {
        this.#tell((told, now) => alerts.crossing(changes, wish, told, now));
        this.#heard = Date.now();
      },
      restarted: (_position, quakes) => {
        this.#tell((told, now) => alerts.since(quakes, this.#heard, wish, told, now));
        this.#heard = Date.now();
      },
      opened: () => (byId("open-notify").dataset.watching = ""),
      cut: () => delete byId("open-notify").dataset.watching,
    });
  }

  /** Tells what `choose` finds among what other tabs and earlier visits have not told. */
  #tell(choose) {
    const now = Date.now();
    const told = alerts.readTold(stored(toldKey), now);
    const found = choose(told, now);
    if (found.length === 0) return;
    for (const { code } of found) told.set(code, now);
    store(toldKey, alerts.writeTold(told));
    for (const quake of found.slice(0, most)) {
      const kind = typeLabel(quake);
      this.#alert(
        `${kind ? `${kind}, magnitude` : "Magnitude"} ${format.magnitude(quake.magnitude)}`, format.place(quake, this.#units), quake.code);
    }
    if (found.length > most) this.#alert(`${found.length - most} more earthquakes`, "All of them are in the list.", "more");
  }

  // The form

  get #units() { return this.#handlers.units(); }

  #fill() {
    for (const [name, value] of Object.entries(this.#wish)) {
      const field = this.#form.elements[name];
      if (field.type === "checkbox") field.checked = value;
      else field.value = String(name === "radius" ? Math.round(Number(value) / kilometres[this.#units]) : value);
    }
    byId("radius-units").textContent = this.#units;
    this.#arrange();
  }

  #read() {
    for (const name of Object.keys(alerts.usual)) {
      const field = this.#form.elements[name];
      if (field.type === "checkbox") this.#wish[name] = field.checked;
      else if (field.value !== "" && field.validity.valid) {
        const value = Number(field.value);
        if (name !== "radius") this.#wish[name] = value;
        // What was not changed stays exactly what it was.
        else if (value !== Math.round(this.#wish.radius / kilometres[this.#units])) this.#wish.radius = value * kilometres[this.#units];
      }
    }
    this.#arrange();
    store(wishKey, JSON.stringify(this.#wish));
    this.#watch();
  }

  #arrange() {
    byId("notify-place").hidden = !this.#wish.near;
    byId("open-notify").classList.toggle("is-on", this.#wish.on);
    byId("open-notify").textContent = this.#wish.on ? "Alerts on" : "Alerts";
  }

  #takePlace({ latitude, longitude }) {
    this.#form.elements.latitude.value = latitude.toFixed(2);
    this.#form.elements.longitude.value = longitude.toFixed(2);
    this.#read();
  }

  #locate() {
    if (!navigator.geolocation || !window.isSecureContext) {
      this.#note.textContent = "This browser gives its location only to pages with HTTPS.";
      return;
    }
    this.#note.textContent = "Looking for your place …";
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        this.#note.textContent = "";
        this.#takePlace(coords);
      },
      () => (this.#note.textContent = "The browser does not give its location."),
      { timeout: 20_000 });
  }

  // Showing

  /** Asks the browser, which only allows it after a click. */
  async #permit() {
    if (!("Notification" in window) || !window.isSecureContext) {
      this.#note.textContent = "This browser shows alerts only on pages with HTTPS; here, there is only the sound.";
      return;
    }
    const answer = Notification.permission === "default" ? await Notification.requestPermission() : Notification.permission;
    this.#note.textContent = answer === "granted" ? "" : "The browser does not allow alerts; there is only the sound.";
  }

  /** Each event has its own notification: a later one with the same `tag` would take its place. */
  #alert(title, text, tag) {
    if (this.#wish.sound) this.#beep();
    if (!("Notification" in window) || Notification.permission !== "granted") return;
    try {
      const shown = new Notification(title, { body: text, tag: `quakes ${tag}`, icon: `${root}page/icon.svg` });
      shown.onclick = () => {
        window.focus();
        if (tag !== "try" && tag !== "more") this.#handlers.chosen(tag);
      };
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

/** What the browser keeps; null where it keeps nothing. */
function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function store(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Kept for this visit only.
  }
}
