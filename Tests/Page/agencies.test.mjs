// The agencies of events, and their colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { agencyOf, label, learn, present, termsAddress } from "../../Sources/QuakeServer/Page/Files/agencies.js";
import { colouring } from "../../Sources/QuakeServer/Page/Files/scale.js";
import { read, written } from "../../Sources/QuakeServer/Page/Files/settings.js";

const of = (...nets) => nets.map((net) => ({ net, code: `${net}:1` }));
const agency = (name, ...networks) => ({ name, title: `The ${name}`, licence: null, terms: null, networks });

test("An agency is found by its network, or else by its codes", () => {
  assert.equal(agencyOf({ net: "nc", code: "nc:1" }), "nc");
  learn([agency("usgs", "usgs", "us", "nc"), agency("gfz", "gfz"), agency("ncedc", "nc")]);
  assert.equal(agencyOf({ net: "nc", code: "nc1" }), "usgs", "the first that has a network is the one");
  assert.equal(agencyOf({ net: "q0", code: "q01" }), "other networks", "as those of the synthetic feed");
  assert.deepEqual(present(of("q0", "gfz", "a1", "us", "nc")), ["usgs", "gfz", "a1", "q0"]);
});

test("Each agency has a colour, up to six; the others share one", () => {
  const agencies = ["usgs", "gfz", "a", "b", "c", "d", "e"];
  const { labels, number, key } = colouring("agency", agencies);
  assert.deepEqual(labels, ["USGS", "GFZ", "A", "B", "C", "D"]);
  assert.deepEqual(of("nc", "gfz", "d", "e").map((quake) => number(quake, 0)), [0, 1, 5, -1]);
  assert.notEqual(key, colouring("agency", ["gfz"]).key, "other agencies are other colours");
  assert.equal(colouring("depth", agencies).key, colouring("depth", ["gfz"]).key);
});

test("Depth and age have the colours that they had", () => {
  assert.deepEqual([{ depth: 5 }, { depth: 35 }, { depth: 700 }, { depth: null }].map((quake) => colouring("depth", []).number(quake, 0)), [0, 2, 5, -1]);
  assert.deepEqual([0, 7_200_000, 1e10].map((time) => colouring("age", []).number({ time: 1e10 - time }, 1e10)), [0, 1, 4]);
});

test("An agency is written as the server says, or else in capitals", () => {
  learn([{ ...agency("geonet", "geonet"), label: "GeoNet" }]);
  assert.deepEqual(["geonet", "gfz", "other networks"].map(label), ["GeoNet", "GFZ", "other networks"]);
});

test("Terms are found, also under a DOI", () => {
  assert.equal(termsAddress({ terms: "doi:10.14470/TR560404" }), "https://doi.org/10.14470/TR560404");
  assert.equal(termsAddress({ terms: "https://example.org/terms" }), "https://example.org/terms");
  assert.equal(termsAddress({ terms: null }), null);
});

test("The colour and the agency are kept in the URL", () => {
  assert.equal(written(read("?color=agency&agency=gfz")), "?agency=gfz&color=agency");
  assert.equal(read("?agency=%3Cb%3E").agency, null);
});
