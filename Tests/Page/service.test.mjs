// The page's requests to the server, including requests that the server refuses.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { file, health, load, now, onWithheld, stateAt, within } from "../../Sources/QuakeServer/Page/Files/service.js";

/** Answers the next requests with these statuses, in this order; `null` is a lost connection. */
function answerWith(...statuses) {
  mock.method(globalThis, "fetch", async () => {
    const status = statuses.shift();
    if (status == null) throw new TypeError("Failed to fetch");
    return new Response("text", { status });
  });
}

test("A refused file of the page is requested again until it arrives, and the page gets the number of refused files", async () => {
  // Node 18 and Node 20 call their mocked timers in different ways.
  mock.method(globalThis, "setTimeout", (call) => setImmediate(call));
  const counts = [];
  onWithheld((count) => counts.push(count));
  answerWith(429, 503, null, 200);
  assert.equal(await file("borders.txt"), "text");
  assert.deepEqual(counts, [1, 0]);
  mock.reset();
});

test("A file that does not exist is requested only once", async () => {
  answerWith(404);
  await assert.rejects(file("nothing.txt"), { status: 404 });
  assert.equal(globalThis.fetch.mock.callCount(), 1);
  mock.reset();
});

test("The error page of a proxy is not shown", async () => {
  const answer = (type) => mock.method(globalThis, "fetch", async () => new Response("Error 502: x", { status: 502, headers: { "Content-Type": type } }));
  answer("text/html");
  await assert.rejects(load({}, null, undefined), { message: "The server answered with status 502." });
  mock.reset();
});

test("Of several answers about the server's health, one of the server's own is enough", async () => {
  const answers = [[429, "<html>"], [502, "<html>"], [200, '{"status":"ok"}']];
  const answerWithAll = () => {
    const left = [...answers];
    mock.method(globalThis, "fetch", async () => {
      const [status, text] = left.shift();
      return new Response(text, { status });
    });
  };
  answerWithAll();
  assert.deepEqual((await health(3)).answer, { status: "ok" });
  answerWithAll();
  await assert.rejects(health(2), ({ errors }) => errors.some(({ status }) => status === 429));
  mock.reset();
});

test("The page uses the server's time if the device's clock is wrong by more than a minute", async () => {
  let hours = 2;
  mock.method(globalThis, "fetch", async () => (
    new Response("{}", Number.isNaN(hours) ? {} : { headers: { Date: new Date(Date.now() - hours * 3_600_000).toUTCString() } })));
  assert.equal((await health()).isClockSet, true);
  assert.ok(Math.abs(now() - (Date.now() - 7_200_000)) < 10_000);
  assert.equal((await health()).isClockSet, false);
  for (const [seconds, isSet] of [[7230, false], [null, false], [0, true], [63, true], [50, false]]) {
    hours = seconds == null ? NaN : seconds / 3600;
    assert.equal((await health()).isClockSet, isSet, `${seconds} s`);
  }
  hours = 0;
  await health();
  assert.ok(Math.abs(now() - Date.now()) < 10_000);
  mock.reset();
});

test("A load has no time limit while it keeps arriving", async () => {
  const pieces = ['{"features":', "[]", "}"];
  const clock = [];
  mock.method(globalThis, "setTimeout", (call, time) => clock.push(time));
  mock.method(globalThis, "fetch", async (path) => (path.includes("/count?") ? new Response('{"count":7}')
    : new Response(new ReadableStream({
      pull(controller) {
        const piece = pieces.shift();
        if (piece) controller.enqueue(new TextEncoder().encode(piece));
        else controller.close();
      },
    }))));
  assert.deepEqual((await load({}, null, new AbortController().signal)).quakes, []);
  assert.equal(clock.length, 4, "each piece begins the limit again");
  mock.reset();
});

test("By its history, an event is present, absent or unknown at a given moment", () => {
  const step = (committed_at, operation, before, after, reason = null) => ({ change: { committed_at, operation, reason }, before, after });
  const [old, revised] = [{ magnitude: 4 }, { magnitude: 5 }];
  const at = (text) => Date.parse(text);
  const whole = { steps: [
    step("2026-11-02T00:00:00Z", "insert", null, old), step("2026-11-03T00:00:00Z", "update", old, revised),
    step("2026-11-04T00:00:00Z", "delete", revised, null, "deleted by x"),
  ], now: null };
  const begin = at("2026-11-01T00:00:00Z");
  const stateOf = (story, moment) => stateAt(story, moment && at(moment), begin);
  assert.deepEqual(stateOf(whole, "2026-11-01T12:00:00Z"), { is: "absent", quake: null, reason: undefined });
  assert.deepEqual(stateOf(whole, "2026-11-02T12:00:00Z"), { is: "present", quake: old });
  assert.deepEqual(stateOf(whole, "2026-11-03T00:00:00Z"), { is: "present", quake: revised });
  assert.deepEqual(stateOf(whole, "2026-11-05T00:00:00Z"), { is: "absent", quake: revised, reason: "deleted by x" });
  assert.deepEqual(stateOf(whole, null), stateOf(whole, "2026-11-05T00:00:00Z"));
  assert.deepEqual(stateOf(whole, "2026-10-31T00:00:00Z"), { is: "unknown", quake: null });
  const pruned = { steps: [step("2026-11-03T00:00:00Z", "update", old, revised)], now: revised };
  assert.deepEqual(stateOf(pruned, "2026-11-02T00:00:00Z"), { is: "present", quake: old }, "the first kept change has the state before it");
  assert.deepEqual(stateOf(pruned, "2026-10-31T00:00:00Z"), { is: "unknown", quake: null });
  assert.deepEqual(stateOf(pruned, null), { is: "present", quake: revised });
  assert.deepEqual(stateOf({ steps: [], now: old }, "2026-11-02T00:00:00Z"), { is: "present", quake: old });
});

test("If no events match, the page asks whether the catalogue has any events", async () => {
  const requests = [];
  const answerEventsWith = (features, count) => mock.method(globalThis, "fetch", async (path) => {
    requests.push(path);
    return path.includes("/count?") ? new Response(JSON.stringify({ count })) : new Response(JSON.stringify({ features }));
  });
  const { signal } = new AbortController();
  const asof = Date.parse("2026-11-01T00:00:00Z");
  answerEventsWith([], 0);
  assert.equal((await load({ minmagnitude: "5" }, asof, signal)).isBare, true);
  assert.match(requests[1], /count\?format=geojson&asof=2026-11-01T00%3A00%3A00.000Z$/);
  answerEventsWith([], 7);
  assert.equal((await load({}, null, signal)).isBare, false);
  mock.reset();
});

test("A request is aborted at its time limit and with its signal, and leaves no timer behind", async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
  const before = timers();
  const aborted = (signal) => new Promise((done) => {
    if (signal.aborted) done("aborted");
    signal.addEventListener("abort", () => done("aborted"));
  });
  assert.equal(await within(1, aborted), "aborted");
  const leaving = new AbortController();
  const asked = within(75_000, aborted, leaving.signal);
  leaving.abort();
  assert.equal(await asked, "aborted");
  assert.equal(await within(75_000, aborted, leaving.signal), "aborted", "the signal was aborted before the request");
  const lost = [];
  assert.equal(await within(75_000, async (signal) => Promise.any([aborted(signal).then(() => lost.push(1)), "answered"])), "answered");
  await new Promise(setImmediate);
  assert.equal(lost.length, 1, "a request whose answer is not needed is aborted");
  assert.equal(timers(), before);
});
