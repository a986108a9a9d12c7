// The agencies that publish the shown events: their names, and the terms of their data.

import { all, byId, element, outwards } from "./dom.js";
import { file } from "./service.js";

/** @typedef {{ name: string, label?: string, title: string, licence: string | null, terms: string | null, networks: string[], service?: string }} Agency */

/** @type {Map<string, Agency>} The known agencies, by the networks of their events. */
const known = new Map();
/** @type {Map<string, string>} The labels of the agencies, by name. */
const labels = new Map();
/** @type {Map<string, string>} The labels of the agencies, by the hosts of their services. */
const services = new Map();

/** Reads the server's list of agencies. If several agencies have the same network, the network belongs to the first of them. */
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

/** The name for all agencies whose networks are not in the list, such as the agency of the synthetic feed. */
const others = "other networks";

/**
 * The name of an event's agency, such as `gfz`. If the network is not in the list, but the event's code has a prefix, such as
 * `bgs:2026abcd`, the network's name is also the agency's name.
 */
export const agencyOf = ({ net, code }) => known.get(net)?.name ?? (code?.includes(":") ? net : others);

/** The name of a network's agency; the network's name if it is not in the list. @param {string} net */
export const agencyOfNetwork = (net) => known.get(net)?.name ?? net;

/** The networks of the agency with this name; none for `other networks`. @param {string} name @returns {string[]} */
export const networksOf = (name) => [...known.values()].find((each) => each.name === name)?.networks ?? (name === others ? [] : [name]);

/** An agency's name for people, such as `GFZ`. */
export const label = (name) => labels.get(name) ?? (name === others ? name : name.toUpperCase());

/** The list's entry for the agency of an event; null if there is none. @returns {Agency | null} */
export const agency = ({ net }) => known.get(net) ?? null;

/**
 * The names of the agencies of these events: first the agencies in the list, in its order, and then the others by name.
 *
 * @param {Iterable<{ net: string, code: string }>} quakes
 */
export function present(quakes) {
  const found = new Set();
  for (const quake of quakes) found.add(agencyOf(quake));
  const order = [...new Set([...known.values()].map(({ name }) => name))].filter((name) => found.delete(name));
  return [...order, ...[...found].sort()];
}

/** The address of the terms of an agency's data. If the terms have a DOI, it becomes a link to doi.org. */
export const termsAddress = ({ terms }) => terms?.replace(/^doi:/, "https://doi.org/") ?? null;

/**
 * The agencies with these names, in the form that sentence() of coverage.js takes.
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

/** Shows the agencies of the data, with their licences. If there are several, offers the filter and the colours by agency. */
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
