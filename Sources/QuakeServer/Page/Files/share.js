// Shares the current view.

import { byId } from "./dom.js";

/**
 * Opens the device's dialog for sharing the page's URL. If there is none, copies the URL. The link has the unit of length, whose
 * default depends on the reader's language.
 */
export async function share(title, units) {
  const [page] = location.href.split("#");
  const url = /[?&]units=/.test(page) ? page : `${page}${page.includes("?") ? "&" : "?"}units=${units}`;
  try {
    if (navigator.share) return await navigator.share({ title, url });
    await navigator.clipboard.writeText(url);
    say("The link is copied.");
  } catch (error) {
    // An AbortError means that the user closed the dialog.
    if (error.name !== "AbortError") say(`Copy this link: ${url}`);
  }
}

let saying;

function say(text) {
  byId("shared").textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => (byId("shared").textContent = ""), 15_000);
}
