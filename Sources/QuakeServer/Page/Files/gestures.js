// Recognises what users do on the map by pointer, touch, wheel and keys.

const keys = {
  "+": "in", "=": "in", "-": "out", 0: "home", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
};
const visits = { PageDown: 1, PageUp: -1, n: 1, p: -1 };
/** How far a finger may slip during a tap, in pixels. */
const slip = 5;

/**
 * Reports what users do on a canvas. A point is [x, y] on the canvas, in pixels. If `isIdle()` is true, the wheel and fingers
 * scroll the page around the frame instead.
 *
 * - handlers.stepped(name): `in`, `out`, `home`, `up`, `left`, `right` or `down`
 * - handlers.zoomed(factor, point), handlers.panned(dx, dy)
 * - handlers.pointed(point): the pointer is at this point, and no button is pressed; null if the pointer has left the canvas
 * - handlers.clicked(point)
 * - handlers.visited(1 or -1): a key for the next or the previous event was pressed
 * - handlers.entered(): Enter was pressed
 * - handlers.left(): the canvas has lost the focus, or Escape was pressed
 */
export function listen(canvas, isIdle, handlers) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") return handlers.entered();
    if (event.key === "Escape") {
      handlers.pointed(null);
      return handlers.left();
    }
    if (!visits[event.key] && !keys[event.key]) return;
    event.preventDefault();
    if (visits[event.key]) handlers.visited(visits[event.key]);
    else handlers.stepped(keys[event.key]);
  });
  canvas.addEventListener("blur", () => handlers.left());
  canvas.addEventListener("wheel", (event) => {
    if (isIdle()) return;
    event.preventDefault();
    handlers.zoomed(2 ** (-event.deltaY / (event.ctrlKey ? 100 : 300)), [event.offsetX, event.offsetY]);
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => handlers.zoomed(2, [event.offsetX, event.offsetY]));
  listenToPointers(canvas, handlers);
}

function listenToPointers(canvas, handlers) {
  /** The pointers that are down, by id. */
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY, moved: 0 });
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    const pointer = pointers.get(event.pointerId);
    if (!pointer) return handlers.pointed([x, y]);
    const far = Math.hypot(x - pointer.x, y - pointer.y);
    const [other] = [...pointers.values()].filter((each) => each !== pointer);
    if (other) {
      const apart = (one) => Math.max(10, Math.hypot(one.x - other.x, one.y - other.y));
      handlers.zoomed(apart({ x, y }) / apart(pointer), [(x + other.x) / 2, (y + other.y) / 2]);
    } else if (pointer.moved + far > slip) handlers.panned(x - pointer.x, y - pointer.y);
    pointer.moved += far;
    [pointer.x, pointer.y] = [x, y];
  });
  canvas.addEventListener("pointerup", (event) => {
    const pointer = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (pointer && pointer.moved <= slip) handlers.clicked([event.offsetX, event.offsetY]);
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => handlers.pointed(null));
}
