// Earthquakes that several agencies report.

import assert from "node:assert/strict";
import { test } from "node:test";
import { learn } from "../../Sources/QuakeServer/Page/Files/agencies.js";
import { Catalogue } from "../../Sources/QuakeServer/Page/Files/catalogue.js";
import { agenciesOf, shown, shownCode } from "../../Sources/QuakeServer/Page/Files/groups.js";

learn(["usgs", "gfz", "emsc"].map((name) => (
  { name, title: name, licence: null, terms: null, networks: name === "usgs" ? ["us", "ci"] : [name] })));

const group = { code: "us1", preferred: "us1", magnitude_from: "gfz:a", networks: ["emsc", "gfz", "us"], members: ["emsc:b", "gfz:a", "us1"] };
const row = (code, net, magnitude, earthquake = null) => ({ code, net, magnitude, magnitude_type: net === "gfz" ? "Mw" : "mb", place: code, earthquake });
const [us, gfz, emsc, alone] = [row("us1", "us", 5, group), row("gfz:a", "gfz", 5.3, group), row("emsc:b", "emsc", 5.1, group), row("emsc:c", "emsc", 4)];
const catalogueOf = (...quakes) => new Map(quakes.map((quake) => [quake.code, quake]));
const codes = (quakes) => [...shown(quakes, new Map()).quakes.keys()];

test("An earthquake is shown once, as the preferred event, with the magnitude that was chosen separately", () => {
  const { quakes } = shown(catalogueOf(emsc, us, gfz, alone), new Map());
  assert.deepEqual([...quakes.keys()], ["us1", "emsc:c"]);
  assert.deepEqual([quakes.get("us1").magnitude, quakes.get("us1").magnitude_type, quakes.get("us1").place], [5.3, "Mw", "us1"]);
  assert.deepEqual(agenciesOf(quakes.get("us1")), ["emsc", "gfz", "usgs"]);
  assert.deepEqual(agenciesOf(alone), ["emsc"]);
});

test("An unchanged earthquake stays the same object, so that its row is not updated", () => {
  const quakes = catalogueOf(us, gfz);
  assert.equal(shown(quakes, new Map()).quakes.get("us1"), shown(quakes, new Map()).quakes.get("us1"));
  assert.equal(shown(catalogueOf(us, { ...gfz, magnitude: 5.4 }), new Map()).quakes.get("us1").magnitude, 5.4);
});

test("An earthquake is selected by its own magnitude, and not by the magnitudes of its other events", () => {
  assert.deepEqual(codes(catalogueOf(emsc, us)), [], "the event with the magnitude is not selected");
  assert.deepEqual(codes(catalogueOf(emsc, gfz)), ["gfz:a"], "the preferred event is not selected, so another one replaces it");
  assert.equal(shownCode(emsc, catalogueOf(emsc, us, gfz)), "us1");
});

test("If the preferred event is deleted before the group is updated, another event replaces it", () => {
  const rest = { ...group, members: ["emsc:b", "gfz:a"] };
  assert.deepEqual(codes(catalogueOf({ ...emsc, earthquake: rest }, { ...gfz, earthquake: rest })), ["emsc:b"]);
});

test("A new group merges its rows, and its end separates them, even if no row has changed", () => {
  const catalogue = new Catalogue();
  const plain = [us, gfz].map((quake) => ({ ...quake, earthquake: null }));
  catalogue.replace(plain);
  const changeOf = (quake, earthquake) => ({ key: quake.code, operation: "update", row: { ...quake, earthquake: undefined, time: null, updated: null }, earthquake });
  assert.equal(shown(catalogue.quakes, catalogue.marks).quakes.size, 2);
  catalogue.apply([changeOf(us, group), changeOf(gfz, group)]);
  assert.deepEqual(codes(catalogue.quakes), ["us1"]);
  assert.equal(catalogue.marks.size, 0, "nothing is marked");
  catalogue.apply([changeOf(us), changeOf(gfz)]);
  assert.deepEqual(codes(catalogue.quakes), ["us1", "gfz:a"]);
});

test("An event that a revision brings into the selection is revised, and an event that is reported is new", () => {
  const catalogue = new Catalogue();
  const change = (operation, magnitude, before, more) => (
    { key: "us1", operation, row: { code: "us1", net: "us", magnitude, time: null, updated: null }, before, ...more });
  const { added, news } = catalogue.apply([change("update", 4.6, { magnitude: 4.5 }), change("update", 4.7, { magnitude: 4.6 })]);
  assert.deepEqual([added.length, news.map(([kind]) => kind)], [0, ["revised"]]);
  assert.deepEqual(catalogue.marks.get("us1").changes, [{ name: "magnitude", old: 4.5, new: 4.7 }]);
  catalogue.apply([change("update", 4.4, { magnitude: 4.7 }, { selected: false })]);
  assert.equal(catalogue.marks.get("us1").kind, "left");
  catalogue.apply([change("update", 4.8, { magnitude: 4.4 })]);
  assert.deepEqual(catalogue.marks.get("us1").changes, [{ name: "magnitude", old: 4.4, new: 4.8 }]);
  catalogue.apply([change("update", 4.4, { magnitude: 4.8 }, { selected: false })]);
  catalogue.become([], { now: new Map(), before: new Map() });
  assert.equal(catalogue.marks.get("us1").kind, "left", "a new list does not make it withdrawn");
  catalogue.replace([]);
  assert.deepEqual(catalogue.apply([change("insert", 4.5, null), change("update", 4.6, { magnitude: 4.5 })]).news.map(([kind]) => kind), ["new"]);
});

test("An event that has only crossed the filter between two lists is neither withdrawn nor new", () => {
  const catalogue = new Catalogue();
  const event = (code, magnitude) => ({ code, net: "us", magnitude, time: null, updated: null });
  catalogue.replace([event("us1", 4.6), event("us2", 4.7), event("us3", 4.8)]);
  const added = [event("us4", 4.9), event("us5", 5)];
  assert.deepEqual(catalogue.unlike([event("us1", 4.6), ...added]), { missing: ["us2", "us3"], added: ["us4", "us5"] });
  const now = new Map([["us2", event("us2", 4.4)]]);
  const before = new Map([["us4", event("us4", 4.3)]]);
  assert.deepEqual(catalogue.become([event("us1", 4.6), ...added], { now, before }).map(({ code }) => code), ["us5"]);
  assert.deepEqual([...catalogue.marks].map(([code, { kind }]) => `${code} ${kind}`).sort(), ["us2 left", "us3 withdrawn", "us4 revised", "us5 new"]);
  assert.deepEqual(catalogue.marks.get("us2").changes, [{ name: "magnitude", old: 4.7, new: 4.4 }]);
  assert.deepEqual(catalogue.marks.get("us4").changes, [{ name: "magnitude", old: 4.3, new: 4.9 }]);
});

test("An earthquake that another agency reported before is not new", () => {
  const mark = { kind: "new", changes: [] };
  const quakes = catalogueOf(us, gfz);
  assert.equal(shown(quakes, new Map([["us1", mark]])).marks.size, 0);
  assert.equal(shown(quakes, new Map([["us1", mark], ["gfz:a", mark]])).marks.size, 1, "both events are new");
  const revised = { kind: "revised", changes: [] };
  assert.equal(shown(quakes, new Map([["us1", revised], ["gfz:a", revised]])).marks.size, 1, "one earthquake has one mark");
  assert.equal(shown(quakes, new Map([["gfz:a", revised]])).marks.get("us1"), revised, "the event with the magnitude was revised");
  const left = { kind: "left", changes: [] };
  assert.equal(shown(quakes, new Map([["gfz:a", left]])).marks.get("us1"), left, "the earthquake's magnitude no longer matches");
});
