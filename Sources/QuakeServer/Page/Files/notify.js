// Alerts about new earthquakes, if the user turns alerts on. Alerts do not depend on the page's filters. Their settings, called
// the wish, are stored in the browser and are not in the URL, so a link never turns alerts on.

import * as alerts from "./alerts.js";
import { offerTowns } from "./controls.js";
import { byId } from "./dom.js";
import { loadPlaces, placeNamed } from "./earth.js";
import * as format from "./format.js";
import { Live } from "./live.js";
import { typeLabel } from "./quake.js";
import { now, root } from "./service.js";

const wishKey = "quakes.alerts";
const toldKey = "quakes.told";
/** The maximum number of events with separate notifications at once. One more notification gives the number of the others. */
const most = 3;

export class Alerts {
  #dialog = byId("notify");
  #form = this.#dialog.querySelector("form");
  #note = byId("notify-note");
  #town = /** @type {HTMLInputElement} */ (byId("town"));
  #handlers;
  #wish = alerts.readWish(stored(wishKey));
  #heard = now();
  #watching = new AbortController();
  #live = null;
  #sound = null;

  /**
   * - handlers.centre(): the map's centre; handlers.units(): the units of length
   * - handlers.chosen(code): an alert was clicked
   */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#fill();
    byId("open-notify").addEventListener("click", () => {
      this.#fill();
      // The user may have withdrawn the permission in the browser's settings.
      this.#note.textContent = this.#wish.on && !canShow() ? refused : "";
      this.#dialog.showModal();
      offerTowns();
    });
    byId("take-centre").addEventListener("click", () => this.#takePoint(handlers.centre()));
    byId("take-here").addEventListener("click", () => this.#locate());
    this.#town.addEventListener("input", () => this.#findTown());
    this.#town.addEventListener("change", () => (this.#note.textContent = this.#town.validationMessage));
    this.#form.elements.near.addEventListener("change", () => {
      // 0°, 0° means that no place was chosen yet.
      if (this.#wish.near && this.#wish.latitude === 0 && this.#wish.longitude === 0) this.#takePoint(handlers.centre());
    });
    byId("try-alert").addEventListener("click", async () => {
      await this.#permit();
      this.#alert("An alert looks like this", "and sounds like this.", "try");
    });
    this.#form.addEventListener("input", ({ target }) => {
      if (target === this.#town) return;
      if (target.name === "latitude" || target.name === "longitude") this.#clearTown();
      this.#read();
    });
    this.#form.elements.on.addEventListener("change", () => this.#permit());
    // Another tab has changed the wish.
    addEventListener("storage", ({ key }) => {
      if (key !== wishKey) return;
      this.#wish = alerts.readWish(stored(wishKey));
      this.#fill();
      this.#watch();
    });
    this.#watch();
  }

  // Watching

  /** Follows the events that the wish selects, until the wish changes. */
  #watch() {
    this.#watching.abort();
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    delete byId("open-notify").dataset.watching;
    if (!this.#wish.on) return;
    // Waits a moment, because the wish changes with each digit that the user types.
    setTimeout(() => {
      const follow = () => signal.aborted || this.#follow(signal);
      // Only the tab with the lock follows the events. Without HTTPS there are no locks, and a browser that stores no data for
      // this site refuses them. Then each tab follows.
      if (!navigator.locks) follow();
      else navigator.locks.request("quakes.alerts", { signal }, follow).catch(({ name }) => name === "AbortError" || follow());
    }, 400);
  }

  /** @param {AbortSignal} signal */
  #follow(signal) {
    const wish = { ...this.#wish };
    const live = (this.#live = new Live("now", alerts.selection(wish, now()), {
      reached: (_position, changes) => {
        this.#tell((told, now) => alerts.crossing(changes, wish, told, now));
        this.#heard = now();
      },
      restarted: (_position, quakes) => {
        this.#tell((told, now) => alerts.since(quakes, this.#heard, wish, told, now));
        this.#heard = now();
      },
      opened: () => (byId("open-notify").dataset.watching = ""),
      cut: () => delete byId("open-notify").dataset.watching,
    }));
    return new Promise((done) => signal.addEventListener("abort", () => done(live.close())));
  }

  /** Shows alerts for the events that `choose` returns. `choose` gets the codes of the events that had alerts, in any tab. */
  #tell(choose) {
    const moment = now();
    const told = alerts.readTold(stored(toldKey), moment);
    const before = told.size;
    const found = choose(told, moment);
    if (found.length === 0 && told.size === before) return;
    for (const { code } of found) told.set(code, moment);
    store(toldKey, alerts.writeTold(told));
    for (const quake of found.slice(0, most)) {
      const kind = typeLabel(quake);
      this.#alert(
        `${kind ? `${kind}, magnitude` : "Magnitude"} ${format.magnitude(quake.magnitude)}`, format.place(quake, this.#units), quake.code);
    }
    if (found.length > most) this.#alert(`${found.length - most} more earthquakes`, "They match your alerts, too.", "more");
  }

  /** See `Live.check`. */
  check(token) {
    this.#live?.check(token);
  }

  // The form

  get #units() { return this.#handlers.units(); }

  #fill() {
    for (const [name, value] of Object.entries(this.#wish)) {
      const field = this.#form.elements[name];
      if (field.type === "checkbox") field.checked = value;
      else field.value = String(name === "radius" ? Math.round(Number(value) / format.kilometres[this.#units]) : value);
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
        // A radius that the user has not changed keeps its exact value.
        else if (value !== Math.round(this.#wish.radius / format.kilometres[this.#units])) this.#wish.radius = value * format.kilometres[this.#units];
      }
    }
    this.#arrange();
    store(wishKey, JSON.stringify(this.#wish));
    this.#watch();
  }

  #arrange() {
    byId("notify-place").hidden = !this.#wish.near;
    // Clears errors, too, because the user could not correct an error in a hidden field.
    if (!this.#wish.near) this.#clearTown();
    byId("open-notify").classList.toggle("is-on", this.#wish.on);
    const how = canShow() ? "on" : this.#wish.sound ? "on, sound only" : "blocked by the browser";
    byId("open-notify").textContent = this.#wish.on ? `Alerts ${how}` : "Alerts";
  }

  #takePlace({ latitude, longitude }) {
    this.#form.elements.latitude.value = latitude.toFixed(2);
    this.#form.elements.longitude.value = longitude.toFixed(2);
    this.#read();
  }

  /** Sets the place to a point without a name. */
  #takePoint(point) {
    this.#clearTown();
    this.#takePlace(point);
  }

  #clearTown() {
    this.#town.value = "";
    this.#town.setCustomValidity("");
  }

  /** Sets the place to the town with the entered name. Without such a town, the form is invalid. */
  async #findTown() {
    const text = this.#town.value.trim();
    const all = await loadPlaces().catch(() => null);
    // The user has changed the text in the meantime.
    if (this.#town.value.trim() !== text) return;
    const town = all && placeNamed(all, text);
    this.#town.setCustomValidity(text === "" || town ? "" : unknownTown(text, all));
    if (town) {
      this.#note.textContent = "";
      this.#takePlace(town);
    }
  }

  #locate() {
    if (!navigator.geolocation || !window.isSecureContext) {
      this.#note.textContent = "This browser gives its location only to pages with HTTPS.";
      return;
    }
    this.#note.textContent = "Looking for your location …";
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        this.#note.textContent = "";
        this.#takePoint(coords);
      },
      () => (this.#note.textContent = "The browser did not give its location."),
      { timeout: 20_000 });
  }

  // Showing

  /** Asks for permission to show alerts. Browsers allow this only after a click. */
  async #permit() {
    if (!("Notification" in window) || !window.isSecureContext) {
      this.#note.textContent = "This browser shows alerts only on pages with HTTPS. Here, it can only play the sound.";
      return;
    }
    const answer = Notification.permission === "default" ? await Notification.requestPermission() : Notification.permission;
    this.#note.textContent = answer === "granted" ? "" : refused;
    this.#arrange();
  }

  /** Shows an alert. It replaces an earlier alert with the same `tag`, so each event has a different tag. */
  #alert(title, text, tag) {
    if (this.#wish.sound) this.#beep();
    if (!canShow()) return;
    try {
      const shown = new Notification(title, { body: text, tag: `quakes ${tag}`, icon: `${root}page/icon.svg` });
      shown.onclick = () => {
        window.focus();
        if (tag !== "try" && tag !== "more") this.#handlers.chosen(tag);
      };
    } catch {
      // Some phones only show notifications of service workers.
    }
  }

  /** Plays two soft tones. */
  #beep() {
    this.#sound ??= new AudioContext();
    const sound = this.#sound;
    // Browsers suspend a context that was created before the user's first click or key.
    sound.resume();
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

/** Whether the browser shows notifications of this page. */
const canShow = () => "Notification" in window && window.isSecureContext && Notification.permission === "granted";

const refused = "The browser does not show alerts from this page, but plays the sound. You can allow alerts in the browser’s settings for this page.";

const unknownTown = (text, all) =>
  all ? `No town is known as “${text}”. Choose a town from the list, or give a latitude and a longitude.` : "Couldn’t load the towns. Give a latitude and a longitude.";

/** The text that the browser has stored under a key; null if it has none, or does not allow storage. */
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
    // The browser does not allow storage, so the value is lost after this visit.
  }
}
