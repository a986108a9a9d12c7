// Starts the page. It imports nothing at first: if a part of the page is refused, as a server or a proxy does when too many
// requests come from one address, this says so and asks again.

const attempts = 4;
const pause = () => new Promise((done) => setTimeout(done, 3000 + Math.random() * 3000));
/** Says that the page did not load. It shows by itself if even this file does not. */
const note = document.getElementById("unstarted");

/** Asks for the style sheet again until it is there. */
async function style() {
  let link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=stylesheet]"));
  // Chromium gives a link that failed an empty sheet, others none.
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
      // A module that cannot be fetched is a TypeError. Any other error would come again.
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
