// Which events cause alerts.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as alerts from "../../Sources/QuakeServer/Page/Files/alerts.js";

const now = Date.parse("2026-11-24T06:00:00Z");
const wish = { ...alerts.usual, on: true, magnitude: 5 };
const iso = (time) => new Date(time).toISOString();

const row = (magnitude, more = {}) => ({
  code: "us1", ids: ["us1"], magnitude, time: iso(now - 60_000), updated: iso(now), latitude: 10, longitude: 20, ...more,
});
const insert = (after) => ({ key: after.code, operation: "insert", before: null, row: after });
const update = (after, before) => ({ key: after.code, operation: "update", before, row: after });
const codes = (changes, told = new Map(), more = {}) => alerts.crossing(changes, { ...wish, ...more }, told, now).map(({ code }) => code);

test("A new event at the threshold causes an alert, and a smaller event does not", () => {
  assert.deepEqual(codes([insert(row(5))]), ["us1"]);
  assert.deepEqual(codes([insert(row(4.9))]), []);
  assert.deepEqual(codes([insert(row(null))]), []);
});

test("A revision that raises an event to the threshold causes an alert", () => {
  assert.deepEqual(codes([update(row(5.3), { magnitude: 4.7 })]), ["us1"]);
  assert.deepEqual(codes([update(row(5.3), { magnitude: null })]), ["us1"]);
});

test("A revision of an event that was already above the threshold causes no alert", () => {
  assert.deepEqual(codes([update(row(6), { nst: 12 })]), []);
  assert.deepEqual(codes([update(row(6), { magnitude: 5.1 })]), []);
});

test("Within a pass, only the states before the first and after the last change of an event count", () => {
  const last = row(5.3);
  const middle = { key: "us1", operation: "update", before: { magnitude: 4.7 } };
  assert.deepEqual(codes([middle, update(last, { place: "x" })]), ["us1"]);
  assert.deepEqual(codes([{ ...middle, operation: "insert", before: null }, update(last, { place: "x" })]), ["us1"]);
  assert.deepEqual(codes([insert(row(6)), { key: "us1", operation: "delete", before: row(6) }]), []);
});

test("An event causes only one alert, even if its code changes", () => {
  assert.deepEqual(codes([insert(row(6))], new Map([["us1", now]])), []);
  assert.deepEqual(codes([insert(row(6, { code: "ak1", ids: ["ak1", "us1"] }))], new Map([["us1", now]])), []);
});

test("An import of old events causes no alerts", () => {
  assert.deepEqual(codes([insert(row(8, { time: iso(now - 3 * 86_400_000) }))]), []);
  assert.deepEqual(codes([update(row(6, { time: iso(now - 3 * 86_400_000) }), { magnitude: 4 })]), []);
});

test("Only events within the radius of a place cause alerts, also across the date line and after a move into the radius", () => {
  const near = { near: true, latitude: 10, longitude: 179.9, radius: 100 };
  assert.deepEqual(codes([insert(row(6, { longitude: -179.9 }))], new Map(), near), ["us1"]);
  assert.deepEqual(codes([insert(row(6, { longitude: 170 }))], new Map(), near), []);
  assert.deepEqual(codes([update(row(6, { longitude: -179.9 }), { longitude: 170 })], new Map(), near), ["us1"]);
});

test("Alerts list the largest event first", () => {
  assert.deepEqual(codes([insert(row(5.1)), insert(row(7, { code: "b", ids: [] }))]), ["b", "us1"]);
});

test("After a snapshot, events that were updated since the last pass cause alerts", () => {
  const quake = { ...row(6), time: now - 60_000, updated: now - 1000 };
  assert.equal(alerts.since([quake], now - 5000, wish, new Map(), now).length, 1);
  assert.equal(alerts.since([quake], now, wish, new Map(), now).length, 0);
});

test("Alert settings that another version of the page stored can be read, and the defaults replace invalid ones", () => {
  assert.deepEqual(alerts.readWish(null), alerts.usual);
  for (const text of ["", "null", "[]", "17", "{", '{"on":"yes","magnitude":null,"gone":{"a":1}}']) assert.deepEqual(alerts.readWish(text), alerts.usual, text);
  assert.deepEqual(alerts.readWish('{"on":true,"magnitude":6,"gone":1}'), { ...alerts.usual, on: true, magnitude: 6 });
});

test("The page remembers for a week which events had an alert", () => {
  const told = alerts.readTold(alerts.writeTold(new Map([["a", now], ["b", now - 8 * 86_400_000]])), now);
  assert.deepEqual([...told.keys()], ["a"]);
  assert.equal(alerts.readTold("nonsense", now).size, 0);
});

test("The page only requests events that may cause an alert", () => {
  const query = alerts.selection({ ...wish, near: true, latitude: 1, longitude: 2, radius: 300 }, now);
  assert.equal(String(query), "minmagnitude=5&starttime=2026-11-23T06%3A00%3A00.000&latitude=1&longitude=2&maxradiuskm=300");
});

test("The radius in a request is at most the largest one that the service accepts", () => {
  const radius = (far) => alerts.selection({ ...wish, near: true, radius: far }, now).get("maxradiuskm");
  assert.equal(radius(500), "500");
  assert.equal(radius(20_921), "20016");
});
