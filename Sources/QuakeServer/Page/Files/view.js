// Shows a state of the machine and the catalogue: the list, the map, an event, the slider and the texts around them.

import { networksOf, present, showAgencies } from "./agencies.js";
import * as words from "./words.js";
import { isGone } from "./catalogue.js";
import { Detail } from "./detail.js";
import { all, button, byId, element, setText } from "./dom.js";
import { placeNamed } from "./earth.js";
import * as format from "./format.js";
import { agenciesOf, shown, shownCode } from "./groups.js";
import { showLegend } from "./legend.js";
import { QuakeList } from "./list.js";
import { QuakeMap } from "./map.js";
import { placeFilter } from "./quake.js";
import { colouring } from "./scale.js";
import { root } from "./service.js";
import * as wishes from "./settings.js";
import { showStatus } from "./status.js";
import { Timeline } from "./timeline.js";
import { Tooltip } from "./tooltip.js";

export class View {
  list;
  map;
  #catalogue;
  #handlers;
  #detail;
  #timeline;
  #tooltip = new Tooltip(byId("pointed"));
  #state;
  /** Results that are computed from the catalogue, by name. They are kept until the catalogue changes. */
  #derived = new Map();
  /** Whether an event was just chosen. It then takes the focus. */
  #isChosen = false;
  /** The event to bring into view as soon as it is loaded, and whether the map moves to it: { code, isOnMap }. */
  #awaited = null;
  /** An event that is shown although the filters do not select it, and the past moment of its state: { quake, asof }. */
  #found = null;
  /** The event from which the user returned to the list. */
  #left = null;
  #moving = null;

  /**
   * - handlers.chosen(changes, how, delay): the user changed settings
   * - handlers.moved(view): the map has come to rest at [latitude, longitude, zoom]
   * - handlers.played(moment, begin, end), handlers.paused()
   * - handlers.redrawn(): the map shows another region or another event, so that the list may change
   */
  constructor(catalogue, handlers) {
    this.#catalogue = catalogue;
    this.#handlers = handlers;
    const choose = (event) => handlers.chosen({ event });
    this.list = new QuakeList(byId("list"), { chosen: choose });
    this.map = new QuakeMap(byId("map"), {
      chosen: choose,
      moved: () => this.#mapMoved(),
      pointed: (quake, at) => this.#tooltip.show(quake, at, this.#state.settings, this.#moment),
      visited: (quake, at) => {
        this.#tooltip.show(quake, at, this.#state.settings, this.#moment);
        this.#tooltip.speak(quake, this.#state.settings.units);
      },
    });
    this.#detail = new Detail(byId("detail"), {
      closed: () => handlers.chosen({ event: null }), asOf: (asof) => handlers.chosen({ asof }), chosen: choose,
      found: (quake) => {
        this.#found = quake && { quake, asof: this.#state.settings.asof };
        // Only once: the event may be read again after the user has moved the map.
        if (quake && this.#awaited?.isOnMap) this.map.reveal(quake);
        if (this.#awaited) this.#awaited.isOnMap = false;
        this.showWords(this.#state);
        handlers.redrawn();
      },
    });
    this.#timeline = new Timeline({
      moved: (asof, isLast) => handlers.chosen({ asof }, isLast ? "push" : "nothing", 150), played: handlers.played, paused: handlers.paused,
    });
    for (const button of all("[data-move]")) {
      button.addEventListener("click", () => this.map.step(button.dataset.move));
    }
    if (matchMedia("(max-width: 52rem), (max-height: 42rem)").matches) byId("legend").open = false;
  }

  get #moment() { return this.#state.settings.asof ?? this.#state.now; }

  /** Call this when the catalogue or the known agencies have changed. */
  changed() {
    this.#derived.clear();
    if (this.#awaited) this.reveal(this.#awaited.code, this.#awaited.isOnMap, false);
  }

  /** Brings a chosen event into view, as soon as it is loaded. */
  reveal(code, isOnMap = true, isChosen = true) {
    const quake = this.#catalogue.quakes.get(code);
    this.#awaited = quake ? null : { code, isOnMap };
    if (isChosen) this.#isChosen = true;
    if (!quake) return;
    if (isOnMap) this.map.reveal(quake);
    this.list.reveal(this.#shownCode(code));
  }

  /** The events to show, one for each earthquake, and their marks. */
  get #shown() {
    return this.#derive("shown", () => shown(this.#catalogue.quakes, this.#catalogue.marks));
  }

  /** The code of the event whose row and dot also represent this event. */
  #shownCode(code) {
    const quake = this.#catalogue.quakes.get(code);
    return quake ? shownCode(quake, this.#catalogue.quakes) : code;
  }

  /** See `Detail.check`. */
  check(token) {
    this.#detail.check(token);
  }

  /** Call this when the user returns from this event to the list. */
  return(code) {
    this.#awaited = null;
    this.#left = code;
  }

  /** Shows the status and the title. This is all that background tabs show, so it must be cheap. */
  showWords(state) {
    this.#state = state;
    showStatus(state);
    document.title = this.#title();
  }

  /** `isNavigated`: whether the user has gone back or forward. */
  show(isNavigated) {
    const state = this.#state;
    const { settings } = state;
    const { marks, quakes } = this.#shown;
    const held = this.#catalogue.quakes;
    const moment = this.#moment;
    // Small events are drawn over large ones. If the colour is the age, new events are drawn over old ones.
    const listed = this.#searched(settings.color === "age" ? "oldest" : "largest");
    const quake = quakes.get(settings.event) ?? held.get(settings.event) ?? null;
    const selected = this.#shownCode(settings.event);
    const isMissing = words.isPastMissing(state);
    const event = isMissing ? null : settings.event;
    const other = quake == null && !isMissing && this.#other ? [this.#other] : [];
    const agencies = this.#derive("agencies", () => present(held.values()));
    const colours = colouring(settings.color, agencies, settings.units);
    this.map.show(other.length > 0 ? [...listed, ...other] : listed, marks, colours, moment, selected, settings.units);
    this.#showList(moment, colours, agencies, selected);
    showLegend(colours);
    showAgencies(agencies, settings.color, settings.agency);
    this.#timeline.show(
      Math.max(state.now - wishes.reach(settings, state.now), state.historyBegin ?? 0), state.now, settings.asof, settings.zone,
      state.play != null, isNavigated);
    byId("listing").hidden = event != null;
    if (event == null) this.#detail.close();
    else {
      this.#detail.show(event, quake, this.#catalogue.marks.get(event), settings, moment, state.historyBegin, this.#isChosen);
    }
    this.#isChosen = false;
    if (this.#left != null && settings.event == null) {
      this.list.reveal(this.#shownCode(this.#left));
      this.list.focus();
    }
    this.#left = null;
  }

  /** The shown event if it was found although the filters do not select it; null otherwise. */
  get #other() {
    const { event, asof } = this.#state.settings;
    return this.#found?.quake.code === event && this.#found.asof === asof ? this.#found.quake : null;
  }

  #title() {
    const { settings } = this.#state;
    const quake = this.#shown.quakes.get(settings.event) ?? this.#catalogue.quakes.get(settings.event) ?? this.#other;
    if (quake && !words.isPastMissing(this.#state)) return `M ${format.magnitude(quake.magnitude)}, ${format.place(quake, settings.units)} – Quakes`;
    const added = [...this.#shown.marks.values()].filter(({ kind }) => kind === "new").length;
    return added > 0 && settings.asof == null ? `(${added}) Quakes` : "Quakes";
  }

  #derive(name, make) {
    if (!this.#derived.has(name)) this.#derived.set(name, make());
    return this.#derived.get(name);
  }

  /** The events in an order. They are sorted again only when the catalogue changes. */
  #sorted(order) {
    return this.#derive(order, () => [...this.#shown.quakes.values()].sort(wishes.orders[order]));
  }

  /** The events that match the search and that the chosen agency reports. */
  #searched(order) {
    const { search, agency } = this.#state.settings;
    if (!search && !agency) return this.#sorted(order);
    return this.#derive(`${order} ${agency} ${search}`, () => {
      const ofAgency = agency ? this.#sorted(order).filter((quake) => agenciesOf(quake).includes(agency)) : this.#sorted(order);
      return search ? ofAgency.filter(placeFilter(search)) : ofAgency;
    });
  }

  #showList(moment, colouring, agencies, selected) {
    const state = this.#state;
    const { settings } = state;
    const { marks } = this.#shown;
    const found = this.#searched(settings.sort);
    const visible = settings.inview ? found.filter((quake) => this.map.shows(quake)) : found;
    this.list.show(visible, { marks, zone: settings.zone, units: settings.units, now: moment, colouring, areMany: agencies.length > 1, selected });
    const isLoading = words.isLoading(state);
    const present = visible.filter(({ code }) => !isGone(marks.get(code)));
    setText(byId("count"), isLoading && visible.length === 0 ? "Earthquakes" : words.count(state, present));
    setText(byId("which"), words.which(state));
    this.#showOffers("all", settings.minmag != null || settings.maxmag != null ? [["Show all", { minmag: null, maxmag: null }]] : []);
    byId("listing").classList.toggle("is-old", isLoading);
    const held = words.held(state, agencies, settings.inview ? this.map.bounds : undefined);
    setText(byId("coverage"), held);
    byId("coverage").hidden = held === "";
    byId("list").hidden = visible.length === 0;
    const town = settings.search ? this.#derive(`town ${this.map.places.length} ${settings.search}`, () => placeNamed(this.map.places, settings.search)) : null;
    const emptiness = visible.length === 0 ? words.emptiness(state, this.#catalogue.quakes.size, town) : null;
    this.#showOffers("empty", emptiness?.offers ?? [], emptiness?.text);
    this.#showOffers("near", visible.length > 0 && town ? [words.near(town)] : []);
    this.#showNews(marks);
    this.#showDownloads(moment);
  }

  /** Shows a text, if there is one, and a button for each offer: [label, changes of the settings]. */
  #showOffers(id, offers, text = "") {
    const box = byId(id);
    const shown = JSON.stringify([text, offers]);
    if (box.dataset.shown === shown) return;
    box.dataset.shown = shown;
    box.hidden = !text && offers.length === 0;
    box.replaceChildren(
      ...(text ? [element("p", "", text)] : []),
      ...offers.map(([label, changes]) => button(label, () => this.#handlers.chosen(changes))));
  }

  #showNews(marks) {
    const { settings, since, now } = this.#state;
    const counts = { new: 0, revised: 0, withdrawn: 0, left: 0 };
    for (const { kind } of marks.values()) counts[kind] += 1;
    const parts = [
      [counts.new, "new"], [counts.revised + counts.left, "revised"], [counts.withdrawn, "withdrawn"],
    ].filter(([number]) => number > 0).map(([number, word]) => `${number.toLocaleString("en")} ${word}`);
    byId("news").hidden = parts.length === 0;
    const start = settings.asof == null ? ` since ${format.clock(since, now, settings.zone)}` : "";
    setText(byId("news-text"), parts.join(", ") + start);
  }

  /**
   * Updates the download links. They return the listed events, but ignore the search, and the choice of `other networks`, because
   * the server does not support these.
   */
  #showDownloads(moment) {
    const { settings, omitted } = this.#state;
    const query = wishes.selection(settings, moment);
    const { north, south, west, east } = this.map.bounds;
    if (settings.inview) {
      query.set("minlatitude", south);
      query.set("maxlatitude", north);
      if (west != null) {
        query.set("minlongitude", west);
        query.set("maxlongitude", east);
      }
    }
    if (settings.asof != null) query.set("asof", new Date(settings.asof).toISOString());
    if ([...this.#catalogue.quakes.values()].some(({ earthquake }) => earthquake)) query.set("merge", "true");
    const networks = settings.agency ? networksOf(settings.agency) : [];
    if (networks.length > 0) query.set("catalog", networks.join(","));
    const order = { newest: null, oldest: "time-asc", largest: "magnitude", smallest: "magnitude-asc" }[settings.sort];
    if (omitted > 0) query.set("limit", String(this.#sorted(settings.sort).length));
    else if (order) query.set("orderby", order);
    for (const link of all("[data-format]")) {
      query.set("format", link.dataset.format);
      const address = `${root}fdsnws/event/1/query?${query}`;
      if (link.getAttribute("href") !== address) link.href = address;
    }
    const ignored = [settings.search && "the search", settings.agency && networks.length === 0 && "the choice of networks"].filter(Boolean);
    setText(byId("download"), ignored.length > 0 ? `Download, without ${ignored.join(" and ")}:` : "Download:");
  }

  #mapMoved() {
    if (this.#state?.settings.inview) this.#handlers.redrawn();
    this.#tooltip.hide();
    clearTimeout(this.#moving);
    this.#moving = setTimeout(() => this.#handlers.moved(this.map.view), 250);
  }
}
