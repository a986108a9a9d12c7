// Which events cause alerts, by a table of cases that the tests of `quakes notify` also use.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { crossing } from "../../Sources/QuakeServer/Page/Files/alerts.js";

const table = JSON.parse(readFileSync(new URL("../AlertsTests/Cases/alerts.json", import.meta.url), "utf8"));
const wish = { ...table.wish, on: true, near: true, sound: false };

for (const { name, passes, expected } of table.cases) {
  test(name, () => {
    const [rows, told] = [new Map(), new Map()];
    let now = Date.parse("2026-11-26T12:00:00Z");
    passes.forEach((pass, index) => {
      now += 60_000;
      const changes = [pass].flat().flatMap((commit) => Object.entries(commit).map(([key, value]) => {
        const before = rows.get(key) ?? null;
        if (value === null || typeof value === "string") {
          rows.delete(key);
          return { key, operation: "delete", row: null, before, reason: value && `superseded by ${value}` };
        }
        const { minutes, ...columns } = { ...table.row, ...value };
        const row = { ...columns, code: key, time: new Date(now - minutes * 60_000).toISOString(), updated: new Date(now).toISOString() };
        rows.set(key, row);
        return { key, operation: before ? "update" : "insert", row, before: before && { ...before } };
      }));
      const found = crossing(changes, wish, told, now).map(({ code }) => code);
      for (const code of found) told.set(code, now);
      // On the page, only the kinds `new` and `risen` cause alerts.
      const news = Object.entries(expected[index]).filter(([, kind]) => kind === "new" || kind === "risen");
      assert.deepEqual(found, news.map(([code]) => code), `pass ${index + 1}`);
    });
  });
}
