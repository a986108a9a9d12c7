// The connection that receives changes, when it dies without an error.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

/** The connections that were opened, the newest last. */
const opened = [];

globalThis.addEventListener = () => {};
globalThis.EventSource = class {
  static CLOSED = 2;
  readyState = 0;
  handlers = {};
  constructor(address) {
    this.address = address;
    opened.push(this);
  }
  addEventListener(name, handler) { this.handlers[name] = handler; }
  send(name, event = {}) { this.handlers[name](event); }
  close() { this.readyState = 2; }
};

const { Live } = await import("../../Sources/QuakeServer/Page/Files/live.js");

const handlers = { opened: mock.fn(), reached() {}, restarted() {}, cut: mock.fn() };

test("A stream that stays behind the server's token for a whole check is opened again after its last position", () => {
  const live = new Live("7_t_s", {}, handlers);
  const [first] = opened.splice(0);
  first.send("open");
  live.check(9);
  assert.equal(opened.length, 0, "the stream may not have sent the newest commit yet");
  first.send("position", { lastEventId: "8_t_s" });
  live.check(9);
  const [second] = opened.splice(0);
  assert.match(second.address, /after=8_t_s/);
  assert.equal(first.readyState, EventSource.CLOSED);
  assert.equal(handlers.cut.mock.callCount(), 1, "the page is not told");
  handlers.opened.mock.resetCalls();
  second.send("open");
  assert.equal(handlers.opened.mock.callCount(), 0, "a proxy may hold back everything but the head of the answer");
  second.send("position", { lastEventId: "9_t_s" });
  assert.equal(handlers.opened.mock.callCount(), 1);
  live.check(9);
  live.check(9);
  assert.equal(opened.length, 0);
});

test("A stream that fell behind stays doubted if the next connection does not open", () => {
  let now = 0;
  mock.method(Date, "now", () => now);
  handlers.opened.mock.resetCalls();
  const live = new Live("7_t_s", {}, handlers);
  opened.splice(0)[0].send("open");
  live.check(9);
  live.check(9);
  opened.splice(0);
  now += 30_000;
  live.check(9);
  const [third] = opened.splice(0);
  third.send("open");
  assert.equal(handlers.opened.mock.callCount(), 1, "only the first connection counts as open");
  mock.restoreAll();
});

test("A stream that does not open, and one that the browser cannot open again, is opened anew after 30 s", () => {
  let now = 0;
  mock.method(Date, "now", () => now);
  const live = new Live("7_t_s", {}, handlers);
  opened.splice(0);
  now += 10_000;
  live.check(9);
  now += 10_000;
  live.check(9);
  assert.equal(opened.length, 0, "a slow server gets no time");
  now += 10_000;
  live.check(7);
  const [second] = opened.splice(0);
  second.send("open");
  now += 60_000;
  live.check(7);
  assert.equal(opened.length, 0);
  second.send("error");
  now += 30_000;
  live.check(7);
  assert.equal(opened.length, 1);
  mock.restoreAll();
});
