// Starts the page. The server or a proxy may refuse files when too many requests come from one address. This file has no static
// imports, so it runs even if the other files are refused: it then shows a message and requests them again.

const attempts = 4;
const pause = () => new Promise((done) => setTimeout(done, 3000 + Math.random() * 3000));
/** The message that the page did not load. If this file does not load, page.css shows the message after 15 s. */
const note = document.getElementById("unstarted");

/** Requests the style sheet again until it is loaded. */
async function style() {
  let link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=stylesheet]"));
  // After a failed request, `link.sheet` is empty in Chromium, and null in other browsers.
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
      // If a module cannot be fetched, the error is a TypeError. After any other error, a retry would fail, too.
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
