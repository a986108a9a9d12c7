// An earthquake: the table's columns, with times in milliseconds and the lists as arrays.

const moment = (text) => (text == null ? null : Date.parse(text));
const list = (text) => (text ?? "").split(",").filter(Boolean);

/** The event of a row from /changes or /history. `earthquake` is the group that /changes gives with the row. */
export function fromRow(row, earthquake = null) {
  return { ...row, time: moment(row.time), updated: moment(row.updated), earthquake };
}

/** The event of a feature from the event service's GeoJSON. */
export function fromFeature({ id, properties: p, geometry }) {
  const [longitude, latitude, depth] = geometry.coordinates;
  return {
    code: id, magnitude: p.mag, magnitude_type: p.magType, place: p.place, title: p.title, url: p.url,
    status: p.status, alert: p.alert, type: p.type, time: p.time, updated: p.updated, felt: p.felt, sig: p.sig,
    nst: p.nst, cdi: p.cdi, mmi: p.mmi, dmin: p.dmin, rms: p.rms, gap: p.gap, tsunami: p.tsunami === 1,
    net: p.net, ids: list(p.ids), sources: list(p.sources), types: list(p.types), longitude, latitude, depth,
    earthquake: Array.isArray(p.earthquake?.members) ? p.earthquake : null,
  };
}

/** Whether an event is not an earthquake, but for example an explosion. An event without a type counts as an earthquake. */
export const isOther = ({ type }) => Boolean(type) && type !== "earthquake";

/** Such as `Quarry blast`; null for an earthquake. */
export function typeLabel(quake) {
  const { type } = quake;
  if (!isOther(quake)) return null;
  return type[0].toUpperCase() + type.slice(1);
}

/** A text in the form that the search compares: in lower case, without accents. */
export const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** The names of states by their abbreviations. Many places of the USGS end with such an abbreviation. */
const states = new Map(`al alabama,ak alaska,az arizona,ar arkansas,ca california,co colorado,ct connecticut,de delaware,
  dc district of columbia,fl florida,ga georgia,hi hawaii,id idaho,il illinois,in indiana,ia iowa,ks kansas,ky kentucky,la louisiana,
  me maine,md maryland,ma massachusetts,mi michigan,mn minnesota,ms mississippi,mo missouri,mt montana,ne nebraska,nv nevada,
  nh new hampshire,nj new jersey,nm new mexico,ny new york,nc north carolina,nd north dakota,oh ohio,ok oklahoma,or oregon,
  pa pennsylvania,pr puerto rico,ri rhode island,sc south carolina,sd south dakota,tn tennessee,tx texas,ut utah,vt vermont,
  va virginia,wa washington,wv west virginia,wi wisconsin,wy wyoming`.split(",").map((each) => {
  const [, short, name] = /^\s*(\w\w) (.*)$/.exec(each);
  return [short, name];
}));

/**
 * Returns a filter for events whose place or code contains these words, with or without accents. The name of a state also finds
 * places with the state's abbreviation, and the abbreviation finds places with the name.
 */
export function placeFilter(search) {
  const words = folded(search).split(/[\s,]+/).filter(Boolean);
  return ({ place, code }) => {
    const text = folded(`${place ?? ""} ${code}`);
    const state = states.get(/, ([A-Z]{2})$/.exec(place ?? "")?.[1].toLowerCase());
    return words.every((word) => {
      const name = states.get(word);
      // An abbreviation matches only whole words: `ca` does not match `Chicago`.
      if (name) return text.split(/[\s,]+/).includes(word) || text.includes(name);
      return text.includes(word) || state?.includes(word);
    });
  };
}

/** Whether `codes` contains one of an event's codes. An event has several codes if its code has changed. */
export const isAmong = (quake, codes) => [quake.code, ...(quake.ids ?? [])].some((code) => codes.has(code));

const agency = "https://earthquake.usgs.gov/earthquakes/eventpage/";
const products = [
  ["shakemap", "ShakeMap: how strongly the ground shook", "shakemap/intensity"],
  ["dyfi", "Did you feel it? Reports from people", "dyfi/intensity"],
  ["losspager", "PAGER: estimated losses", "pager"],
];

/** The agency's further pages about an event: [words, address]. */
export function pages({ url, types }) {
  if (!url?.startsWith(agency)) return [];
  return products.filter(([type]) => types?.includes(type)).map(([, words, path]) => [words, `${url.replace(/\/$/, "")}/${path}`]);
}

/** The shown columns: name, label, digits after the point, unit. */
export const columns = [
  ["magnitude", "Magnitude", 1, ""], ["magnitude_type", "Magnitude type"], ["place", "Place"], ["time", "Time"],
  ["depth", "Depth", 1, " km"], ["latitude", "Latitude", 3, "°"], ["longitude", "Longitude", 3, "°"],
  ["status", "Status"], ["type", "Type"], ["alert", "PAGER alert"], ["tsunami", "Tsunami notice"],
  ["felt", "Reports from people"], ["cdi", "Felt intensity", 1, ""], ["mmi", "Measured intensity", 1, ""],
  ["sig", "Significance"], ["nst", "Stations"], ["gap", "Azimuthal gap", 0, "°"], ["rms", "RMS residual", 2, " s"],
  ["dmin", "Nearest station", 2, "°"], ["ids", "Also known as"],
];

const same = (a, b) => a === b || (a == null && b == null) || (Array.isArray(a) && String(a) === String(b));

/** The shown columns in which two states of an event differ, each with its old and new value. */
export function differences(before, after) {
  return columns
    .filter(([name]) => name in before && name in after && !same(before[name], after[name]))
    .map(([name]) => ({ name, old: before[name], new: after[name] }));
}

/**
 * The changes of a pass, one item for each event: { last, before }. `last` is its last change. `before` is its row before the pass;
 * null if it did not exist then.
 */
export function byEvent(changes) {
  const found = new Map();
  for (const change of changes) {
    const before = found.has(change.key) ? found.get(change.key).before : change.operation === "insert" ? null : {};
    // Of several values that were overwritten, the oldest is the one before the pass.
    found.set(change.key, { last: change, before: before && { ...change.before, ...before } });
  }
  return [...found.values()].map(({ last, before }) => ({ last, before: before && { ...last.row, ...before } }));
}

/** The distance between two events along the earth's surface, in km. */
export function distance(a, b) {
  const radians = Math.PI / 180;
  const across = Math.sin(((b.longitude - a.longitude) * radians) / 2) ** 2;
  const along = Math.sin(((b.latitude - a.latitude) * radians) / 2) ** 2;
  const h = along + Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians) * across;
  return 2 * 6371 * Math.asin(Math.min(1, Math.sqrt(h)));
}
