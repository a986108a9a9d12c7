// Making elements. Texts become text nodes: nothing here reads markup.

/** @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @returns {any[]} */
export const all = (selector) => [...document.querySelectorAll(selector)];

/** Whether the page is in a frame of another site, which has no room for wishes. */
export const isEmbedded = () => document.documentElement.classList.contains("embed");

/** Whether it is in a frame that has not been clicked yet: the wheel and fingers then scroll the page around it. */
export const isIdle = () => isEmbedded() && !document.documentElement.classList.contains("in-use");

/** Notes when the frame is used, by a click or the keyboard, and when the page around it is used again. */
export function watchUse() {
  const use = (isInUse) => document.documentElement.classList.toggle("in-use", isInUse);
  for (const name of ["click", "keydown"]) addEventListener(name, () => use(true), { capture: true });
  addEventListener("blur", () => use(false));
}

/** An element with a class, and children that are nodes or texts. Null ones are left out. */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter((child) => child != null));
  return made;
}

/** Changes a text only where it is another one, so that a selection of it stays. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A text from a feed. `bdi` keeps marks for the direction of writing in it from reordering what stands around it. */
export const foreign = (text) => element("bdi", "", text);

/** A list of labels with texts, or with arrays of nodes and texts. */
export function definitions(rows) {
  const list = element("dl", "");
  for (const [label, text] of rows) {
    list.append(element("dt", "", label), Array.isArray(text) ? element("dd", "", ...text) : element("dd", "", foreign(text)));
  }
  return list;
}

/** A function that runs `body` at the next frame, once, however often it is called until then. */
export function atNextFrame(body) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame((time) => {
      isWaiting = false;
      body(time);
    });
  };
}

/** A link to a page elsewhere; null unless it is http or https. */
export function outwards(address, label) {
  let url;
  try { url = new URL(address); } catch { return null; }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  const link = element("a", "", label);
  link.href = url.href;
  link.rel = "noopener noreferrer";
  return link;
}
