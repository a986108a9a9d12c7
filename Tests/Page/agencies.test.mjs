// The agencies of events, and their colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { agencyOf, label, learn, present, termsAddress } from "../../Sources/QuakeServer/Page/Files/agencies.js";
import { colouring } from "../../Sources/QuakeServer/Page/Files/scale.js";
import { read, written } from "../../Sources/QuakeServer/Page/Files/settings.js";

const eventsOf = (...nets) => nets.map((net) => ({ net, code: `${net}:1` }));
const agency = (name, ...networks) => ({ name, title: `The ${name}`, licence: null, terms: null, networks });

test("An event's agency is found by the network, or else by the prefix of the code", () => {
  assert.equal(agencyOf({ net: "nc", code: "nc:1" }), "nc");
  learn([agency("usgs", "usgs", "us", "nc"), agency("gfz", "gfz"), agency("ncedc", "nc")]);
  assert.equal(agencyOf({ net: "nc", code: "nc1" }), "usgs", "the first agency in the list that has the network counts");
  assert.equal(agencyOf({ net: "q0", code: "q01" }), "other networks", "the synthetic feed's network is not in the list");
  assert.deepEqual(present(eventsOf("q0", "gfz", "a1", "us", "nc")), ["usgs", "gfz", "a1", "q0"]);
});

test("The first six agencies have a colour each; the others share one", () => {
  const agencies = ["usgs", "gfz", "a", "b", "c", "d", "e"];
  const { labels, number, key } = colouring("agency", agencies);
  assert.deepEqual(labels, ["USGS", "GFZ", "A", "B", "C", "D"]);
  assert.deepEqual(eventsOf("nc", "gfz", "d", "e").map((quake) => number(quake, 0)), [0, 1, 5, -1]);
  assert.notEqual(key, colouring("agency", ["gfz"]).key, "other agencies need other colours");
  assert.equal(colouring("depth", agencies).key, colouring("depth", ["gfz"]).key);
});

test("The colours by depth and by age have fixed limits", () => {
  assert.deepEqual([{ depth: 5 }, { depth: 35 }, { depth: 700 }, { depth: null }].map((quake) => colouring("depth", []).number(quake, 0)), [0, 2, 5, -1]);
  assert.deepEqual([0, 7_200_000, 1e10].map((time) => colouring("age", []).number({ time: 1e10 - time }, 1e10)), [0, 1, 4]);
});

test("An agency's label is the one from the server, or else the name in capitals", () => {
  learn([{ ...agency("geonet", "geonet"), label: "GeoNet" }]);
  assert.deepEqual(["geonet", "gfz", "other networks"].map(label), ["GeoNet", "GFZ", "other networks"]);
});

test("The terms of an agency's data have a link if they have a URL or a DOI", () => {
  assert.equal(termsAddress({ terms: "doi:10.14470/TR560404" }), "https://doi.org/10.14470/TR560404");
  assert.equal(termsAddress({ terms: "https://example.org/terms" }), "https://example.org/terms");
  assert.equal(termsAddress({ terms: null }), null);
});

test("The URL has the kind of colours and the agency", () => {
  assert.equal(written(read("?color=agency&agency=gfz")), "?agency=gfz&color=agency");
  assert.equal(read("?agency=%3Cb%3E").agency, null);
});
