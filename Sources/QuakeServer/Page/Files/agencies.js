// The agencies whose events these are: what they are called, and the terms of their data.

import { all, byId, element, outwards } from "./dom.js";
import { file } from "./service.js";

/** @typedef {{ name: string, label?: string, title: string, licence: string | null, terms: string | null, networks: string[], service?: string }} Agency */

/** @type {Map<string, Agency>} The known agencies, by the networks of their events. */
const known = new Map();
/** @type {Map<string, string>} How they are written, by name. */
const labels = new Map();
/** @type {Map<string, string>} What they are called, by the hosts of their services. */
const services = new Map();

/** Reads the list of agencies that the server knows; the first of several that have a network is the one. */
export async function load() {
  learn(JSON.parse(await file("agencies.json")));
}

/** @param {Agency[]} agencies */
export function learn(agencies) {
  for (const agency of agencies) {
    if (agency.label) labels.set(agency.name, agency.label);
    if (agency.service) services.set(agency.service, label(agency.name));
    for (const network of agency.networks) if (!known.has(network)) known.set(network, agency);
  }
}

/** Networks that are in no list, such as those of the synthetic feed: they are told apart by `net` only. */
const others = "other networks";

/**
 * The name of the agency of an event, such as `gfz`. If it is in no list, the beginning of the code tells it, as in
 * `bgs:2026abcd`.
 */
export const agencyOf = ({ net, code }) => known.get(net)?.name ?? (code?.includes(":") ? net : others);

/** The same of a network that reports an earthquake with others. @param {string} net */
export const agencyOfNetwork = (net) => known.get(net)?.name ?? net;

/** The networks of the agency with this name. @param {string} name @returns {string[]} */
export const networksOf = (name) => [...known.values()].find((each) => each.name === name)?.networks ?? [name];

/** What people call it, such as `GFZ`. */
export const label = (name) => labels.get(name) ?? (name === others ? name : name.toUpperCase());

/** All that is known of the agency of an event. @returns {Agency | null} */
export const agency = ({ net }) => known.get(net) ?? null;

/**
 * The agencies of these events: those that are known in their order, then others by name.
 *
 * @param {Iterable<{ net: string, code: string }>} quakes
 */
export function present(quakes) {
  const found = new Set();
  for (const quake of quakes) found.add(agencyOf(quake));
  const order = [...new Set([...known.values()].map(({ name }) => name))].filter((name) => found.delete(name));
  return [...order, ...[...found].sort()];
}

/** Where the terms of an agency's data are: the address of a page, or that of a DOI. */
export const termsAddress = ({ terms }) => terms?.replace(/^doi:/, "https://doi.org/") ?? null;

/**
 * What sentence() of coverage.js needs to know of the agencies with these names.
 *
 * @param {string[]} names
 */
export function publishers(names) {
  const hosts = new Set(services.values());
  const labels = names.map(label);
  return {
    nameOf: (/** @type {string} */ service) => services.get(service) ?? service,
    listed: labels.filter((each) => hosts.has(each)), areOthers: labels.some((each) => !hosts.has(each)),
  };
}

let shown = null;

/** Says whose data are shown, and on which terms; and offers colours by agency and the agencies, if there are several. */
export function showAgencies(names, color, chosen) {
  for (const option of all("[name=color] [value=agency]")) {
    option.hidden = option.disabled = names.length < 2 && color !== "agency";
  }
  byId("agencies").hidden = names.length < 2 && chosen == null;
  const text = String([chosen, names]);
  if (shown === text && known.size > 0) return;
  shown = known.size > 0 ? text : null;
  const field = /** @type {HTMLSelectElement} */ (byId("agencies").querySelector("select"));
  field.replaceChildren(...["", ...new Set(chosen ? [...names, chosen] : names)].map((name) => new Option(name ? label(name) : "All agencies", name)));
  field.value = chosen ?? "";
  const box = byId("sources");
  const named = names.filter((name) => name !== others);
  box.hidden = named.length === 0;
  const parts = named.flatMap((name, index) => {
    const one = [...known.values()].find((each) => each.name === name);
    const link = one && outwards(termsAddress(one), label(name));
    const node = link ?? element("span", "", label(name));
    if (one) node.title = one.title;
    return [index > 0 ? ", " : null, node, one?.licence ? ` (${one.licence})` : null];
  });
  box.replaceChildren(...["Data: ", ...parts].filter((part) => part != null));
}
