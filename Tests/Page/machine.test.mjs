// The page's state machine: its actions and texts, for all events in any order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { count, emptiness, isPastMissing, status, warnings } from "../../Sources/QuakeServer/Page/Files/words.js";
import { begin, step } from "../../Sources/QuakeServer/Page/Files/machine.js";
import { read } from "../../Sources/QuakeServer/Page/Files/settings.js";

const start = Date.parse("2026-11-24T06:00:00Z");

/** A page that receives events one after another, and keeps the actions that follow. */
class Played {
  constructor(search = "") {
    this.now = start;
    [this.state, this.actions] = begin(read(search), this.now);
  }

  tell(is, more = {}) {
    [this.state, this.actions] = step(Object.freeze(this.state), { is, now: this.now, ...more });
    return this;
  }

  loaded(number = 3, more = {}) {
    const quakes = Array.from({ length: number }, (_, index) => ({ code: `q9${index}`, time: this.now }));
    return this.tell("loaded", { id: this.state.id, quakes, total: number, position: "7_t_s", ...more });
  }

  live(number) {
    return this.loaded(number).tell("opened").healthy();
  }

  healthy(more = {}) {
    return this.tell("healthy", { answer: { status: "ok", token: 7, services: [], history_begins_at: "2026-11-01T00:00:00Z", ...more } });
  }

  failed(status = null, message = "") {
    return this.tell("failed", { id: this.state.id, status, message, chance: 0.5 });
  }

  later(seconds) {
    this.now += seconds * 1000;
    return this;
  }

  choose(changes, more = {}) {
    return this.tell("chosen", { changes, ...more });
  }

  /** The last action of a kind; undefined if there was none. */
  did(name, more = {}) {
    return this.actions.findLast((action) => action.do === name && Object.keys(more).every((key) => action[key] === more[key]));
  }

  get lamp() { return status(this.state).lamp; }
}

test("A server that is ending still has its database, and one whose database is silent has not", () => {
  const page = new Played().live();
  assert.deepEqual([page.healthy({ status: "the server is ending" }).lamp, warnings(page.state)], ["live", []]);
  assert.equal(page.healthy({ status: "the database does not answer" }).lamp, "lost");
  assert.equal(warnings(page.state).length, 1);
});

test("A lost database is one state and one sentence, as soon as the server has not heard from it for 10 s", () => {
  const away = { seconds_since_database_answered: 11, services: [{ service: "s", generated: "2026-11-24T05:00:00Z", interval: null }] };
  const page = new Played().live().healthy({ seconds_since_database_answered: 5 });
  assert.equal(page.lamp, "live");
  assert.equal(page.did("wait", { name: "check" }).time, 10_000);
  const words = () => [status(page.state).text, ...warnings(page.state)];
  page.healthy(away);
  assert.deepEqual(words(), ["Database away", "The database does not answer. What you see may be out of date. Trying again."]);
  assert.equal(page.did("wait", { name: "check" }).time, 3000);
  page.choose({ minmag: 6 }).failed(503, "The database is not available.");
  assert.ok(page.did("ask"), "it does not ask how the server is");
  page.healthy(away);
  assert.deepEqual(words(), ["Database away", "The database does not answer. Trying again."]);
  assert.equal(count(page.state, []), "Couldn’t load the list", "not: 0 earthquakes");
  assert.equal(emptiness(page.state, 0), null);
  page.healthy();
  assert.deepEqual(words(), ["Not connected", "The database is not available. Trying again."]);
  page.tell("due", { name: "retry" }).live();
  assert.deepEqual(words(), ["Live"]);
  assert.equal(count(page.state, []), "0 earthquakes");
});

test("A tab in the background asks less often", () => {
  const page = new Played().live().tell("healthy", { answer: { status: "ok", services: [] }, isInFront: false });
  assert.equal(page.did("wait", { name: "check" }).time, 20_000);
});

test("A past that is no longer kept, or never was, says so and shows nothing", () => {
  for (const [code, lamp, words] of [
    [410, "No longer kept", "The catalogue as it was 2026-10-01 00:00 UTC is no longer kept. The history begins 2026-11-01 00:00 UTC."],
    [400, "No such past", "Nothing is known of the catalogue as it was 2026-10-01 00:00 UTC. The history begins 2026-11-01 00:00 UTC."],
  ]) {
    const page = new Played("?asof=2026-10-01T00:00:00Z&event=q91").failed(code, "asof: history does not reach that far back").healthy();
    assert.deepEqual([status(page.state).text, ...warnings(page.state)], [lamp, words]);
    assert.ok(isPastMissing(page.state));
    assert.equal(page.state.isLoaded, false);
    assert.equal(count(page.state, []), "Nothing to show");
    assert.deepEqual(emptiness(page.state, 0).offers, [["Back to now", { asof: null }]]);
    assert.ok(!isPastMissing(page.choose({ asof: null }).live().state));
  }
});

test("An empty catalogue is not a quiet earth", () => {
  assert.deepEqual(emptiness(new Played("?asof=2026-11-02T00:00:00Z").loaded(0, { isBare: true }).state, 0),
    { text: "Nothing was imported yet at that time.", offers: [["Back to now", { asof: null }]] });
  const page = new Played().loaded(0, { isBare: true });
  assert.deepEqual([count(page.state, []), emptiness(page.state, 0).text], ["Empty catalogue", "Nothing was imported yet."]);
  page.tell("opened").tell("reached", { position: "7_t_s", changes: [] });
  assert.equal(emptiness(page.state, 0).text, "Nothing was imported yet.");
  page.tell("reached", { position: "8_t_s", changes: [] });
  assert.equal(emptiness(page.state, 0).text, "No earthquake of magnitude 2.5 or more in the last day.", "what was imported does not match");
});

test("It says when files of the page are refused, until all of them have come", () => {
  const page = new Played().live().tell("withheld", { count: 2 });
  assert.deepEqual(warnings(page.state), ["Couldn’t load all of the map. Retrying."]);
  assert.equal(page.lamp, "live", "the list is what it was");
  assert.deepEqual(warnings(page.tell("withheld", { count: 0 }).state), []);
});

test("It loads, follows, and is live once the stream is open", () => {
  const page = new Played("?minmag=4");
  assert.equal(page.lamp, "loading");
  assert.equal(page.did("load").selection.get("minmagnitude"), "4");
  page.loaded();
  assert.equal(page.did("take").quakes.length, 3);
  assert.equal(page.did("follow").position, "7_t_s");
  assert.equal(page.lamp, "loading", "the stream has not answered");
  page.tell("opened");
  assert.equal(page.lamp, "live");
});

test("An empty selection says so, with what would fill it", () => {
  const page = new Played("?minmag=9.5");
  assert.equal(emptiness(page.state, 0), null, "unknown yet");
  page.loaded(0);
  const { text, offers } = emptiness(page.state, 0);
  assert.equal(text, "No earthquake of magnitude 9.5 or more in the last day.");
  assert.deepEqual(offers.map(([, changes]) => changes), [{ minmag: null, maxmag: null }, { period: "week" }]);
});

test("A contradictory filter shows nothing and is not live; a link to one does not load for ever", () => {
  for (const page of [new Played("?minmag=5&maxmag=4"), new Played("?minmag=5").live().choose({ maxmag: 4 })]) {
    assert.equal(page.lamp, "off");
    assert.deepEqual(page.did("take").quakes, []);
    assert.ok(page.did("unfollow"));
    assert.equal(page.did("load"), undefined);
    assert.match(warnings(page.state)[0], /above the greatest/);
    assert.ok(emptiness(page.state, 0).offers.length > 0);
    page.choose({ maxmag: null });
    assert.deepEqual(warnings(page.state), []);
    assert.ok(page.did("load"));
  }
});

test("A list never stands under another filter than its own", () => {
  const page = new Played().live();
  page.choose({ minmag: 6 }).failed(503, "The database is not available.");
  assert.deepEqual(page.did("take").quakes, [], "the old list stays under the new filter");
  assert.equal(page.lamp, "lost");
  assert.match(warnings(page.state)[0], /The database is not available/);
  assert.equal(page.did("wait", { name: "retry" }).time, 4500);
  page.tell("due", { name: "retry" }).failed();
  assert.equal(page.did("take"), undefined);
  page.tell("due", { name: "retry" }).live();
  assert.equal(page.lamp, "live");
  assert.deepEqual(warnings(page.state), []);
});

test("A list that stands under its own filter stays while the server is away", () => {
  const page = new Played().live().tell("silent");
  assert.equal(page.lamp, "lost");
  assert.equal(page.did("take"), undefined);
  page.healthy();
  assert.ok(page.did("follow"), "it does not connect again");
  assert.equal(page.did("load"), undefined);
});

test("A stream that is dead without a word is noticed by the server's position, and reopened", () => {
  const page = new Played().live();
  page.later(20).healthy({ token: 9 });
  assert.equal(page.did("follow"), undefined, "what was just committed may still be on its way");
  page.later(20).healthy({ token: 9 });
  assert.equal(page.did("follow").position, "7_t_s");
  assert.notEqual(page.lamp, "live");
  page.tell("opened").tell("reached", { position: "9_t_s", changes: [] });
  page.later(20).healthy({ token: 9 }).later(20).healthy({ token: 9 });
  assert.equal(page.did("follow"), undefined);
  assert.equal(page.lamp, "live");
});

test("A stream that is cut, or a database that is lost, is not live", () => {
  assert.equal(new Played().live().tell("cut").lamp, "lost");
  assert.equal(new Played().live().healthy({ status: "the database does not answer" }).lamp, "lost");
});

test("The feed is late after 15 minutes, or after two and a half of its own intervals", () => {
  const service = (minutes, interval) => ({ services: [{ service: "s", generated: new Date(start - minutes * 60_000).toISOString(), interval }] });
  const lamp = (minutes, interval) => new Played().live().healthy(service(minutes, interval)).lamp;
  assert.equal(lamp(14), "live");
  assert.equal(lamp(16), "late");
  assert.equal(lamp(16, 60), "late");
  assert.equal(lamp(70, 3600), "live", "a worker that asks once an hour is not late");
  assert.equal(lamp(151, 3600), "late");
  const page = new Played().live().healthy(service(70, 3600));
  assert.deepEqual(warnings(page.state), []);
});

test("Warnings are in the zone of now", () => {
  const page = new Played("?zone=local").live()
    .healthy({ services: [{ service: "s", generated: "2026-11-24T05:00:00Z", interval: null }] });
  assert.doesNotMatch(warnings(page.state)[0], /UTC/);
  page.choose({ zone: "utc" });
  assert.match(warnings(page.state)[0], /05:00 UTC \(1 h ago\)/);
  assert.equal(page.did("load"), undefined, "another zone selects the same");
});

test("An answer to an older question is not taken", () => {
  const page = new Played();
  const old = page.state.id;
  page.choose({ period: "week" });
  page.tell("loaded", { id: old, quakes: [{ code: "old" }], total: 1, position: "1" });
  assert.equal(page.did("take"), undefined);
  page.tell("failed", { id: old, status: 400, message: "old", chance: 0 });
  assert.equal(page.state.trouble, null);
  assert.ok(page.state.load);
});

test("A past that the server does not have is refused once, and now is a way back", () => {
  const page = new Played("?asof=2001-01-01T00:00:00Z").failed(400, "history begins later");
  assert.equal(page.lamp, "off");
  assert.match(warnings(page.state)[0], /history begins later/);
  assert.equal(page.did("wait", { name: "retry" }), undefined);
  assert.deepEqual(emptiness(page.state, 0).offers[0][1], { asof: null });
  assert.equal(page.choose({ asof: null }).live().lamp, "live");
});

test("Playing leaves the URL alone, so that Back leads to where one was", () => {
  const page = new Played("?minmag=4").live();
  const urls = [];
  const note = () => urls.push(...page.actions.filter((action) => action.do === "url"));
  page.tell("played", { moment: null, begin: start - 3_600_000, end: start });
  note();
  for (let frames = 0; page.state.play; frames += 1) {
    assert.ok(frames < 100, "it never ends");
    page.later(0.1).loaded();
    note();
    assert.equal(page.did("follow"), undefined, "the past is not followed");
    assert.equal(page.did("take").mark, frames > 0);
    assert.equal(page.did("wait", { name: "frame" }).time, 200);
    page.later(0.2).tell("due", { name: "frame" });
    note();
  }
  assert.deepEqual(urls.map(({ text }) => text), ["?minmag=4"], "the URL is another one after playing");
  assert.equal(page.state.settings.asof, null);
  assert.equal(page.loaded().tell("opened").lamp, "live");
});

test("Pausing stays where it is, in its own entry", () => {
  const page = new Played().live().tell("played", { moment: null, begin: start - 3_600_000, end: start }).loaded();
  page.tell("paused");
  assert.match(page.did("url", { how: "push" }).text, /asof=2026-11-24T05:00/);
  assert.equal(page.did("wait", { name: "frame" }).time, null);
  assert.equal(page.lamp, "past");
});

test("Back, the slider and a failure end playing", () => {
  const playing = () => new Played().live().tell("played", { moment: null, begin: start - 3_600_000, end: start });
  assert.equal(playing().tell("navigated", { settings: read("?minmag=2") }).state.play, null);
  assert.equal(playing().choose({ asof: start - 5000 }).state.play, null);
  assert.equal(playing().failed(503, "no").state.play, null);
});

test("Each action of the past and each selection closes the stream first", () => {
  for (const changes of [{ asof: start - 1000 }, { period: "week" }, { minmag: 3 }]) {
    const { actions } = new Played().live().choose(changes);
    const names = actions.map((action) => action.do);
    assert.ok(names.indexOf("unfollow") < names.indexOf("load"), String(names));
  }
});

test("A chosen place moves the map", () => {
  const page = new Played().live().choose({ map: [35.69, 139.75, 7] });
  assert.deepEqual(page.did("view").view, [35.69, 139.75, 7]);
  assert.equal(page.did("url").text, "?map=35.69,139.75,7");
  const { text, offers } = emptiness(page.choose({ search: "tokyo" }).state, 3, { zoom: 1, latitude: 35.69, longitude: 139.75, name: "Tokyo", country: "Japan" });
  assert.equal(text, "No place here matches “tokyo”.");
  assert.deepEqual(offers.map(([label]) => label), ["Near Tokyo, Japan", "Clear the search"]);
});

test("What only shows differently loads nothing", () => {
  for (const changes of [{ sort: "largest" }, { color: "age" }, { inview: true }, { search: "chile" }, { event: "q91" }, { zone: "local" }]) {
    const page = new Played().live().choose(changes);
    assert.equal(page.did("load"), undefined);
    assert.equal(page.lamp, "live");
  }
});

test("In any order of events, nothing is shown as live that is not", () => {
  // A linear congruential generator, so that a failure can be repeated.
  let seed = 24;
  const random = (below) => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below;
  for (let run = 0; run < 300; run += 1) {
    const page = new Played();
    const log = [];
    for (let count = 0; count < 40; count += 1) {
      const events = [
        () => page.loaded(random(4)), () => page.failed([null, 400, 503][random(3)], "no"), () => page.tell("opened"),
        () => page.tell("cut"), () => page.healthy({ token: 7 + random(3) }), () => page.tell("silent"),
        () => page.choose({ minmag: random(5), maxmag: random(2) ? null : 2 }), () => page.choose({ asof: random(2) ? null : page.now - 1000 }),
        () => page.tell("due", { name: ["reload", "retry", "check", "frame"][random(4)] }), () => page.tell("tick"),
        () => page.tell("navigated", { settings: read(random(2) ? "" : "?minmag=5&maxmag=4") }), () => page.tell("paused"),
        () => page.tell("played", { moment: null, begin: page.now - 3_600_000, end: page.now }),
        () => page.tell("reached", { position: `${7 + random(3)}_t_s`, changes: [] }),
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
      // While it says that it is loading, a request must be pending, or else it would wait for ever.
      if (page.lamp === "loading") assert.ok(state.load || state.stream === "opening", words);
    }
  }
});
