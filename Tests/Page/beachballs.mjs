// Writes mechanisms for tests, and the page's drawings of them: node Tests/Page/beachballs.mjs COUNT FILE

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { beachball, momentOf } from "../../Sources/QuakeServer/Page/Files/beachball.js";

/** Planes for special cases, `count` random planes, `count` tensors with an isotropic part, and `count` tensors without. */
export function mechanisms(count) {
  let state = 1;
  // Park and Miller's random number generator.
  const random = (from, to) => from + (to - from) * ((state = (state * 48_271) % 2_147_483_647) / 2_147_483_647);
  const plane = (strike1, dip1, rake1) => ({ strike1, dip1, rake1 });
  const tensor = (hasVolume) => {
    const [mrr, mtt, mpp, mrt, mrp, mtp] = Array.from({ length: 6 }, () => random(-1, 1));
    const part = hasVolume ? 0 : (mrr + mtt + mpp) / 3;
    return { mrr: mrr - part, mtt: mtt - part, mpp: mpp - part, mrt, mrp, mtp };
  };
  const special = [0, 33, 180].flatMap((strike) => [0, 1e-7, 1, 45, 89, 90].flatMap((dip) =>
    [-180, -90, 0, 45, 90, 180].map((rake) => plane(strike, dip, rake))));
  const each = (make) => Array.from({ length: count }, make);
  return [
    ...special, ...each(() => plane(random(0, 360), random(0, 90), random(-180, 180))), ...each(() => tensor(true)),
    ...each(() => tensor(false)),
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const outline = ([x, y, width, height]) => [[x, y], [x + width, y], [x + width, y + height], [x, y + height]];
  const drawn = mechanisms(Number(process.argv[2])).map((mechanism) => {
    return { mechanism, isFilled: false, outlines: beachball(momentOf(mechanism)).map(outline) };
  });
  writeFileSync(process.argv[3], JSON.stringify(drawn));
}
