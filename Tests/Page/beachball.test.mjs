// The geometry of focal mechanisms. Tests/Clients/beachballs.py compares the drawing with ObsPy's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { amplitude, beachball, doubleCouple, faulting, momentOf, otherPlane, planesOf } from "../../Sources/QuakeServer/Page/Files/beachball.js";
import { mechanisms } from "./beachballs.mjs";

const momentOfPlane = (strike, dip, rake) => momentOf({ strike1: strike, dip1: dip, rake1: rake });
const isNear = (a, b) => a.flat().every((each, index) => Math.abs(each - b.flat()[index]) < 1e-6);

test("A point of a beachball is coloured where the first motion is outwards", () => {
  for (const mechanism of mechanisms(200)) {
    const moment = momentOf(mechanism);
    const parts = beachball(moment);
    for (let x = -0.951; x < 1; x += 0.1) {
      for (let y = -0.951; y < 1; y += 0.1) {
        const square = x * x + y * y;
        if (square > 0.95) continue;
        const stretch = Math.sqrt(2 - square);
        const expected = amplitude(moment, [-y * stretch, x * stretch, 1 - square]);
        if (Math.abs(expected) < 0.02) continue;
        const isColoured = parts.some(([left, top, width, height]) => x >= left && x < left + width && y >= top && y < top + height);
        assert.equal(isColoured, expected > 0, `${JSON.stringify(mechanism)} at ${x}, ${y}`);
      }
    }
  }
});

test("The other plane of a mechanism, and the planes that are computed from its moment, have the same moment", () => {
  for (const { strike1, dip1, rake1 } of mechanisms(200).filter(({ strike1 }) => strike1 != null)) {
    const plane = { strike: strike1, dip: dip1, rake: rake1 };
    const moment = doubleCouple(plane);
    assert.ok(isNear(doubleCouple(otherPlane(plane)), moment), JSON.stringify(plane));
    for (const each of planesOf(moment)) {
      assert.ok(isNear(doubleCouple(each), moment), JSON.stringify(plane));
      assert.ok(each.strike >= 0 && each.strike <= 360 && each.dip >= 0 && each.dip <= 90.0001 && Math.abs(each.rake) <= 180.0001);
    }
  }
});

test("The plunges of the axes determine the kind of faulting, and a change of volume is an explosion or an implosion", () => {
  for (const [plane, kind] of [
    [[120, 45, 90], "reverse"], [[120, 10, 90], "reverse"], [[10, 60, -90], "normal"], [[200, 90, 0], "strike-slip"],
    [[200, 85, 175], "strike-slip"], [[30, 60, -45], "oblique"], [[0, 90, 90], "oblique"],
  ]) assert.equal(faulting(momentOfPlane(...plane)), kind, `${plane}`);
  const isotropic = (m) => momentOf({ mrr: m, mtt: m, mpp: m, mrt: 0, mrp: 0, mtp: 0 });
  assert.equal(faulting(isotropic(2e17)), "explosion");
  assert.equal(beachball(isotropic(2e17)).length, 400);
  assert.equal(faulting(isotropic(-2e17)), "implosion");
  assert.deepEqual(beachball(isotropic(-2e17)), []);
});

test("A complete tensor takes precedence over the planes, and values that are not numbers are ignored", () => {
  const tensor = { mrr: 1e300, mtt: -1e300, mpp: 0, mrt: 0, mrp: 0, mtp: 0 };
  const plane = { strike2: 0, dip2: 90, rake2: 0 };
  assert.deepEqual(momentOf({ ...tensor, ...plane }), [[-1, -0, 0], [-0, 0, -0], [0, -0, 1]]);
  for (const broken of [{ mtp: undefined }, { mrr: "1" }, { mrr: null }, { mrr: 0, mtt: 0 }]) {
    assert.ok(isNear(momentOf({ ...tensor, ...plane, ...broken }), doubleCouple({ strike: 0, dip: 90, rake: 0 })));
  }
  for (const nothing of [{}, "text", 5, [], { strike1: 3, dip1: 4 }, { strike1: "3", dip1: 4, rake1: 5 }]) {
    assert.equal(momentOf(nothing), null);
  }
});
