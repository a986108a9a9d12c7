// The page's requests to the server, including refused ones.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { file, load, onWithheld, stateAt } from "../../Sources/QuakeServer/Page/Files/service.js";

/** Answers the requests for files in this order; `null` is a lost connection. */
function answering(...statuses) {
  mock.method(globalThis, "fetch", async () => {
    const status = statuses.shift();
    if (status == null) throw new TypeError("Failed to fetch");
    return new Response("text", { status });
  });
}

test("A file of the page that is refused is asked for again until it comes, and the page hears of it", async () => {
  // Node 18 and Node 20 call their mocked timers in different ways.
  mock.method(globalThis, "setTimeout", (call) => setImmediate(call));
  const told = [];
  onWithheld((count) => told.push(count));
  answering(429, 503, null, 200);
  assert.equal(await file("borders.txt"), "text");
  assert.deepEqual(told, [1, 0]);
  mock.reset();
});

test("A file that does not exist is asked for once", async () => {
  answering(404);
  await assert.rejects(file("nothing.txt"), { status: 404 });
  assert.equal(globalThis.fetch.mock.callCount(), 1);
  mock.reset();
});

test("An event is as it was at a moment, was not there, or that is no longer known", () => {
  const step = (committed_at, operation, before, after, reason = null) => ({ change: { committed_at, operation, reason }, before, after });
  const [old, revised] = [{ magnitude: 4 }, { magnitude: 5 }];
  const at = (text) => Date.parse(text);
  const whole = { steps: [
    step("2026-11-02T00:00:00Z", "insert", null, old), step("2026-11-03T00:00:00Z", "update", old, revised),
    step("2026-11-04T00:00:00Z", "delete", revised, null, "deleted by x"),
  ], now: null };
  const begin = at("2026-11-01T00:00:00Z");
  const told = (story, moment) => stateAt(story, moment && at(moment), begin);
  assert.deepEqual(told(whole, "2026-11-01T12:00:00Z"), { is: "absent", quake: null, reason: undefined });
  assert.deepEqual(told(whole, "2026-11-02T12:00:00Z"), { is: "present", quake: old });
  assert.deepEqual(told(whole, "2026-11-03T00:00:00Z"), { is: "present", quake: revised });
  assert.deepEqual(told(whole, "2026-11-05T00:00:00Z"), { is: "absent", quake: revised, reason: "deleted by x" });
  assert.deepEqual(told(whole, null), told(whole, "2026-11-05T00:00:00Z"));
  assert.deepEqual(told(whole, "2026-10-31T00:00:00Z"), { is: "unknown", quake: null });
  const pruned = { steps: [step("2026-11-03T00:00:00Z", "update", old, revised)], now: revised };
  assert.deepEqual(told(pruned, "2026-11-02T00:00:00Z"), { is: "present", quake: old }, "it was before the first change that is kept");
  assert.deepEqual(told(pruned, "2026-10-31T00:00:00Z"), { is: "unknown", quake: null });
  assert.deepEqual(told(pruned, null), { is: "present", quake: revised });
  assert.deepEqual(told({ steps: [], now: old }, "2026-11-02T00:00:00Z"), { is: "present", quake: old });
});

test("Where nothing is selected, it asks whether there is anything at all", async () => {
  const asked = [];
  const answers = (features, count) => mock.method(globalThis, "fetch", async (path) => {
    asked.push(path);
    return path.includes("/count?") ? new Response(JSON.stringify({ count })) : new Response(JSON.stringify({ features }));
  });
  const { signal } = new AbortController();
  const asof = Date.parse("2026-11-01T00:00:00Z");
  answers([], 0);
  assert.equal((await load({ minmagnitude: "5" }, asof, signal)).isBare, true);
  assert.match(asked[1], /count\?format=geojson&asof=2026-11-01T00%3A00%3A00.000Z$/);
  answers([], 7);
  assert.equal((await load({}, null, signal)).isBare, false);
  mock.reset();
});
