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
 * A beachball of radius 1: the lower half of the focal sphere in the equal-area projection, x eastwards and y southwards. The
 * result is a list of thin rectangles [x, y, width, height], which together are the part where the first motion is outwards.
 *
 * @param {Moment} moment
 * @returns {[number, number, number, number][]}
 */
export function beachball(moment, rows = 400) {
  /** @type {[number, number, number, number][]} */
  const found = [];
  const height = 2 / rows;
  for (let row = 0; row < rows; row += 1) {
    const y = (row + 0.5) * height - 1;
    const edge = Math.sqrt(1 - y * y);
    const cells = Math.ceil(edge * rows);
    const width = (2 * edge) / cells;
    let start = null;
    for (let cell = 0; cell <= cells; cell += 1) {
      const x = (cell + 0.5) * width - edge;
      const square = x * x + y * y;
      const stretch = Math.sqrt(2 - square);
      const isOutwards = cell < cells && amplitude(moment, [-y * stretch, x * stretch, 1 - square]) > 0;
      if (isOutwards) start ??= cell;
      else if (start != null) {
        found.push([start * width - edge, row * height - 1, (cell - start) * width, height]);
        start = null;
      }
    }
  }
  return found;
}
