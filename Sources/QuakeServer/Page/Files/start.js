// Starts the page. A server or a proxy refuses files when too many requests come from one address. This file has no static
// imports, so it also runs without the others: it then shows a message and requests them again.

const attempts = 4;
const pause = () => new Promise((done) => setTimeout(done, 3000 + Math.random() * 3000));
/** The message that the page did not load. If this file does not load either, the message appears without it. */
const note = document.getElementById("unstarted");

/** Requests the style sheet again until it is loaded. */
async function style() {
  let link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=stylesheet]"));
  // After a failure, the link has an empty sheet in Chromium, and none in other browsers.
  while (!link.sheet?.cssRules.length) {
    await pause();
    const next = /** @type {HTMLLinkElement} */ (link.cloneNode());
    await new Promise((done) => {
      next.onload = next.onerror = done;
      link.replaceWith(next);
    });
    link = next;
  }
}

async function start() {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      await import("./main.js");
      return note.remove();
    } catch (error) {
      // If a module cannot be fetched, the error is a TypeError. Any other error would occur again.
      if (!(error instanceof TypeError)) throw error;
      note.textContent = "Couldn’t load all of the page. Retrying.";
      note.classList.add("shown");
      await pause();
    }
  }
  // Some browsers only fetch a failed module again when the page is reloaded.
  location.reload();
}

style();
start();
