// The sentences that say how complete the catalogue is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { held } from "../../Sources/QuakeServer/Page/Files/words.js";
import { gaps, sentence } from "../../Sources/QuakeServer/Page/Files/coverage.js";
import { learn, publishers } from "../../Sources/QuakeServer/Page/Files/agencies.js";
import { begin, step } from "../../Sources/QuakeServer/Page/Files/machine.js";
import { read } from "../../Sources/QuakeServer/Page/Files/settings.js";

const hour = 3_600_000;
const now = Date.parse("2026-11-24T06:00:00Z");
const period = (from, until, magnitude = null, box = null) => ({ from: now + from * hour, until: now + until * hour, magnitude, box });
const agency = (name, service, network) => ({ name, title: name, licence: null, terms: null, networks: [network], service });
const sentenceFor = (held, [from, until], minmag = null, region = undefined) =>
  sentence(held, [from == null ? null : now + from * hour, until == null ? null : now + until * hour],
    { now, tail: hour / 4, minmag, zone: "utc" }, region, publishers([]));

test("There is no sentence while the periods are unknown", () => {
  assert.equal(sentenceFor(null, [-24, null]), "");
  assert.equal(sentenceFor([], [-24, null]), "");
});

test("A period is complete if several imports cover it together, or if only the next document is missing", () => {
  assert.equal(sentenceFor([period(-48, -12), period(-20, -0.2)], [-24, null]), "Complete as published.");
  assert.equal(sentenceFor([period(-48, -12)], [null, -20]), "Complete as published since 2026-11-22 06:00 UTC.");
});

test("The sentence names gaps at the beginning, in the middle, at the end, and below a magnitude", () => {
  assert.equal(sentenceFor([period(-12, 0)], [-24, null]), "May be incomplete: before 2026-11-23 18:00 UTC.");
  assert.equal(sentenceFor([period(-24, -12), period(-6, -2)], [-24, null]),
    "May be incomplete: 2026-11-23 18:00 – 2026-11-24 00:00 UTC; since 2026-11-24 04:00 UTC.");
  assert.equal(sentenceFor([period(-24, -12, 2.5), period(-12, 0)], [-24, null]), "May be incomplete below magnitude 2.5: before 2026-11-23 18:00 UTC.");
  assert.equal(sentenceFor([period(-24, -12, 2.5), period(-12, -9), period(-8, -3)], [-24, null]),
    "May be incomplete: before 2026-11-23 18:00 UTC below magnitude 2.5; 2026-11-23 21:00 – 22:00 UTC; and 1 more period.");
  assert.equal(sentenceFor([period(-24, -12, 2.5), period(-12, 0)], [-24, null], 2.5), "Complete as published.");
  assert.equal(sentenceFor([period(-24, 0, 4.5)], [-24, null]), "Complete as published from magnitude 4.5 on.");
  assert.equal(sentenceFor([period(-99, -98)], [-24, null]), "No part of this period was imported completely: earthquakes may be missing.");
  const many = [-24, -20, -16, -12, -8, -4].map((from) => period(from, from + 2));
  assert.match(sentenceFor(many, [-24, -2]), /^May be incomplete: .*; .*; and 3 more periods\.$/);
});

test("An import of a box counts only if the list is limited to that box", () => {
  const box = [period(-24, 0, null, [30, 170, 40, -170])];
  const region = (west, east) => ({ north: 39, south: 31, west, east });
  const nothing = "No part of this period was imported completely: earthquakes may be missing.";
  assert.equal(sentenceFor(box, [-24, null]), nothing);
  assert.equal(sentenceFor(box, [-24, null], null, region(175, -175)), "Complete as published.");
  assert.equal(sentenceFor(box, [-24, null], null, region(160, -175)), nothing);
  assert.equal(sentenceFor(box, [-24, null], null, { ...region(175, -175), north: 41 }), nothing);
  assert.equal(sentenceFor(box, [-24, null], null, region(null, null)), nothing);
  assert.equal(sentenceFor([period(-24, 0, null, [-90, -180, 90, 180])], [-24, null]), "Complete as published.");
});

test("If there are several agencies, the sentence names the complete and the incomplete ones", () => {
  const by = (service, ...rest) => ({ service, ...period(...rest) });
  const names = { "e.org": "EMSC", "g.org": "GFZ", "u.org": "USGS" };
  const sentenceOf = (held, listed, areOthers = false, minmag = null) => sentence(
    held, [now - 24 * hour, null], { now, tail: hour / 4, minmag, zone: "utc" }, undefined, { nameOf: (service) => names[service] ?? service, listed, areOthers });
  const usgs = by("u.org", -24, 0);
  assert.equal(sentenceOf([usgs], ["USGS"]), "Complete as published.");
  assert.equal(sentenceOf([usgs], []), "Complete as published.");
  assert.equal(sentenceOf([usgs], ["USGS"], true), "Complete as published by USGS.");
  assert.equal(sentenceOf([usgs], ["USGS", "EMSC", "GFZ"]), "Complete as published by USGS. Earthquakes of EMSC and GFZ may be missing.");
  assert.equal(sentenceOf([usgs, by("g.org", -24, 0)], ["USGS", "GFZ"]), "Complete as published by USGS and GFZ.");
  assert.equal(sentenceOf([usgs, by("g.org", -24, 0, 4)], ["USGS", "GFZ"]),
    "Complete as published by USGS. Complete as published by GFZ from magnitude 4.0 on.");
  assert.equal(sentenceOf([by("u.org", -24, -12), by("g.org", -12, 0)], ["USGS", "GFZ"]),
    "USGS may be incomplete: since 2026-11-23 18:00 UTC. GFZ may be incomplete: before 2026-11-23 18:00 UTC.", "each agency has only half of the period");
  assert.equal(sentenceOf([usgs, by("x.org", -99, -98)], ["USGS"]), "Complete as published by USGS.", "an unknown host without a complete period is not named");
  assert.equal(sentenceOf([by("u.org", -99, -98)], ["USGS", "GFZ"]), "No part of this period was imported completely: earthquakes may be missing.");
  assert.equal(sentenceOf([period(-24, 0)], ["USGS", "GFZ"]), "", "the agency of the period is unknown");
  learn([agency("usgs", "u.org", "us"), agency("gfz", "g.org", "gfz")]);
  const { nameOf, listed, areOthers } = publishers(["usgs", "bgs"]);
  assert.deepEqual([nameOf("g.org"), nameOf("x.org"), listed, areOthers], ["GFZ", "x.org", ["USGS"], true]);
});

test("Neighbouring gaps below the same magnitude are merged into one gap", () => {
  const found = gaps([period(-20, -10, 3), period(-15, -10, 4)], now - 24 * hour, now, null);
  assert.deepEqual(found.map(({ from, until, magnitude }) => [(from - now) / hour, (until - now) / hour, magnitude]),
    [[-24, -20, Infinity], [-20, -10, 3], [-10, 0, Infinity]]);
});

test("After a health check, the page requests the complete periods, at most once a minute; for a past state, it says how to cite it", () => {
  let [state, actions] = begin(read("?minmag=2.5"), now);
  const send = (is, more, at = now) => ([state, actions] = step(Object.freeze(state), { is, now: at, ...more }));
  const healthy = { answer: { status: "ok", token: 7, services: [] } };
  const requestsPeriods = () => actions.some((action) => action.do === "survey");
  send("healthy", healthy);
  assert.ok(requestsPeriods());
  send("healthy", healthy, now + 20_000);
  assert.ok(!requestsPeriods());
  send("healthy", healthy, now + 60_000);
  assert.ok(requestsPeriods());
  assert.equal(held(state, []), "");
  send("surveyed", { held: [period(-48, 1, 2.5)] }, now + 60_000);
  assert.equal(held(state, []), "Complete as published.");
  send("chosen", { changes: { minmag: 1 } }, now + 60_000);
  assert.equal(held(state, []), "Complete as published from magnitude 2.5 on.");
  send("chosen", { changes: { asof: now - hour } }, now + 60_000);
  assert.equal(held(state, []), "");
  send("loaded", { id: state.id, quakes: [], total: 0, position: "7_t_s" }, now + 60_000);
  assert.match(held(state, []), /^To cite this state of the catalogue, give this page’s address/);
});
