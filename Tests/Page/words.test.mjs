// Numbers, times and texts for people, and the settings in a URL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Catalogue } from "../../Sources/QuakeServer/Page/Files/catalogue.js";
import { placeNamed } from "../../Sources/QuakeServer/Page/Files/earth.js";
import { count, near, which } from "../../Sources/QuakeServer/Page/Files/words.js";
import * as format from "../../Sources/QuakeServer/Page/Files/format.js";
import * as projection from "../../Sources/QuakeServer/Page/Files/projection.js";
import { colouring } from "../../Sources/QuakeServer/Page/Files/scale.js";
import { fromFeature, pages, placeFilter, typeLabel } from "../../Sources/QuakeServer/Page/Files/quake.js";
import { decimal, read, written } from "../../Sources/QuakeServer/Page/Files/settings.js";

const now = Date.parse("2026-11-24T06:38:00Z");

test("Depths have a label, also those above sea level", () => {
  assert.equal(format.depth(12, "km"), "12 km deep");
  assert.equal(format.depth(-1.14, "km"), "1.1 km above sea level");
  assert.equal(format.depth(null, "km"), "depth unknown");
  assert.deepEqual([28.94, 9.94, -1.14].map((depth) => format.depth(depth, "km", true)), ["29 km deep", "9.9 km deep", "1.1 km above sea level"]);
});

test("Magnitudes have one decimal and a true minus sign, and zero has no sign", () => {
  assert.deepEqual([4.25, 5, -1.26, -0.04, 0, null].map(format.magnitude), ["4.3", "5.0", "−1.3", "0.0", "0.0", "?"]);
  assert.deepEqual([-0.004, -0.31].map((value) => format.fixed(value, 2)), ["0.00", "−0.31"]);
});

test("Half a unit is rounded away from zero, as agencies do, although binary numbers are often a little smaller", () => {
  assert.deepEqual([2.55, 0.95, -0.25, 5.35, 1.005].map(format.magnitude), ["2.6", "1.0", "−0.3", "5.4", "1.0"]);
  assert.equal(format.depth(9.95, "km"), "10 km deep");
});

test("A change is never shown with equal values", () => {
  const told = (name, old, now, zone = "utc") => format.change({ name, old, new: now }, zone);
  assert.equal(told("magnitude", 4.1, 4.3), "Magnitude 4.1 → 4.3");
  assert.equal(told("magnitude", 4.11, 4.12), "Magnitude 4.11 → 4.12");
  assert.equal(told("longitude", -22.00001, -22.00002), "Longitude −22.00001 → −22.00002");
  const noon = Date.parse("2026-11-28T12:00:00Z");
  assert.equal(told("time", noon, noon + 1000), "Time 2026-11-28 12:00:00 UTC → 2026-11-28 12:00:01 UTC");
  assert.equal(told("time", -500, -200), "Time 1969-12-31 23:59:59.500 UTC → 1969-12-31 23:59:59.800 UTC");
  assert.equal(told("time", noon, noon + 50), "Time 2026-11-28 12:00:00.000 UTC → 2026-11-28 12:00:00.050 UTC");
});

test("Distances are in miles if the locale's country uses miles", () => {
  assert.deepEqual(["en-US", "en-GB", "my-MM", "en-LR", "en-NZ", "de", "en", "?", undefined].map(format.unitsOf),
    ["mi", "mi", "mi", "mi", "km", "km", "km", "km", "km"]);
  assert.equal(format.depth(28.94, "mi", true), "18 mi deep");
  const place = (text, units = "mi") => format.place({ place: text, code: "us1" }, units);
  assert.equal(place("136 km ESE of Petropavlovsk-Kamchatsky, Russia"), "85 mi ESE of Petropavlovsk-Kamchatsky, Russia");
  assert.equal(place("6km NW of The Geysers, CA"), "4 mi NW of The Geysers, CA");
  assert.equal(place("136 km ESE of Petropavlovsk", "km"), "136 km ESE of Petropavlovsk");
  assert.deepEqual([place("southern Mid-Atlantic Ridge"), place(null)], ["southern Mid-Atlantic Ridge", "us1"]);
  assert.deepEqual(colouring("depth", [], "mi").labels.slice(0, 2), ["0–6 mi", "6–22"]);
  assert.equal(read("?units=mi").units, "mi");
});

test("Intensities have the numerals and the words of the scale", () => {
  assert.equal(format.intensity(9), "IX, violent");
  assert.equal(format.intensity(3.4), "III, weak");
  assert.equal(format.intensity(0.2), "I, not felt");
  assert.equal(format.change({ name: "cdi", old: 4, new: 9 }, "utc"), "Felt intensity IV, light → IX, violent");
});

test("A time on another day is shown with its date, and a time in another year also with its year", () => {
  assert.equal(format.clock(now - 60_000, now, "utc"), "06:37 UTC");
  assert.equal(format.clock(now - 86_400_000, now, "utc"), "23 Nov 06:38 UTC");
  assert.equal(format.clock(now - 400 * 86_400_000, now, "utc"), "2025-10-20 06:38 UTC");
});

test("Reasons from the history are shown in plain words", () => {
  assert.equal(format.reason("retracted by all_day"), "No longer in the agency’s feed all_day");
  assert.equal(format.reason("superseded by us1"), "Now listed as us1");
  assert.equal(format.reason("deleted by earthquake.usgs.gov"), "Deleted by earthquake.usgs.gov");
  assert.equal(format.reason("a person's own words"), "a person's own words");
});

test("Explosions and quarry blasts are not counted as earthquakes", () => {
  const state = { omitted: 0, settings: { inview: false } };
  const quakes = [{ type: "earthquake" }, { type: null }, {}, { type: "quarry blast" }, { type: "explosion" }];
  assert.equal(count(state, quakes), "3 earthquakes, 2 others");
  assert.equal(count(state, quakes.slice(0, 1)), "1 earthquake");
  assert.equal(count({ ...state, omitted: 7 }, quakes.slice(0, 4)), "3 earthquakes, 1 other, the newest of 11");
  assert.equal(typeLabel({ type: "quarry blast" }), "Quarry blast");
});

test("Only those pages of the USGS that exist for an event are linked", () => {
  const url = "https://earthquake.usgs.gov/earthquakes/eventpage/us1";
  assert.deepEqual(pages({ url, types: ["origin", "dyfi"] }).map(([, address]) => address), [`${url}/dyfi/intensity`]);
  assert.deepEqual(pages({ url: "https://example.org/us1", types: ["dyfi"] }), []);
  assert.deepEqual(pages({ url, types: undefined }), []);
});

test("A search finds places with and without accents", () => {
  const finds = (search, place) => placeFilter(search)({ place, code: "us7000abcd" });
  assert.ok(finds("hofn ICELAND", "105 km WNW of Höfn, Iceland"));
  assert.ok(finds("7000ab", null));
  assert.ok(!finds("chile", "Höfn, Iceland"));
});

test("A search for a state's name or abbreviation finds places with either of them", () => {
  const finds = (search, place) => placeFilter(search)({ place, code: "us7000abcd" });
  for (const place of ["6km NW of The Geysers, CA", "Northern California"]) {
    for (const search of ["california", "CA", "ca", "calif"]) assert.ok(finds(search, place), `${search}: ${place}`);
  }
  assert.ok(finds("new mexico", "21 km S of Whites City, NM"));
  assert.ok(finds("geysers, ca", "6km NW of The Geysers, CA"));
  assert.ok(!finds("CA", "near Chicago, Illinois"), "an abbreviation matches only whole words");
  assert.ok(!finds("nevada", "6km NW of The Geysers, CA"));
  assert.ok(!finds("delaware", "off the coast of Chile"));
});

test("A search for a town's name finds the first such town in the list, and offers the events near it", () => {
  const town = (name, country, latitude = 0) => ({ zoom: 1, latitude, longitude: 0, name, country });
  const all = [town("Lima", "Peru", -12.05), town("São Paulo", "Brazil"), town("Lima", "United States of America")];
  assert.equal(placeNamed(all, " lima ")?.country, "Peru");
  assert.equal(placeNamed(all, "Lima, united states of america")?.country, "United States of America");
  assert.equal(placeNamed(all, "Sao Paulo")?.country, "Brazil");
  assert.equal(placeNamed(all, "lim"), null);
  assert.deepEqual(near(all[0]), ["Near Lima, Peru", { search: null, inview: true, map: [-12.05, 0, 7] }]);
});

test("Settings that are written into a URL and read again are the same, and invalid values are ignored", () => {
  for (const query of ["", "?minmag=all", "?minmag=all&maxmag=2", "?maxmag=4", "?period=week&minmag=2.5&search=Höfn+Iceland&sort=largest", "?period=range&from=2026-11-01T00:00:00.000Z&zone=local&map=1,2,3"]) {
    assert.deepEqual(read(written(read(query))), read(query));
  }
  assert.equal(written(read("?period=x&minmag=nine&map=1,2&asof=never&from=1&search=&sort=%00")), "");
  assert.equal(read("").minmag, 2.5, "as on the USGS's map");
  assert.equal(read("?maxmag=2").minmag, null, "the link is about small earthquakes");
  assert.equal(written({ ...read(""), minmag: null }), "?minmag=all");
});

test("A time in a link is in UTC unless it has an offset, as in the event service", () => {
  const noon = Date.parse("2026-11-28T12:00:00Z");
  for (const text of ["2026-11-28T12:00", "2026-11-28T12:00:00.000", "2026-11-28T12:00:00Z", "2026-11-28 12:00", "2026-11-28 12:00:00", "2026-11-28T13:00:00%2B01:00", "2026-11-28T13:00:00+01:00"]) {
    assert.equal(read(`?asof=${text}`).asof, noon, text);
  }
  assert.equal(read("?asof=2026-11-28").asof, Date.parse("2026-11-28T00:00:00Z"));
  assert.equal(read("?asof=never").asof, null);
});

test("The map continues at its edges; if the whole world is in view, each point is shown only once", () => {
  assert.deepEqual(projection.copies(0.5, 0.5, 1000, 1000, 0), [500]);
  assert.deepEqual(projection.copies(0.99, 0.5, 1000, 1000, 20), [-10, 990]);
  assert.deepEqual(projection.copies(0.02, 0.5, 800, 1000, 0), [116]);
  assert.deepEqual(projection.copies(0.5, 0.5, 300, 1000, 20), [500]);
  assert.deepEqual(projection.copies(0, 0.5, 100_000, 1000, 5), []);
});

test("The listed magnitudes and the period are described in a few words", () => {
  const describe = (query) => which({ settings: read(query) });
  assert.deepEqual(["", "?minmag=all&period=week", "?maxmag=4", "?minmag=all&maxmag=4&period=month"].map(describe),
    ["M 2.5+, last day", "All magnitudes, last week", "M 2.5 to 4.0, last day", "M up to 4.0, last 30 days"]);
});

test("The scale bar has a round length that fits", () => {
  assert.deepEqual(projection.scaleBar(0, 2 ** 21, 110, 1.609344).map(Math.round), [1, 84]);
  const [kilometres, pixels] = projection.scaleBar(0, 256, 110);
  assert.equal(kilometres, 5000);
  assert.ok(pixels <= 110);
  assert.equal(projection.scaleBar(60, 2 ** 21, 110)[0], 1);
});

test("An Encoded Polyline is decoded", () => {
  assert.deepEqual(projection.polyline("_p~iF~ps|U_ulLnnqC_mqNvxq`@"), [[3850000, -12020000], [4070000, -12095000], [4325200, -12645300]]);
});

const quake = (code, magnitude) => ({ code, magnitude, time: now, updated: now });
const change = (code, operation, more) => ({ key: code, operation, reason: null, ...more });
const row = (code, magnitude) => ({ code, magnitude, time: new Date(now).toISOString(), updated: new Date(now).toISOString() });

test("A pass marks events that are new, revised or withdrawn, or no longer match", () => {
  const catalogue = new Catalogue();
  catalogue.replace([quake("a", 4), quake("b", 4), quake("c", 4)]);
  const { added, news } = catalogue.apply([
    change("a", "update", { row: row("a", 4.2) }), change("b", "delete", { reason: "deleted by x" }),
    change("c", "update", { row: row("c", 2), selected: false }), change("d", "insert", { row: row("d", 5) }),
    change("e", "update", { row: row("e", 1), selected: false }),
  ]);
  assert.deepEqual(news.map(([kind, { code }]) => [kind, code]), [["revised", "a"], ["withdrawn", "b"], ["left", "c"], ["new", "d"]]);
  assert.deepEqual(added.map(({ code }) => code), ["d"]);
  assert.deepEqual([..."abcd"].map((code) => catalogue.has(code)), [true, false, false, true]);
  assert.deepEqual(catalogue.marks.get("a").changes, [{ name: "magnitude", old: 4, new: 4.2 }]);
  catalogue.clearMarks();
  assert.deepEqual([...catalogue.quakes.keys()], ["a", "d"]);
});

test("An update that changes nothing marks nothing", () => {
  const catalogue = new Catalogue();
  catalogue.replace([quake("a", 4)]);
  const { news } = catalogue.apply([change("a", "update", { row: row("a", 4) })]);
  assert.deepEqual(news, []);
  assert.equal(catalogue.marks.size, 0);
});

test("`age` removes old events, and returns whether there were any", () => {
  const catalogue = new Catalogue();
  catalogue.replace([quake("a", 4)]);
  assert.equal(catalogue.age(now), false);
  assert.equal(catalogue.age(now + 1), true);
  assert.equal(catalogue.quakes.size, 0);
});

test("A revision of an event that is too old for the shown period adds nothing", () => {
  const catalogue = new Catalogue();
  const row = (code, minutes) => ({ key: code, operation: "update", row: { code, time: new Date(now - minutes * 60_000).toISOString(), updated: null } });
  catalogue.replace([{ code: "us1", time: now - 61 * 60_000 }]);
  const { news } = catalogue.apply([row("us1", 61), row("us2", 61), row("us3", 59)], now - 3_600_000);
  assert.deepEqual([...catalogue.quakes.keys()].sort(), ["us1", "us3"]);
  assert.ok(!news.some(([, { code }]) => code === "us2"));
});

test("An event keeps the server's group, and not a property of the feed with the same name", () => {
  const feature = (earthquake) => fromFeature({ id: "us1", properties: { earthquake }, geometry: { coordinates: [1, 2, 3] } }).earthquake;
  const group = { code: "us1", members: ["us1"], networks: ["us"] };
  assert.deepEqual([feature("x"), feature({}), feature(undefined), feature(group)], [null, null, null, group]);
});

test("A URL keeps any agency, and magnitudes may begin with the decimal point", () => {
  for (const agency of ["gfz", "ws.resif.fr", "other networks", "ISC"]) {
    assert.equal(read(written({ ...read(""), agency })).agency, agency);
  }
  assert.deepEqual([".5", "-.5", "2.5678", "4", "", "x", "1e3"].map(decimal), [0.5, -0.5, 2.568, 4, null, null, null]);
});
