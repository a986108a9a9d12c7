// The geometry of a focal mechanism. Directions are [north, east, down].

/**
 * @typedef {[number, number, number]} Vector
 *
 * A symmetric tensor by its rows; the largest element is 1 or -1.
 * @typedef {[Vector, Vector, Vector]} Moment
 *
 * The angles of a plane in degrees.
 * @typedef {{ strike: number, dip: number, rake: number }} Plane
 */

const radians = Math.PI / 180;
/** Moments of at most this size count as rounding errors. */
const noise = 1e-9;

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
/** @returns {Vector} */
const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
/** @returns {Vector} */
const sum = (s, a, t, b) => [s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]];
/** @returns {Vector} */
const applied = (moment, v) => [dot(moment[0], v), dot(moment[1], v), dot(moment[2], v)];

/** The moment in a direction: positive where the first motion is away from the source. */
export const amplitude = (moment, direction) => dot(direction, applied(moment, direction));

/**
 * The moment of a mechanism from `extra`. If all elements of the tensor are known, and at least one is not 0, the moment is the
 * whole tensor, with its isotropic part and CLVD. Otherwise, it is the double couple of the first plane that is known. The result
 * is null if no plane is known either.
 *
 * @returns {Moment | null}
 */
export function momentOf(mechanism) {
  const tensor = tensorOf(mechanism);
  if (tensor) {
    // Converts the axes: (up, south, east) becomes (north, east, down).
    const [rr, tt, pp, rt, rp, tp] = tensor;
    return scaled([[tt, -tp, rt], [-tp, pp, -rp], [rt, -rp, rr]]);
  }
  const plane = planeOf(mechanism, 1) ?? planeOf(mechanism, 2);
  return plane && doubleCouple(plane);
}

/** The elements Mrr, Mtt, Mpp, Mrt, Mrp and Mtp of a mechanism; null if one of them is unknown, or if all are 0. */
export function tensorOf(mechanism) {
  const elements = ["mrr", "mtt", "mpp", "mrt", "mrp", "mtp"].map((name) => mechanism[name]);
  return elements.every(Number.isFinite) && elements.some((each) => each !== 0) ? elements : null;
}

/** @returns {any} */
function scaled(rows) {
  const largest = Math.max(...rows.flat().map(Math.abs));
  return rows.map((row) => row.map((each) => each / largest));
}

/** The first or second plane of a mechanism (`number` is 1 or 2); null if an angle is unknown. @returns {Plane | null} */
export function planeOf(mechanism, number) {
  const [strike, dip, rake] = ["strike", "dip", "rake"].map((name) => mechanism[`${name}${number}`]);
  return [strike, dip, rake].every(Number.isFinite) ? { strike, dip, rake } : null;
}

/** The normal of a plane, and two directions in it: along the strike, and up the dip. */
function frame(strike, dip) {
  const [sinStrike, cosStrike, sinDip, cosDip] = [Math.sin(strike), Math.cos(strike), Math.sin(dip), Math.cos(dip)];
  return {
    normal: [-sinDip * sinStrike, sinDip * cosStrike, -cosDip], along: [cosStrike, sinStrike, 0],
    upwards: [cosDip * sinStrike, -cosDip * cosStrike, -sinDip],
  };
}

/** The normal of a plane and the slip on it, of length 1 (Aki and Richards, Quantitative Seismology, 2002, chapter 4). */
function faces({ strike, dip, rake }) {
  const { normal, along, upwards } = frame(strike * radians, dip * radians);
  return { normal, slip: sum(Math.cos(rake * radians), along, Math.sin(rake * radians), upwards) };
}

/** @param {Plane} plane @returns {Moment} */
export function doubleCouple(plane) {
  const { normal, slip } = faces(plane);
  return scaled(normal.map((n, row) => sum(n, slip, slip[row], normal)));
}

/** The plane with this normal and this slip. Each of these two vectors may point up or down. @returns {Plane} */
function planeBetween(normal, slip) {
  const [n, s] = normal[2] > 0 ? [times(-1, normal), times(-1, slip)] : [normal, slip];
  const strike = Math.hypot(n[0], n[1]) > noise ? Math.atan2(-n[0], n[1]) : 0;
  const dip = Math.acos(Math.min(1, -n[2]));
  const { along, upwards } = frame(strike, dip);
  const rake = Math.atan2(dot(s, upwards), dot(s, along));
  return { strike: (strike / radians + 360) % 360, dip: dip / radians, rake: rake / radians };
}

/** The auxiliary plane: slip on it would radiate the same waves. @param {Plane} plane */
export function otherPlane(plane) {
  const { normal, slip } = faces(plane);
  return planeBetween(slip, normal);
}

/** The planes of the double couple that is nearest to a moment. @param {Moment} moment */
export function planesOf(moment) {
  const [t, , p] = axesOf(moment).map(({ direction }) => direction);
  const [one, other] = [sum(Math.SQRT1_2, t, Math.SQRT1_2, p), sum(Math.SQRT1_2, t, -Math.SQRT1_2, p)];
  return [planeBetween(one, other), planeBetween(other, one)];
}

/**
 * The principal axes T, B and P of a moment, the largest moment first, by Jacobi's method.
 *
 * @param {Moment} moment
 */
export function axesOf(moment) {
  /** @type {[Vector, Vector, Vector]} */
  const axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  for (let sweep = 0; sweep < 10; sweep += 1) {
    for (const [i, j] of [[0, 1], [0, 2], [1, 2]]) {
      const [a, b] = [axes[i], axes[j]];
      const shared = 2 * dot(a, applied(moment, b));
      const difference = amplitude(moment, b) - amplitude(moment, a);
      const angle = Math.atan2(difference < 0 ? -shared : shared, Math.abs(difference)) / 2;
      axes[i] = sum(Math.cos(angle), a, -Math.sin(angle), b);
      axes[j] = sum(Math.sin(angle), a, Math.cos(angle), b);
    }
  }
  return axes.map((direction) => ({ direction, moment: amplitude(moment, direction) })).sort((a, b) => b.moment - a.moment);
}

/**
 * The kind of faulting, from the plunges of the principal axes (Frohlich and Apperson 1992, https://doi.org/10.1029/91TC02888).
 *
 * @param {Moment} moment
 * @returns {"normal" | "reverse" | "strike-slip" | "oblique" | "explosion" | "implosion"} "explosion" if no
 *   principal moment is negative, "implosion" if none is positive
 */
export function faulting(moment) {
  const [t, b, p] = axesOf(moment);
  if (p.moment >= -noise) return "explosion";
  if (t.moment <= noise) return "implosion";
  const [tSteep, bSteep, pSteep] = [t, b, p].map(({ direction }) => Math.asin(Math.min(1, Math.abs(direction[2]))) / radians);
  if (pSteep > 60) return "normal";
  if (bSteep > 60) return "strike-slip";
  return tSteep > 50 ? "reverse" : "oblique";
}

/**
 * A beachball of radius 1: the lower half of the focal sphere in the equal-area projection, x eastwards and y southwards.
 *
 * If `isFilled` is true, the disc is compressional except inside the outlines; if it is false, the disc is compressional only
 * inside them. The first motion changes sign on two cones around the principal axis whose moment differs in sign from the other
 * two. Each cone is cut off at the rim of the lower half.
 *
 * @param {Moment} moment
 * @returns {{ isFilled: boolean, outlines: [number, number][][] }}
 */
export function beachball(moment, steps = 144) {
  const axes = axesOf(moment);
  const [t, b, p] = axes.map((axis) => axis.moment);
  if (p >= -noise || t <= noise) return { isFilled: t > noise, outlines: [] };
  const isFilled = b > noise;
  const [lone, first, second] = isFilled ? [axes[2], axes[0], axes[1]] : axes;
  const cone = Array.from({ length: steps }, (_, step) => {
    const angle = (2 * Math.PI * step) / steps;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const away = Math.atan2(
      Math.sqrt(Math.abs(lone.moment)), Math.sqrt(Math.abs(first.moment) * c * c + Math.abs(second.moment) * s * s));
    return sum(Math.cos(away), lone.direction, Math.sin(away), sum(c, first.direction, s, second.direction));
  });
  const outlines = [1, -1].map((sign) => {
    return cutOff(cone.map((direction) => times(sign, direction)), times(sign, lone.direction)).map(projected);
  });
  return { isFilled, outlines: outlines.filter(({ length }) => length > 0) };
}

/** @returns {[number, number]} */
function projected([north, east, down]) {
  const scale = 1 / Math.sqrt(1 + down);
  return [east * scale, -north * scale];
}

/**
 * The downward part of a cone, closed along the rim. There is only one such part, because the cone is convex. Directions on the
 * rim, such as those of a horizontal plane, count as downward.
 *
 * @param {Vector[]} cone
 * @param {Vector} axis
 */
function cutOff(cone, axis) {
  const at = (index) => cone[index % cone.length];
  const isBelow = (index) => at(index)[2] > -noise;
  const start = cone.findIndex((_, index) => !isBelow(index) && isBelow(index + 1));
  if (start < 0) return isBelow(0) ? cone : [];
  let end = start + 1;
  const part = [rimBetween(at(start), at(end))];
  for (; isBelow(end); end += 1) part.push(at(end));
  part.push(rimBetween(at(end - 1), at(end)));
  return [...part, ...alongRim(part[part.length - 1], part[0], axis)];
}

/** The point where the line between two directions crosses the rim. @returns {Vector} */
function rimBetween(a, b) {
  const share = Math.min(1, Math.max(0, a[2] / (a[2] - b[2])));
  const [north, east] = sum(1 - share, a, share, b);
  const length = Math.hypot(north, east);
  return [north / length, east / length, 0];
}

/**
 * Points on the rim from `a` to `b`, along the shorter arc. If that arc is longer than 90° and its middle is not on the axis's
 * side, the points are along the other arc.
 */
function alongRim(a, b, axis) {
  const start = Math.atan2(a[1], a[0]);
  let turn = Math.atan2(b[1], b[0]) - start;
  turn -= 2 * Math.PI * Math.round(turn / (2 * Math.PI));
  const middle = start + turn / 2;
  if (Math.abs(turn) > Math.PI / 2 && Math.cos(middle) * axis[0] + Math.sin(middle) * axis[1] < 0) turn -= 2 * Math.PI * Math.sign(turn);
  const count = Math.ceil(Math.abs(turn) / (3 * radians));
  return Array.from({ length: Math.max(0, count - 1) }, (_, index) => {
    const angle = start + (turn * (index + 1)) / count;
    return [Math.cos(angle), Math.sin(angle), 0];
  });
}
