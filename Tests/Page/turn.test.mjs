import assert from "node:assert/strict";
import test from "node:test";

import { Turn } from "../../Sources/QuakeServer/Page/Files/turn.js";

/** Like a browser's `navigator.locks`, but for one name: each request gets the lock when the previous one releases it. */
class Locks {
  #last = Promise.resolve();

  request(_name, hold) {
    this.#last = this.#last.then(hold);
  }
}

/** Waits until all pending promises have been handled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("Only one tab at a time has the turn, even if others ask for it meanwhile", async () => {
  const locks = new Locks();
  const [one, other] = [new Turn("x", locks), new Turn("x", locks)];
  const begun = [];
  one.take(() => begun.push("one"));
  await settled();
  for (let asked = 0; asked < 3; asked += 1) {
    other.take(() => begun.push("other"));
    await settled();
  }
  assert.deepEqual(begun, ["one"]);
  // The tab whose turn it is can begin again at once.
  one.take(() => begun.push("one again"));
  assert.deepEqual(begun, ["one", "one again"]);
  one.give();
  await settled();
  assert.deepEqual(begun, ["one", "one again", "other"]);
});

test("A tab that gives up while it waits, and asks again, begins only once", async () => {
  const locks = new Locks();
  const [one, other] = [new Turn("x", locks), new Turn("x", locks)];
  const begun = [];
  one.take(() => begun.push("one"));
  other.take(() => begun.push("first"));
  other.give();
  other.take(() => begun.push("second"));
  await settled();
  assert.deepEqual(begun, ["one"]);
  one.give();
  await settled();
  assert.deepEqual(begun, ["one", "second"]);
  // The other tab keeps its turn until it gives it up.
  one.take(() => begun.push("one"));
  await settled();
  assert.deepEqual(begun, ["one", "second"]);
  other.give();
  await settled();
  assert.deepEqual(begun, ["one", "second", "one"]);
});

test("Without locks, each tab has the turn at once", () => {
  const begun = [];
  for (const name of ["one", "other"]) new Turn("x", undefined).take(() => begun.push(name));
  assert.deepEqual(begun, ["one", "other"]);
});
