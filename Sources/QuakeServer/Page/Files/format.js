// Numbers and times for people.

import { columns } from "./quake.js";

const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const makers = {};

function maker(zone, withSeconds) {
  const key = zone + withSeconds;
  makers[key] ??= new Intl.DateTimeFormat("sv-SE", {
    year: "numeric", month: "2-digit", day: "2-digit", ...clock, second: withSeconds ? "2-digit" : undefined,
    timeZone: zone === "utc" ? "UTC" : undefined,
  });
  return makers[key];
}

/** Such as `2026-11-21 09:00:00`, and ` UTC` or nothing after it. */
export function time(milliseconds, zone, withSeconds = true) {
  if (milliseconds == null || Number.isNaN(milliseconds)) return "unknown";
  return maker(zone, withSeconds).format(milliseconds) + (zone === "utc" ? " UTC" : "");
}

/** Such as `5 min ago`. */
export function ago(milliseconds, now) {
  const seconds = Math.round((now - milliseconds) / 1000);
  if (seconds < -120) return "ahead of this clock";
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days < 365 ? `${days} d ago` : `${Math.floor(days / 365)} y ago`;
}

/** With one decimal and a true minus; `?` for an unknown one. */
export const magnitude = (value) => (value == null ? "?" : value.toFixed(1).replace("-", "−"));

export const depth = (value) => (value == null ? "depth unknown" : `${trimmed(value, 1)} km`);

export function position(quake) {
  const latitude = `${Math.abs(quake.latitude).toFixed(3)}° ${quake.latitude < 0 ? "S" : "N"}`;
  return `${latitude}, ${Math.abs(quake.longitude).toFixed(3)}° ${quake.longitude < 0 ? "W" : "E"}`;
}

const trimmed = (value, digits) => String(Number(value.toFixed(digits))).replace("-", "−");

/** What a column holds. */
export function value(name, content, zone) {
  if (content == null || content === "") return "none";
  if (name === "time") return time(content, zone);
  if (name === "magnitude") return magnitude(content);
  if (typeof content === "boolean") return content ? "yes" : "no";
  if (Array.isArray(content)) return content.join(", ");
  if (typeof content !== "number") return String(content);
  const [, , digits = 2, unit = ""] = columns.find(([column]) => column === name) ?? [];
  return trimmed(content, digits) + unit;
}

/** What a column is called. */
const label = (name) => columns.find(([column]) => column === name)?.[1] ?? name;

/** Such as `Magnitude 4.1 → 4.3`. */
export const change = ({ name, old, new: now }, zone) =>
  `${label(name)} ${value(name, old, zone)} → ${value(name, now, zone)}`;

/** Such as `1 earthquake` and `1,234 earthquakes`. */
export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
