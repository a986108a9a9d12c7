// What the page asks the server, with a server that refuses.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { file, onWithheld } from "../../Sources/QuakeServer/Page/Files/service.js";

/** Answers the requests for files in this order; `null` is a lost connection. */
function answering(...statuses) {
  mock.method(globalThis, "fetch", async () => {
    const status = statuses.shift();
    if (status == null) throw new TypeError("Failed to fetch");
    return new Response("text", { status });
  });
}

test("A file of the page that is refused is asked for again until it comes, and the page hears of it", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const told = [];
  onWithheld((count) => told.push(count));
  answering(429, 503, null, 200);
  const loaded = file("borders.txt");
  while (globalThis.fetch.mock.callCount() < 4) {
    await new Promise(setImmediate);
    mock.timers.tick(6000);
  }
  assert.equal(await loaded, "text");
  assert.deepEqual(told, [1, 0]);
  mock.reset();
});

test("A file that does not exist is asked for once", async () => {
  answering(404);
  await assert.rejects(file("nothing.txt"), { status: 404 });
  assert.equal(globalThis.fetch.mock.callCount(), 1);
  mock.reset();
});
