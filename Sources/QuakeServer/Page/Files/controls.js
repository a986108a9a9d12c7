// The fields that show the settings and change them.

import { all, byId, element } from "./dom.js";
import { loadPlaces, placeName, placeNamed } from "./earth.js";
import { now } from "./service.js";
import * as wishes from "./settings.js";

/** Suggests the names of towns while the user types one. */
export async function offerTowns() {
  const box = byId("towns");
  if (box.children.length > 0) return;
  box.append(...[...new Set((await loadPlaces()).map(placeName))].map((name) => {
    const option = element("option", "");
    option.value = name;
    return option;
  }));
}

export class Controls {
  #settings;
  #handlers;

  /** - handlers.chosen(changes, how): the user changed settings */
  constructor(handlers) {
    this.#handlers = handlers;
    on("change", (target) => target.closest("dialog") || this.#changed(target));
    on("input", (target) => {
      if (target.name === "search") handlers.chosen({ search: target.value.trim() || null }, "replace");
    });
    byId("search").addEventListener("focus", offerTowns);
    byId("toggle-filters").addEventListener("click", ({ target }) => {
      const isOpen = document.body.classList.toggle("filters-open");
      target.setAttribute("aria-expanded", String(isOpen));
    });
  }

  /** Shows the settings. A field in which the user is typing stays unchanged, unless `isNavigated`. */
  show(settings, isNavigated) {
    if (settings === this.#settings) return;
    this.#settings = settings;
    for (const name of ["period", "zone", "units", "sort", "color", "inview", "minmag", "maxmag", "search"]) fill(name, settings[name], isNavigated);
    fill("preset", settings.maxmag == null ? String(settings.minmag ?? "") : null, isNavigated);
    for (const name of ["from", "to"]) fill(name, toField(settings[name], settings.zone), isNavigated);
    byId("range").hidden = settings.period !== "range";
  }

  /** Moves the map to the town if the text is a town's name. */
  async #searched(text) {
    const town = placeNamed(await loadPlaces(), text);
    if (town) this.#handlers.chosen({ map: wishes.around(town) });
  }

  #changed(field) {
    const { name, value, checked } = field;
    const { chosen } = this.#handlers;
    switch (name) {
      case "agency": return chosen({ agency: value || null });
      case "zone": case "units": case "sort": case "color": return chosen({ [name]: value });
      case "search": return this.#searched(value);
      case "inview": return chosen({ inview: checked });
      case "preset": return chosen({ minmag: wishes.decimal(value), maxmag: null });
      case "minmag": case "maxmag": {
        const number = wishes.decimal(value.trim());
        const { badInput, rangeUnderflow, rangeOverflow } = field.validity;
        const isWrong = badInput || rangeUnderflow || rangeOverflow || (value.trim() !== "" && number == null);
        field.setCustomValidity(isWrong ? "Give a magnitude from −2 to 10, such as 4.5." : "");
        return isWrong ? field.reportValidity() : chosen({ [name]: number });
      }
      case "from": case "to": {
        // While the user types a date, the field may change at each digit.
        const moment = fromField(value, this.#settings.zone);
        return Number.isNaN(moment) ? undefined : chosen({ [name]: moment }, "replace", 800);
      }
      case "period": {
        const [from] = wishes.window(this.#settings, now());
        const isRange = value === "range";
        return chosen({
          period: value, from: isRange ? this.#settings.from ?? from : null, to: isRange ? this.#settings.to : null,
        });
      }
    }
  }
}

/** @param {(target: any) => void} body */
const on = (name, body) => document.addEventListener(name, ({ target }) => body(target));

function fill(name, value, isForced) {
  for (const field of all(`[name=${name}]`)) {
    if (field.type === "radio") field.checked = field.value === value;
    else if (field.type === "checkbox") field.checked = value;
    else if (isForced || field.tagName === "SELECT" || document.activeElement !== field) {
      field.value = value ?? "";
      field.setCustomValidity("");
    }
  }
}

function toField(moment, zone) {
  if (moment == null) return "";
  const offset = zone === "utc" ? 0 : new Date(moment).getTimezoneOffset() * 60_000;
  return new Date(moment - offset).toISOString().slice(0, 16);
}

const fromField = (text, zone) => (text ? Date.parse(zone === "utc" ? `${text}Z` : text) : null);
