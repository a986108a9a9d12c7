// Sharing this view.

import { byId } from "./dom.js";

/** Opens the device's own way of sharing the page's URL, or copies it where there is none. */
export async function share(title) {
  const url = location.href;
  try {
    if (navigator.share) return await navigator.share({ title, url });
    await navigator.clipboard.writeText(url);
    say("The link is copied.");
  } catch (error) {
    // Who closes the device's dialog wants nothing more.
    if (error.name !== "AbortError") say(`Copy this link: ${url}`);
  }
}

let saying;

function say(text) {
  byId("shared").textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => (byId("shared").textContent = ""), 15_000);
}
