// Makes elements. Texts become text nodes, so markup in a text has no effect.

/** @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @returns {any[]} */
export const all = (selector) => [...document.querySelectorAll(selector)];

/** Whether the page is in a frame of another site. The frame shows only the map and the list. */
export const isEmbedded = () => document.documentElement.classList.contains("embed");

/** Whether the page is in a frame that is not in use. The wheel and fingers then scroll the page around the frame. */
export const isIdle = () => isEmbedded() && !document.documentElement.classList.contains("in-use");

/** Watches when the user enters the frame with a click or a key, and when the user returns to the page around it. */
export function watchUse() {
  const use = (isInUse) => document.documentElement.classList.toggle("in-use", isInUse);
  for (const name of ["click", "keydown"]) addEventListener(name, () => use(true), { capture: true });
  addEventListener("blur", () => use(false));
}

/** An element with a class, and children that are nodes or texts. Null children are left out. */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter((child) => child != null));
  return made;
}

export function button(words, pressed, className = "") {
  const made = element("button", className, words);
  made.type = "button";
  made.addEventListener("click", pressed);
  return made;
}

/** Sets a text only if it is different, so that a selection in an unchanged text stays. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** An element for text from a feed. With `bdi`, characters that set the writing direction cannot reorder the texts around it. */
export const foreign = (text) => element("bdi", "", text);

/** A list of labels with texts, or with arrays of nodes and texts. */
export function definitions(rows) {
  const list = element("dl", "");
  for (const [label, text] of rows) {
    list.append(element("dt", "", label), Array.isArray(text) ? element("dd", "", ...text) : element("dd", "", foreign(text)));
  }
  return list;
}

/** A function that runs `body` at the next frame. Several calls before that frame run it once. */
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

/** A link to a page of another site; null if the address is neither http nor https. */
export function outwards(address, label) {
  let url;
  try { url = new URL(address); } catch { return null; }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  const link = element("a", "", label);
  link.href = url.href;
  link.rel = "noopener noreferrer";
  return link;
}
