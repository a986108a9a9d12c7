// The page's state machine: its actions and the page's texts, for all events, also in random order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { count, emptiness, isPastMissing, status, warnings } from "../../Sources/QuakeServer/Page/Files/words.js";
import { begin, step } from "../../Sources/QuakeServer/Page/Files/machine.js";
import { read } from "../../Sources/QuakeServer/Page/Files/settings.js";

const start = Date.parse("2026-11-24T06:00:00Z");

/** A page that handles events one after another, and keeps the actions that the last event caused. */
class TestPage {
  constructor(search = "") {
    this.now = start;
    [this.state, this.actions] = begin(read(search), this.now);
  }

  send(is, more = {}) {
    [this.state, this.actions] = step(Object.freeze(this.state), { is, now: this.now, ...more });
    return this;
  }

  loaded(number = 3, more = {}) {
    const quakes = Array.from({ length: number }, (_, index) => ({ code: `q9${index}`, time: this.now }));
    return this.send("loaded", { id: this.state.id, quakes, total: number, position: "7_t_s", ...more });
  }

  live(number) {
    return this.loaded(number).send("opened").healthy();
  }

  healthy(more = {}) {
    return this.send("healthy", { answer: { status: "ok", token: 7, services: [], history_begins_at: "2026-11-01T00:00:00Z", ...more } });
  }

  failed(status = null, message = "") {
    return this.send("failed", { id: this.state.id, status, message, chance: 0.5 });
  }

  later(seconds) {
    this.now += seconds * 1000;
    return this;
  }

  choose(changes, more = {}) {
    return this.send("chosen", { changes, ...more });
  }

  /** The last event's action with this name; undefined if there was none. */
  action(name, more = {}) {
    return this.actions.findLast((action) => action.do === name && Object.keys(more).every((key) => action[key] === more[key]));
  }

  get lamp() { return status(this.state).lamp; }
}

test("A page is live while its server shuts down, and is not live if the server's database does not answer", () => {
  const page = new TestPage().live();
  assert.deepEqual([page.healthy({ status: "the server is shutting down" }).lamp, warnings(page.state)], ["live", []]);
  assert.equal(page.healthy({ status: "the database does not answer" }).lamp, "lost");
  assert.equal(warnings(page.state).length, 1);
});

test("When the server has not heard from its database for 10 s, the page shows one state and one sentence", () => {
  const away = { seconds_since_database_answered: 11, services: [{ service: "s", generated: "2026-11-24T05:00:00Z", interval: null }] };
  const page = new TestPage().live().healthy({ seconds_since_database_answered: 5 });
  assert.equal(page.lamp, "live");
  assert.equal(page.action("wait", { name: "check" }).time, 10_000);
  const words = () => [status(page.state).text, ...warnings(page.state)];
  page.healthy(away);
  assert.deepEqual(words(), ["Database unavailable", "The database does not answer. What you see may be out of date. Trying again."]);
  assert.equal(page.action("wait", { name: "check" }).time, 3000);
  page.choose({ minmag: 6 }).failed(503, "The database is not available.");
  assert.ok(page.action("ask"), "the page does not request the server's health");
  page.healthy(away);
  assert.deepEqual(words(), ["Database unavailable", "The database does not answer. Trying again."]);
  assert.equal(count(page.state, []), "Couldn’t load the list", "it is unknown whether there are 0 earthquakes");
  assert.equal(emptiness(page.state, 0), null);
  page.healthy();
  assert.deepEqual(words(), ["Not connected", "The database is not available. Trying again."]);
  page.send("due", { name: "retry" }).live();
  assert.deepEqual(words(), ["Live"]);
  assert.equal(count(page.state, []), "0 earthquakes");
});

test("A tab in the background checks the server's health less often", () => {
  const page = new TestPage().live().send("healthy", { answer: { status: "ok", services: [] }, isInFront: false });
  assert.equal(page.action("wait", { name: "check" }).time, 20_000);
});

test("For a past state that was pruned or never recorded, the page says so and shows no events", () => {
  for (const [code, lamp, words] of [
    [410, "Past no longer kept", "The catalogue as of 2026-10-01 00:00 UTC is no longer kept. The history begins at 2026-11-01 00:00 UTC."],
    [400, "Past not available", "There is no record of the catalogue as of 2026-10-01 00:00 UTC. The history begins at 2026-11-01 00:00 UTC."],
  ]) {
    const page = new TestPage("?asof=2026-10-01T00:00:00Z&event=q91").failed(code, "asof: history does not reach that far back").healthy();
    assert.deepEqual([status(page.state).text, ...warnings(page.state)], [lamp, words]);
    assert.ok(isPastMissing(page.state));
    assert.equal(page.state.isLoaded, false);
    assert.equal(count(page.state, []), "Nothing to show");
    assert.deepEqual(emptiness(page.state, 0).offers, [["Back to now", { asof: null }]]);
    assert.ok(!isPastMissing(page.choose({ asof: null }).live().state));
  }
});

test("An empty catalogue and a selection without events have different texts", () => {
  assert.deepEqual(emptiness(new TestPage("?asof=2026-11-02T00:00:00Z").loaded(0, { isBare: true }).state, 0),
    { text: "Nothing had been imported at that time.", offers: [["Back to now", { asof: null }]] });
  const page = new TestPage().loaded(0, { isBare: true });
  assert.deepEqual([count(page.state, []), emptiness(page.state, 0).text], ["Empty catalogue", "Nothing has been imported yet."]);
  page.send("opened").send("reached", { position: "7_t_s", changes: [] });
  assert.equal(emptiness(page.state, 0).text, "Nothing has been imported yet.");
  page.send("reached", { position: "8_t_s", changes: [] });
  assert.equal(emptiness(page.state, 0).text, "No earthquake of magnitude 2.5 or more in the last day.", "the imported events do not match");
});

test("If the database is restored while an empty catalogue is shown, the catalogue is no longer called empty", () => {
  const page = new TestPage().loaded(0, { isBare: true }).send("opened").send("restarted", { position: "9_t_r", quakes: [] });
  assert.equal(count(page.state, []), "0 earthquakes", "none of the restored events matches");
  assert.equal(emptiness(page.state, 0).text, "No earthquake of magnitude 2.5 or more in the last day.");
});

test("The page shows a warning while any of its files are refused", () => {
  const page = new TestPage().live().send("withheld", { count: 2 });
  assert.deepEqual(warnings(page.state), ["Couldn’t load all of the map. Retrying."]);
  assert.equal(page.lamp, "live", "the list is not affected");
  assert.deepEqual(warnings(page.send("withheld", { count: 0 }).state), []);
});

test("The page loads events, follows the changes, and is live once the stream is open", () => {
  const page = new TestPage("?minmag=4");
  assert.equal(page.lamp, "loading");
  assert.equal(page.action("load").selection.get("minmagnitude"), "4");
  page.loaded();
  assert.equal(page.action("take").quakes.length, 3);
  assert.equal(page.action("follow").position, "7_t_s");
  assert.equal(page.lamp, "loading", "the stream has not answered");
  page.send("opened");
  assert.equal(page.lamp, "live");
});

test("If no event matches, the page says so, and offers settings that would find events", () => {
  const page = new TestPage("?minmag=9.5");
  assert.equal(emptiness(page.state, 0), null, "the number of events is not known yet");
  page.loaded(0);
  const { text, offers } = emptiness(page.state, 0);
  assert.equal(text, "No earthquake of magnitude 9.5 or more in the last day.");
  assert.deepEqual(offers.map(([, changes]) => changes), [{ minmag: null, maxmag: null }, { period: "week" }]);
});

test("With a contradictory filter, the page shows no events, is not live, and does not load for ever", () => {
  for (const page of [new TestPage("?minmag=5&maxmag=4"), new TestPage("?minmag=5").live().choose({ maxmag: 4 })]) {
    assert.equal(page.lamp, "off");
    assert.deepEqual(page.action("take").quakes, []);
    assert.ok(page.action("unfollow"));
    assert.equal(page.action("load"), undefined);
    assert.match(warnings(page.state)[0], /above the greatest/);
    assert.ok(emptiness(page.state, 0).offers.length > 0);
    page.choose({ maxmag: null });
    assert.deepEqual(warnings(page.state), []);
    assert.ok(page.action("load"));
  }
});

test("A list is never shown under a filter for which it was not loaded", () => {
  const page = new TestPage().live();
  page.choose({ minmag: 6 }).failed(503, "The database is not available.");
  assert.deepEqual(page.action("take").quakes, [], "the old list stays under the new filter");
  assert.equal(page.lamp, "lost");
  assert.match(warnings(page.state)[0], /The database is not available/);
  assert.equal(page.action("wait", { name: "retry" }).time, 4500);
  page.send("due", { name: "retry" }).failed();
  assert.equal(page.action("take"), undefined);
  page.send("due", { name: "retry" }).live();
  assert.equal(page.lamp, "live");
  assert.deepEqual(warnings(page.state), []);
});

test("A list that matches the filter stays while the server cannot be reached", () => {
  const page = new TestPage().live().send("silent");
  assert.equal(page.lamp, "lost");
  assert.equal(page.action("take"), undefined);
  page.healthy();
  assert.ok(page.action("follow"), "the page does not connect again");
  assert.equal(page.action("load"), undefined);
});

test("Each answer about the server's health checks the streams with the server's token", () => {
  assert.equal(new TestPage().live().healthy({ token: 9 }).action("check").token, 9);
});

test("After silence, the first check sends several requests, and the next ones send one", () => {
  const page = new TestPage().live();
  const times = () => page.send("due", { name: "check" }).action("ask").times;
  assert.equal(times(), 1);
  page.send("silent", { chance: 0.5 });
  assert.equal(page.action("wait", { name: "check" }).time, 4500);
  assert.equal(times(), 6);
  page.send("silent", { chance: 1 });
  assert.equal(times(), 1);
  page.healthy().send("silent");
  assert.equal(times(), 6);
});

test("If the device's clock was wrong, the page loads the events again, but not those of a past moment", () => {
  const set = (page) => page.send("healthy", { answer: { status: "ok", services: [] }, isClockSet: true }).action("load");
  assert.ok(set(new TestPage().live()));
  assert.equal(set(new TestPage("?asof=2026-11-02T00:00:00Z").loaded()), undefined);
});

test("A proxy that refuses the check, or a list that still arrives, does not end the stream", () => {
  const page = new TestPage().live().send("silent", { isBusy: true, chance: 1 });
  assert.equal(page.lamp, "live");
  assert.equal(page.action("unfollow"), undefined);
  assert.equal(page.action("wait", { name: "check" }).time, 20_000);
});

test("After a restart of the stream, marks stay if the database is the same; another database has no marks", () => {
  const page = new TestPage().live();
  const { since } = page.state;
  page.later(60).send("restarted", { position: "9_t_n_s", quakes: [], others: {} });
  assert.deepEqual([page.action("take").mark, page.action("take").keepsMarks, page.state.since], [true, true, since]);
  page.send("restarted", { position: "2_t_n_other", quakes: [] });
  assert.deepEqual([page.action("take").mark, page.state.since], [false, page.now]);
});

test("A load that has died silently is repeated once the server is reachable again", () => {
  const page = new TestPage().live().choose({ period: "week" });
  const { id } = page.state;
  page.send("silent").healthy();
  assert.ok(page.action("load"), "nothing is loaded");
  page.loaded(3, { id });
  assert.ok(page.state.load, "the answer to the dead request counts");
  assert.equal(page.live().lamp, "live");
});

test("If the list is not complete, changed events that are older than its events are not added", () => {
  const page = new TestPage("?period=range").loaded(2, { total: 5 }).send("opened").healthy();
  const change = { key: "q1", operation: "update", row: {} };
  assert.equal(page.send("reached", { position: "8_t_s", changes: [change] }).action("apply").start, page.now);
  page.loaded(2);
  page.send("restarted", { position: "9_t_s", quakes: [] }).send("reached", { position: "9_t_s", changes: [change] });
  assert.equal(page.action("apply").start, null);
});

test("The page is not live if its stream is cut or the server's database is lost", () => {
  assert.equal(new TestPage().live().send("cut").lamp, "lost");
  assert.equal(new TestPage().live().healthy({ status: "the database does not answer" }).lamp, "lost");
});

test("While the user moves the slider, the list of one moment is never shown under another moment", () => {
  const [first, second] = [start - 7_200_000, start - 3_600_000];
  const page = new TestPage().live().choose({ asof: first }, { delay: 150 });
  assert.equal(status(page.state).text, "Loading", "the list of another moment has the new moment's name");
  page.send("due", { name: "reload" });
  const { id } = page.state;
  page.choose({ asof: second }, { delay: 150 });
  page.send("loaded", { id, quakes: [{ code: "q90", time: first }], total: 1, position: "7_t_s" });
  assert.equal(page.action("take"), undefined, "the list of the first moment is shown under the second");
  assert.equal(page.lamp, "loading");
  page.send("due", { name: "reload" });
  assert.equal(page.action("load").asof, second);
  page.failed(503, "The database is not available.");
  assert.deepEqual(page.action("take").quakes, [], "a list that belongs to no answer stays");
  page.send("due", { name: "retry" }).loaded();
  assert.equal(page.lamp, "past");
});

test("A frame that arrives after the user has moved the slider is ignored", () => {
  const page = new TestPage().live().send("played", { moment: null, begin: start - 3_600_000, end: start }).loaded();
  page.send("due", { name: "frame" });
  const { id } = page.state;
  page.choose({ asof: start - 5000 }, { delay: 150 });
  assert.equal(page.lamp, "loading");
  page.send("loaded", { id, quakes: [], total: 0, position: "7_t_s" });
  assert.equal(page.action("take"), undefined);
});

test("A feed is late after 15 minutes or two and a half intervals of its worker, whichever is longer", () => {
  const service = (minutes, interval) => ({ services: [{ service: "s", generated: new Date(start - minutes * 60_000).toISOString(), interval }] });
  const lamp = (minutes, interval) => new TestPage().live().healthy(service(minutes, interval)).lamp;
  assert.equal(lamp(14), "live");
  assert.equal(lamp(16), "late");
  assert.equal(lamp(16, 60), "late");
  assert.equal(lamp(70, 3600), "live", "a worker that asks once an hour is not late");
  assert.equal(lamp(151, 3600), "late");
  const page = new TestPage().live().healthy(service(70, 3600));
  assert.deepEqual(warnings(page.state), []);
});

test("Warnings have times in the selected time zone", () => {
  const page = new TestPage("?zone=local").live()
    .healthy({ services: [{ service: "s", generated: "2026-11-24T05:00:00Z", interval: null }] });
  assert.doesNotMatch(warnings(page.state)[0], /UTC/);
  page.choose({ zone: "utc" });
  assert.match(warnings(page.state)[0], /05:00 UTC\./);
  const before = warnings(page.state);
  assert.deepEqual(warnings(page.later(600).send("tick").state), before, "a screen reader reads each new text");
  assert.equal(page.action("load"), undefined, "another time zone selects the same events");
});

test("The answer to an outdated request is ignored", () => {
  const page = new TestPage();
  const old = page.state.id;
  page.choose({ period: "week" });
  page.send("loaded", { id: old, quakes: [{ code: "old" }], total: 1, position: "1" });
  assert.equal(page.action("take"), undefined);
  page.send("failed", { id: old, status: 400, message: "old", chance: 0 });
  assert.equal(page.state.trouble, null);
  assert.ok(page.state.load);
});

test("A past state that the server does not have is requested only once, and the page offers to go back to now", () => {
  const page = new TestPage("?asof=2001-01-01T00:00:00Z").failed(400, "history begins later");
  assert.equal(page.lamp, "off");
  assert.match(warnings(page.state)[0], /history begins later/);
  assert.equal(page.action("wait", { name: "retry" }), undefined);
  assert.deepEqual(emptiness(page.state, 0).offers[0][1], { asof: null });
  assert.equal(page.choose({ asof: null }).live().lamp, "live");
});

test("Playing does not change the URL, so that Back leads to the view before playing", () => {
  const page = new TestPage("?minmag=4").live();
  const urls = [];
  const note = () => urls.push(...page.actions.filter((action) => action.do === "url"));
  page.send("played", { moment: null, begin: start - 3_600_000, end: start });
  note();
  for (let frames = 0; page.state.play; frames += 1) {
    assert.ok(frames < 100, "playing never ends");
    page.later(0.1).loaded();
    note();
    assert.equal(page.action("follow"), undefined, "a stream is open while the past is shown");
    assert.equal(page.action("take").mark, frames > 0);
    assert.equal(page.action("wait", { name: "frame" }).time, 200);
    page.later(0.2).send("due", { name: "frame" });
    note();
  }
  assert.deepEqual(urls.map(({ text }) => text), ["?minmag=4"], "playing changed the URL");
  assert.equal(page.state.settings.asof, null);
  assert.equal(page.loaded().send("opened").lamp, "live");
});

test("Pausing stays at the shown moment, and adds an entry to the browser's history", () => {
  const page = new TestPage().live().send("played", { moment: null, begin: start - 3_600_000, end: start }).loaded();
  page.send("paused");
  assert.match(page.action("url", { how: "push" }).text, /asof=2026-11-24T05:00/);
  assert.equal(page.action("wait", { name: "frame" }).time, null);
  assert.equal(page.lamp, "past");
});

test("Back, the slider and a failure stop playing", () => {
  const playing = () => new TestPage().live().send("played", { moment: null, begin: start - 3_600_000, end: start });
  assert.equal(playing().send("navigated", { settings: read("?minmag=2") }).state.play, null);
  assert.equal(playing().choose({ asof: start - 5000 }).state.play, null);
  assert.equal(playing().failed(503, "no").state.play, null);
});

test("A new selection closes the stream before it is loaded", () => {
  for (const changes of [{ asof: start - 1000 }, { period: "week" }, { minmag: 3 }]) {
    const { actions } = new TestPage().live().choose(changes);
    const names = actions.map((action) => action.do);
    assert.ok(names.indexOf("unfollow") < names.indexOf("load"), String(names));
  }
});

test("Choosing a place moves the map", () => {
  const page = new TestPage().live().choose({ map: [35.69, 139.75, 7] });
  assert.deepEqual(page.action("view").view, [35.69, 139.75, 7]);
  assert.equal(page.action("url").text, "?map=35.69,139.75,7");
  const { text, offers } = emptiness(page.choose({ search: "tokyo" }).state, 3, { zoom: 1, latitude: 35.69, longitude: 139.75, name: "Tokyo", country: "Japan" });
  assert.equal(text, "No place here matches “tokyo”.");
  assert.deepEqual(offers.map(([label]) => label), ["Near Tokyo, Japan", "Clear the search"]);
});

test("Settings that do not change the selection load nothing", () => {
  for (const changes of [{ sort: "largest" }, { color: "age" }, { inview: true }, { search: "chile" }, { event: "q91" }, { zone: "local" }]) {
    const page = new TestPage().live().choose(changes);
    assert.equal(page.action("load"), undefined);
    assert.equal(page.lamp, "live");
  }
});

test("After random events, the page is only live if its list is up to date", () => {
  // A linear congruential generator, so that a failure can be repeated.
  let seed = 24;
  const random = (below) => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below;
  for (let run = 0; run < 300; run += 1) {
    const page = new TestPage();
    const log = [];
    for (let count = 0; count < 40; count += 1) {
      const events = [
        () => page.loaded(random(4)), () => page.failed([null, 400, 503][random(3)], "no"), () => page.send("opened"),
        () => page.send("cut"), () => page.healthy({ token: 7 + random(3) }), () => page.send("silent"),
        () => page.choose({ minmag: random(5), maxmag: random(2) ? null : 2 }), () => page.choose({ asof: random(2) ? null : page.now - 1000 }),
        () => page.send("due", { name: ["reload", "retry", "check", "frame"][random(4)] }), () => page.send("tick"),
        () => page.send("navigated", { settings: read(random(2) ? "" : "?minmag=5&maxmag=4") }), () => page.send("paused"),
        () => page.send("played", { moment: null, begin: page.now - 3_600_000, end: page.now }),
        () => page.send("reached", { position: `${7 + random(3)}_t_s`, changes: [] }),
      ];
      const chosen = random(events.length);
      log.push(chosen);
      events[chosen]();
      page.later(random(30));
      const { state } = page;
      assert.ok(warnings(state).length <= 1, `several warnings: ${warnings(state)}`);
      const words = `run ${run}: ${log}`;
      if (page.lamp === "live") {
        assert.ok(state.stream === "open" && state.isReachable && state.hasDatabase && !state.load && !state.trouble, words);
        assert.equal(state.settings.asof, null, words);
      }
      assert.equal(state.play != null && state.settings.asof == null, false, words);
      if (state.stream !== "closed") assert.equal(state.load, null, words);
      // While the page says that it is loading, a request must be pending; otherwise it would wait for ever.
      if (page.lamp === "loading") assert.ok(state.load || state.stream === "opening", words);
    }
  }
});
