// How the map is moved and asked: by pointer, by touch, by wheel and by keys.

const keys = {
  "+": "in", "=": "in", "-": "out", 0: "home", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
};
const visits = { PageDown: 1, PageUp: -1, n: 1, p: -1 };
/** As far as a finger slips that only taps, in pixels. */
const slip = 5;

/**
 * Tells what people do on a canvas. A point is [x, y] on it, in pixels.
 *
 * - told.stepped(name): `in`, `out`, `home`, `up`, `left`, `right` or `down`
 * - told.zoomed(factor, point), told.panned(dx, dy)
 * - told.pointed(point): the pointer is there, and nothing is pressed; null when it has left
 * - told.clicked(point)
 * - told.visited(1 or -1): to the next event, or back; told.entered(): Enter was pressed there; told.left()
 */
export function listen(canvas, told) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") return told.entered();
    if (!visits[event.key] && !keys[event.key]) return;
    event.preventDefault();
    if (visits[event.key]) told.visited(visits[event.key]);
    else told.stepped(keys[event.key]);
  });
  canvas.addEventListener("blur", () => told.left());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    told.zoomed(2 ** (-event.deltaY / (event.ctrlKey ? 100 : 300)), [event.offsetX, event.offsetY]);
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => told.zoomed(2, [event.offsetX, event.offsetY]));
  listenToPointers(canvas, told);
}

function listenToPointers(canvas, told) {
  /** Those that are down, by id. */
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY, moved: 0 });
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    const pointer = pointers.get(event.pointerId);
    if (!pointer) return told.pointed([x, y]);
    const far = Math.hypot(x - pointer.x, y - pointer.y);
    const [other] = [...pointers.values()].filter((each) => each !== pointer);
    if (other) {
      const apart = (one) => Math.max(10, Math.hypot(one.x - other.x, one.y - other.y));
      told.zoomed(apart({ x, y }) / apart(pointer), [(x + other.x) / 2, (y + other.y) / 2]);
    } else if (pointer.moved + far > slip) told.panned(x - pointer.x, y - pointer.y);
    pointer.moved += far;
    [pointer.x, pointer.y] = [x, y];
  });
  canvas.addEventListener("pointerup", (event) => {
    const pointer = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (pointer && pointer.moved <= slip) told.clicked([event.offsetX, event.offsetY]);
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => told.pointed(null));
}
