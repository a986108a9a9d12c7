"""Checks of the live page for problems that users have reported. Tests/page.py runs them."""

import urllib.parse
import urllib.request

from page_support import CuttableProxy, allow_connections, drop, expect, just_now, put, sql

# A desktop, a small laptop, a tablet, a phone in portrait and in landscape, and a desktop with a zoom of 200 %.
SIZES = [(1440, 900), (1024, 600), (820, 1180), (390, 844), (844, 390), (720, 450)]


def rectangles(page, *selectors):
    return page.browser.run("return arguments[0].map((each) => document.querySelector(each).getBoundingClientRect().toJSON())", selectors)


def overlap(one, other):
    return (one["left"] < other["right"] - 1 and other["left"] < one["right"] - 1
            and one["top"] < other["bottom"] - 1 and other["top"] < one["bottom"] - 1)


def empty_selection(page):
    for _ in range(4):
        page.open("?minmag=9.5")
        page.browser.wait("the count", lambda: page.browser.text("#count") == "0 earthquakes")
        expect("No earthquake of magnitude 9.5 or more in the last day." in page.browser.text("#empty"),
               "the page does not say why the list is empty")
    page.browser.run("document.querySelector('#empty button').click()")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day'")))
    expect(page.browser.run("return document.getElementById('empty').hidden"), "the text about the empty list stays")


def states_after_failures(page):
    """After contradictory filters and a stopped server, the status and the list are correct."""
    page.open("?minmag=5&maxmag=4")
    page.wait_for_state("off")
    page.wait_for_warning("above the greatest")
    page.browser.run("document.querySelector('#empty button').click()")
    page.wait_for_state("live", "late")
    page.choose("preset", "2.5")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day' and magnitude >= 2.5")))
    page.server.stop()
    page.choose("preset", "1")
    page.wait_for_state("lost")
    page.browser.wait(
        "the old list to disappear", lambda: page.browser.run("return document.querySelectorAll('.row').length") == 0)
    page.browser.wait("the message instead of a count", lambda: page.browser.text("#count") == "Couldn’t load the list")
    page.server.start()
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day' and magnitude >= 1")))
    page.wait_for_state("live", "late")
    page.wait_for_no_warning()


def database_unavailable(page):
    """If the database is unavailable, the page shows one state and one warning, whether or not a list was loaded."""
    def shows(*words):
        page.browser.run("dispatchEvent(new Event('online'))")
        return [page.browser.text(part) for part in ("#state", "#warnings", "#count", "#empty")[:len(words)]] == list(words)

    page.open("?period=week")
    before = page.browser.text("#count")
    allow_connections(False)
    try:
        page.browser.wait("the warning, with the list", lambda: shows(
            "Database unavailable", "The database does not answer. What you see may be out of date. Trying again.", before))
        # No other check loads this list, so the browser has no answer in its cache.
        page.choose("preset", "6")
        page.browser.wait("the warning, without a list", lambda: shows(
            "Database unavailable", "The database does not answer. Trying again.", "Couldn’t load the list", ""))
    finally:
        allow_connections(True)
    page.wait_for_state("live", "late")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '7 days' and magnitude >= 6")))
    page.wait_for_no_warning()


def unavailable_pasts(page):
    """For a time before the recorded history, the page shows no current data. For a time before the first import, it says that
    nothing had been imported."""
    put("q9then", 4.0, "then")
    between = sql("select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    put("q9then", 5.0, "later")
    page.open("?asof=2001-01-01T00:00:00Z&event=q9then")
    page.wait_for_warning("There is no record of the catalogue as of 2001-01-01 00:00 UTC.")
    page.browser.wait("the empty list", lambda: page.browser.text("#count") == "Nothing to show")
    shown = page.browser.run("return [document.getElementById('detail').hidden, document.title, document.querySelectorAll('.row').length]")
    expect(shown == [True, "Quakes", 0], f"the page shows data although the past is unknown: {shown}")
    page.browser.run("document.querySelector('#empty button').click()")
    page.browser.wait("the current state of the event", lambda: page.browser.text(".large") == "5.0")
    page.open(f"?asof={between}&event=q9then&minmag=6")
    page.browser.wait("the past state of the event", lambda: page.browser.text(".large") == "4.0")
    begin = sql("select to_char(pruned_committed_at at time zone 'utc' + interval '1 ms', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') from history.store")
    page.open(f"?asof={begin}&event=q9then")
    page.browser.wait(
        "the message that the event was missing",
        lambda: "The event was not in the catalogue at that time." in (page.browser.text("#detail") or ""))
    page.browser.run("document.querySelector('#detail > button').click()")
    page.browser.wait(
        "the message about the empty catalogue",
        lambda: "Nothing had been imported at that time." in (page.browser.text("#empty") or ""))
    drop("q9then")


def dead_stream(page):
    """If a stream dies without an error, the page notices that the stream stays behind the server's token."""
    def noticed():
        page.browser.run("dispatchEvent(new Event('online'))")
        return page.row("q9deaf")

    with CuttableProxy(page.server.port) as path:
        page.open(port=path.port)
        page.browser.wait("the stream to be open", lambda: path.streams)
        path.silence_streams()
        put("q9deaf", 4.8, minutes=0)
        page.browser.wait("the event", noticed)
        drop("q9deaf")
        page.wait_for_row("q9deaf", "Withdrawn")


def open_event(page):
    """An open event stays up to date even if the filters do not select it. The reader of its story stays where he is."""
    def check():
        page.browser.run("dispatchEvent(new Event('online'))")

    put("q9open", 5.0, "somewhere")
    for number in range(30):
        put("q9open", 5.0, f"place {number}")
    page.open("?event=q9open&minmag=9")
    page.browser.wait("the event's story", lambda: page.browser.run("return document.querySelectorAll('.step').length") == 31)
    page.browser.run("document.querySelectorAll('.step button')[20].focus()")
    before = page.browser.run("return document.getElementById('detail').scrollTop")
    expect(before > 0, "the story is not scrolled")
    put("q9open", 5.5, "elsewhere")
    page.browser.wait("the revision", lambda: check() or page.browser.text(".large") == "5.5")
    page.browser.wait("the new step", lambda: page.browser.run("return document.querySelectorAll('.step').length") == 32)
    expect(page.browser.run("return document.activeElement === document.querySelectorAll('.step button')[20]"), "the focus has moved")
    after = page.browser.run("return document.getElementById('detail').scrollTop")
    expect(abs(after - before) < 100, f"the story was scrolled from {before} to {after}")
    drop("q9open")
    page.browser.wait("the withdrawal", lambda: check() or "This event was withdrawn" in page.browser.text("#detail"))
    page.browser.wait("the title without the event", lambda: page.browser.run("return document.title") == "Quakes")


def left_page(page):
    """A page that the user has left has no stream, even if the browser keeps the page. When the user comes back, the page shows
    what has changed."""
    def wait_for_streams(number):
        def found():
            with urllib.request.urlopen(f"http://127.0.0.1:{page.server.port}/metrics") as answer:
                return f"\nquakes_live_clients {number}\n" in answer.read().decode()
        page.browser.wait(f"{number} streams", found)

    page.open()
    wait_for_streams(1)
    page.browser.run("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    wait_for_streams(0)
    put("q9left", 4.8, minutes=0)
    page.browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    page.wait_for_row("q9left")

    page.open("?minmag=1")
    wait_for_streams(1)
    put("q9left", 4.9, minutes=0)
    page.browser.run("history.back()")
    page.wait_for_row("q9left", "4.9")
    drop("q9left")


def back_after_play(page):
    page.open("?minmag=1")
    page.choose("preset", "2.5")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day' and magnitude >= 2.5")))
    before = page.browser.run("return [location.search, history.length]")
    page.browser.click("#play")
    page.wait_for_state("past")
    page.wait_for_state("live", "late")
    expect(page.browser.run("return [location.search, history.length]") == before,
           f"after playing, the URL or the length of the browser's history has changed: {page.browser.url}")
    page.browser.post("/back")
    page.browser.wait("the previous filter", lambda: page.query() == {"minmag": ["1"]})


def time_zone(page):
    put("q9zone", 4.8, minutes=0)
    page.open(f"?period=range&from={sql('select current_date - 1')}T00:00:00Z&event=q9zone")
    page.browser.wait("the story", lambda: page.browser.text(".story ol"))
    page.browser.devtools("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    page.choose("zone", "local")
    page.browser.wait("local times", lambda: "UTC" not in (page.browser.text(".story") or "UTC"))
    facts = page.browser.run("""return [...document.querySelectorAll('dt')].map((dt) => [dt.textContent, dt.nextSibling.textContent])""")
    with_utc = [fact for fact in facts if "UTC" in fact[1]]
    expect([name for name, _ in with_utc] == ["UTC"], f"these times are in UTC: {with_utc}")
    page.browser.run("document.querySelector('#detail > button').click()")
    row = page.wait_for_row("q9zone", "4.8")
    expect("UTC" not in row, f"the row has a time in UTC: {row}")
    shown = page.browser.run("return document.querySelector('[name=from]').value")
    page.choose("zone", "utc")
    page.browser.wait(
        "the field to change its time zone",
        lambda: page.browser.run("return document.querySelector('[name=from]').value") != shown)
    page.browser.devtools("Emulation.setTimezoneOverride", {"timezoneId": ""})
    drop("q9zone")


def quarry_blast(page):
    put("q9blast", 7.8, "a quarry", minutes=0, type="quarry blast")
    put("q9quake", 7.9, "a fault", minutes=0, type="earthquake")
    page.open("?minmag=7.5")
    page.browser.wait("the count", lambda: page.browser.text("#count") == "1 earthquake, 1 other")
    page.wait_for_row("q9blast", "Quarry blast")
    others = page.browser.run("return [...document.querySelectorAll('.dot.other')].map((dot) => dot.closest('.row')?.dataset.code ?? 'legend')")
    expect(sorted(others) == ["legend", "q9blast"], f"these are drawn as other events: {others}")
    drop("q9blast", "q9quake")


def canvas_at_rest(page):
    """An event outside the visible map must not make the canvas draw for ever."""
    browser = page.browser
    browser.calm = False
    browser.emulate((1440, 900), False)
    try:
        page.open("?map=20,10,5")
        browser.run("""
            window.drawn = 0;
            const real = CanvasRenderingContext2D.prototype.fillRect;
            CanvasRenderingContext2D.prototype.fillRect = function (...all) { window.drawn += 1; return real.apply(this, all); };""")
        put("q9unseen", 4.4, minutes=0, longitude=-120, latitude=-40)
        page.wait_for_row("q9unseen", "New")

        def rests():
            before = browser.run("return window.drawn")
            browser.run_async("for (let frame = 0; frame < 20; frame += 1) await new Promise(requestAnimationFrame);")
            return browser.run("return window.drawn") == before
        browser.wait("the canvas to stop drawing", rests)
    finally:
        browser.calm = True
        browser.emulate((1440, 900), False)
        drop("q9unseen")


def unchanged_rows(page):
    """A visible row keeps its elements when other rows change, so that clicks work, and selected text stays selected."""
    put("q9stay", 4.4, "Stayington", minutes=3)
    page.open("?sort=largest")
    page.open("?search=Stayington")
    page.wait_for_row("q9stay", "Stayington")
    page.browser.run("""
        window.kept = document.querySelector(".row .place");
        getSelection().selectAllChildren(window.kept);""")
    put("q9more", 4.5, "More of Stayington", minutes=0)
    page.wait_for_row("q9more", "New")
    kept = page.browser.run("return [window.kept.isConnected, String(getSelection())]")
    expect(kept == [True, "Stayington"], f"the row's element or its selected text has changed: {kept}")
    drop("q9stay", "q9more")


def stored_by_another_version(page):
    page.open()
    page.browser.run("localStorage.setItem('quakes.alerts', JSON.stringify({ gone: { a: 1 }, on: false, magnitude: 'x' }))")
    page.open()
    expect(page.count() > 0, "the page does not work")
    page.browser.run("localStorage.clear()")


def nothing_over_the_map(page):
    """In all sizes, the controls do not cover the map. With the default filters, the whole map is in view."""
    problems = []
    for size in SIZES:
        page.browser.emulate(size, False)
        for query in ("", "?period=range"):
            page.open(query)
            if query and page.browser.run("return getComputedStyle(document.getElementById('toggle-filters')).display") != "none":
                page.browser.click("#toggle-filters")
            page.browser.run("document.getElementById('legend').open = true")
            others = ["#legend", ".pad", "#timeline", "#list"]
            frame, *found = rectangles(page, "#map-frame", *others)
            problems += [f"{size} {query}: {other} covers the map" for other, each in zip(others, found) if overlap(frame, each)]
            page.browser.run("document.getElementById('legend').open = false")
            frame, = rectangles(page, "#map-frame")
            if not query and (frame["bottom"] > size[1] or frame["bottom"] - frame["top"] < 140):
                problems.append(f"{size} {query}: the map is at {frame}")
            if page.browser.run("return document.documentElement.scrollWidth > innerWidth"):
                problems.append(f"{size} {query}: the page is wider than the screen")
    page.browser.emulate((1440, 900), False)
    expect(not problems, "\n".join(problems))


def chosen_on_the_map(page):
    """The map moves to an event that is chosen in the list. On the map, events can be chosen with the keyboard."""
    put("q9south", 7.6, "Drake Passage", minutes=1, longitude=-61.8, latitude=-60.2)
    page.open("?minmag=7.5")
    page.browser.click(".row[data-code='q9south']")
    page.browser.wait("the map to move to the event", lambda: "map" in page.query())
    latitude, longitude, zoom = map(float, page.query()["map"][0].split(","))
    expect(abs(latitude + 60.2) < 1 and abs(longitude + 61.8) < 1 and zoom >= 2.9, f"the map is at {page.query()['map']}")
    page.browser.run("document.querySelector('#detail > button').click()")
    page.browser.wait("the list", lambda: "event" not in page.query())
    page.browser.run("document.getElementById('map').focus()")
    page.browser.press("PageDown")
    said = page.browser.wait("the text for screen readers", lambda: page.browser.text("#visited"))
    expect("magnitude 7.6, Drake Passage" in said, f"screen readers get {said}")
    page.browser.press("Enter")
    page.browser.wait("the event", lambda: page.query().get("event") == ["q9south"])
    drop("q9south")


def tooltip(page):
    put("q9tip", 5.5, "Tipton", minutes=1, longitude=10, latitude=20)
    page.open("?map=20,10,4&minmag=5.4")
    page.wait_for_row("q9tip", "Tipton")
    frame, = rectangles(page, "#map-frame")
    x, y = (frame["left"] + frame["right"]) / 2, (frame["top"] + frame["bottom"]) / 2
    page.browser.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
        {"type": "pointerMove", "x": int(x) - 20, "y": int(y) - 20, "duration": 0},
        {"type": "pointerMove", "x": int(x), "y": int(y), "duration": 0}]}]})
    said = page.browser.wait("the tooltip", lambda: (text := page.browser.text("#pointed")) and "Tipton" in text and text)
    for words in ("5.5", " min ago", "12 km deep", "UTC"):
        expect(words in said, f"the tooltip does not contain {words}: {said}")
    box, = rectangles(page, "#pointed")
    expect(abs(box["left"] - x) < 40 and abs(box["top"] - y) < 40, f"the pointer is at {x}, {y}, but the tooltip is at {box}")
    page.browser.run("document.getElementById('map').focus()")
    page.browser.press("Escape")
    page.browser.wait("the tooltip to be hidden", lambda: page.browser.run("return document.getElementById('pointed').hidden"))
    drop("q9tip")


def emphasis(page):
    put("q9big", 7.8, "Bigtown", minutes=2, alert="orange", tsunami="true", felt="1234")
    put("q9tiny", -0.4, "Tinytown", minutes=1)
    page.open("?minmag=all")
    page.wait_for_row("q9big", "PAGER orange", "Tsunami notice", "Felt: 1,234", "12 km deep")
    page.wait_for_row("q9tiny", "−0.4")
    dots = page.browser.run("""return [...document.querySelectorAll(".row .dot")].map((dot) => {
        const { width, height } = dot.getBoundingClientRect(); return Math.abs(width - height); })""")
    expect(dots and max(dots) < 0.1, f"the dots are not round; width minus height: {dots}")
    sizes = page.browser.run("""return ["q9big", "q9tiny"].map((code) => {
        const style = getComputedStyle(document.querySelector(`[data-code=${code}] .magnitude`));
        return [parseFloat(style.fontSize), Number(style.fontWeight)]; })""")
    expect(sizes[0][0] > 1.4 * sizes[1][0] and sizes[0][1] > sizes[1][1],
           f"the large event's figures are not larger and bolder: {sizes}")
    drop("q9big", "q9tiny")


# The parts of the list's rows that are cut off.
CUT = """
    const cut = [];
    for (const row of document.querySelectorAll(".row")) {
      const frame = row.getBoundingClientRect();
      const words = row.querySelector(".words").getBoundingClientRect();
      const facts = row.querySelector(".facts > span");
      if (facts.scrollWidth > facts.clientWidth) cut.push(`cut: ${facts.textContent}`);
      const figures = document.createRange();
      figures.selectNode(row.querySelector(".magnitude").lastChild);
      if (figures.getBoundingClientRect().right > words.left) cut.push(`${row.querySelector(".magnitude").textContent} runs into the text`);
      for (const part of row.querySelectorAll(".badge, .mark, .facts > span")) {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        if (left < words.left - 1 || right > words.right + 1 || top < frame.top || bottom > frame.bottom) cut.push(`outside: ${part.textContent}`);
      }
    }
    return cut;"""


def complete_rows(page):
    """In all sizes, a row shows its time, magnitude and badges in full, even if it has an agency, a mark and all badges."""
    all_of_it = {"alert": "red", "tsunami": "true", "felt": "12345", "type": "mine collapse"}
    put("us9whole", 8.7, "136 km ESE of Petropavlovsk-Kamchatsky, Russia", minutes=1, **all_of_it)
    put("us9other", 7.6, "222 km SW of Sarangani, Philippines", minutes=1400, alert="green", felt="3")
    put("gfz:gfz9whole", 8.6, "Near East Coast of Kamchatka", minutes=1)
    sql("update quake set net = split_part(code, ':', 1), depth = 28.9 where code = 'gfz:gfz9whole'")
    sql("update quake set net = 'us', depth = 28.9 where code in ('us9whole', 'us9other')")
    problems = []
    for size in [*SIZES, (320, 568)]:
        page.browser.emulate(size, False)
        page.open("?minmag=7.5&sort=largest")
        page.wait_for_row("us9whole", "UTC", "29 km deep", "USGS")
        put("us9whole", 8.9, "136 km ESE of Petropavlovsk-Kamchatsky, Russia", minutes=1)
        page.wait_for_row("us9whole", "Revised")
        problems += [f"{size}: {each}" for each in page.browser.run(CUT)]
        put("us9whole", 8.7, "136 km ESE of Petropavlovsk-Kamchatsky, Russia", minutes=1)
    drop("us9whole", "us9other", "gfz:gfz9whole")
    # Without an agency, only a date may need a second line.
    put("us9old", 8.8, "136 km ESE of Petropavlovsk-Kamchatsky, Russia", minutes=40_000)
    for size in [(375, 812), (360, 800), (320, 700), (720, 450)]:
        page.browser.emulate(size, False)
        page.open("?minmag=7.5&period=month")
        page.wait_for_row("us9old", "d ago")
        problems += [f"{size}: {each}" for each in page.browser.run(CUT)]
    page.browser.emulate((1440, 900), False)
    drop("us9old")
    expect(not problems, "\n".join(problems))


def on_a_phone(page):
    """On small screens, the open legend is as wide as the map, the slider stays in view, and the title overlaps nothing."""
    problems = []
    for size in ((390, 844), (844, 390), (320, 568), (720, 450)):
        page.browser.emulate(size, False)
        for query in ("", f"?asof={just_now()}"):
            page.open(query)
            parts = rectangles(page, "h1", "#state", ".tools")
            if any(overlap(one, other) for one in parts for other in parts if one is not other):
                problems.append(f"{size} {query}: parts of the header overlap: {parts}")
        page.browser.click("#legend summary")
        legend, map_frame, slider = rectangles(page, "#legend", "#map-frame", "#timeline")
        if legend["right"] - legend["left"] < 0.8 * (map_frame["right"] - map_frame["left"]):
            problems.append(f"{size}: the legend is too narrow: {legend}")
        if slider["bottom"] > size[1] + 1 or slider["top"] < legend["bottom"] - 1:
            problems.append(f"{size}: the slider is out of view or under the legend: {slider}, {legend}")
        if page.browser.run("return document.querySelectorAll('.row').length") > 40:
            problems.append(f"{size}: the list has elements for invisible rows")
    page.browser.emulate((1440, 900), False)
    expect(not problems, "\n".join(problems))


def plain_words(page):
    """The details of an event use everyday words."""
    put("q9plain", 7.8, "Plainville", minutes=2, alert="orange", tsunami="true", felt="1234", cdi="9.1", mmi="6.2", magnitude_type="mww",
        url="https://earthquake.usgs.gov/earthquakes/eventpage/q9plain", types="{origin,shakemap,dyfi,losspager}", status="automatic")
    sql("update quake set sources = '{q9}', updated = now() where code = 'q9plain'")
    page.open("?event=q9plain")
    text = page.browser.wait("the summary", lambda: page.browser.text("#detail dl"))
    for words in ("7.8 (mww)", "IX, violent, from 1,234 reports", "VI, strong, from instruments", "PAGER orange: many are likely",
                  "does not say that there is a tsunami"):
        expect(words in text, f"the details do not contain {words}: {text}")
    links = page.browser.run("return [...document.querySelectorAll('.links a')].map((a) => a.href)")
    for end in ("/q9plain/shakemap/intensity", "/q9plain/dyfi/intensity", "/q9plain/pager", "tsunami.gov/"):
        expect(any(link.endswith(end) for link in links), f"there is no link to {end}: {links}")
    story = page.browser.wait("the story", lambda: page.browser.text(".story ol"))
    expect("Changed: sources" in story, f"the story does not say what changed: {story}")
    drop("q9plain")


def back_to_fields(page):
    """After Back, a field shows the earlier setting even while it has the focus."""
    page.open()
    page.browser.run("""
        const field = document.querySelector("[name=minmag]");
        field.focus();
        field.value = "5";
        field.dispatchEvent(new Event("change", { bubbles: true }));""")
    page.browser.wait("the filter", lambda: "minmag" in page.query())
    page.browser.run("document.querySelector('[name=minmag]').focus(); history.back()")
    page.browser.wait("the earlier filter", lambda: "minmag" not in page.query())
    page.browser.wait(
        "the earlier value", lambda: page.browser.run("return document.querySelector('[name=minmag]').value") != "5")


def search(page):
    put("q9search", 4.4, "5 km N of Höfn, Iceland", minutes=1)
    page.open("?period=week")
    everything = page.count()
    page.browser.type("[name=search]", "hofn")
    page.wait_for_count(1)
    page.wait_for_row("q9search", "Höfn")
    expect(page.query()["search"] == ["hofn"], "the URL does not have the search")
    page.browser.type("[name=search]", "nowhere at all")
    page.browser.wait("the text about the empty list", lambda: "No place here matches" in (page.browser.text("#empty") or ""))
    page.browser.run("document.querySelector('#empty button').click()")
    page.wait_for_count(everything)
    put("q9honshu", 4.4, "southeast of Honshu", minutes=1, longitude=140.5, latitude=35.2)
    page.browser.type("[name=search]", "tokyo")
    page.browser.wait(
        "the offer to show events near the town", lambda: "Near Tokyo, Japan" in (page.browser.text("#empty") or ""))
    page.browser.press("Enter")
    page.browser.wait("the map to move to the town", lambda: page.query().get("map") == ["35.69,139.75,7"])
    page.browser.run("document.querySelector('#empty button').click()")
    page.wait_for_row("q9honshu", "southeast of Honshu")
    expect(page.row("q9search") is None and page.query()["inview"] == ["1"], "the list has an event far from the town")
    page.browser.wait("the towns", lambda: page.browser.run("return document.getElementById('towns').children.length") > 1000)
    drop("q9search", "q9honshu")


def default_settings(page):
    """By default, the list has the larger events of a day. On a phone, one tap shows all events. Distances can be in miles."""
    put("q9small", 1.2, "13 km N of Smalltown", minutes=1)
    put("q9large", 5.2, "13 km N of Largetown", minutes=1)
    page.browser.emulate((390, 844), False)
    try:
        page.open()
        page.wait_for_row("q9large", "12 km deep", "13 km N")
        expect(page.row("q9small") is None, "a small event is listed by default")
        expect(page.browser.run("return document.getElementById('which').innerText.trim()") == "M 2.5+, last day",
               "the page does not say which events are listed")
        page.browser.click("#all button")
        page.wait_for_row("q9small", "1.2")
        expect(page.query() == {"minmag": ["all"]}, f"the URL is {page.browser.url}")
    finally:
        page.browser.emulate((1440, 900), False)
    page.browser.run("const s = document.querySelector('[name=units]'); s.value = 'mi'; s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.wait_for_row("q9large", "7.5 mi deep", "8 mi N of Largetown")
    page.browser.wait("the legend", lambda: "0–6 mi" in page.browser.text("#legend-colors"))
    page.browser.click("#open-notify")
    expect(page.browser.run("return [document.querySelector('[name=radius]').value, document.getElementById('radius-units').textContent]") == ["311", "mi"],
           "the radius for alerts is not in miles")
    page.open("?minmag=4")
    page.wait_for_row("q9large", "12 km deep")
    drop("q9small", "q9large")


def alerts(page):
    browser = page.browser
    browser.devtools("Browser.grantPermissions", {"permissions": ["notifications", "geolocation"]})
    browser.devtools("Emulation.setGeolocationOverride", {"latitude": 20, "longitude": 179.9, "accuracy": 10})

    def ready(query):
        page.open(query)
        # Records the notifications, because a headless browser does not show them.
        browser.run("""
            const Real = window.Notification;
            window.shown = [];
            window.Notification = class extends Real {
              constructor(title, options) { super(title, options); window.shown.push([title, options.body, options.tag]); }
            };""")
        if browser.run("return document.querySelector('#notify [name=on]').checked"):
            watching()

    def watching():
        browser.wait(
            "the alerts to be active", lambda: browser.run("return 'watching' in document.getElementById('open-notify').dataset"))

    def shown(number):
        return browser.wait(f"{number} alerts", lambda: len(found := browser.run("return window.shown")) >= number and found)

    ready("?minmag=6")
    browser.click("#open-notify")
    browser.click("#notify [name=on]")
    browser.type("#notify [name=magnitude]", "5.5")
    browser.click("#notify [name=near]")
    browser.click("#take-here")
    browser.wait("my location", lambda: browser.run("return document.querySelector('#notify [name=longitude]').value") == "179.90")
    browser.type("#notify [name=radius]", "300")
    browser.click("#notify .main")
    watching()
    put("q9small", 5.4, "too small", minutes=0, longitude=-179.9)
    put("q9away", 5.6, "too far away", minutes=0, longitude=170)
    put("q9old", 6.6, "too long ago", minutes=3 * 1440, longitude=-179.9)
    sql("update quake set nst = 12, updated = now() where code = 'q9old'")
    # The list does not show this event, because the filter starts at magnitude 6.
    put("q9wanted", 5.6, "as wanted", minutes=0, longitude=-179.9)
    shown(1)
    put("q9small", 5.7, "grown", minutes=0, longitude=-179.9)
    found = shown(2)
    expect([each[:2] for each in found] == [["Magnitude 5.6", "as wanted"], ["Magnitude 5.7", "grown"]],
           f"the alerts are {found}")
    expect(len({tag for *_, tag in found}) == 2, "both alerts have the same tag, so the second replaces the first")
    # Alerts also appear while the past is shown. Each event has only one alert.
    ready(f"?asof={just_now()}")
    expect(browser.text("#open-notify") == "Alerts on", "the settings of the alerts were lost")
    put("q9wanted", 5.4, "as wanted", minutes=0, longitude=-179.9)
    put("q9wanted", 5.6, "as wanted", minutes=0, longitude=-179.9)
    put("q9past", 5.8, "in the past", minutes=0, longitude=-179.9)
    expect(shown(1)[0][:2] == ["Magnitude 5.8", "in the past"], "there is a second alert for the same event")
    browser.click("#open-notify")
    browser.wait("the towns", lambda: browser.run("return document.getElementById('towns').children.length") > 1000)
    browser.type("#town", "Nowhereville")
    browser.wait(
        "the message that there is no such town",
        lambda: "No town is known" in browser.run("return document.getElementById('town').validationMessage"))
    browser.click("#notify .main")
    expect(browser.run("return document.getElementById('notify').open"), "the dialog accepts an unknown town")
    expect("No town is known as “Nowhereville”" in browser.text("#notify-note"), "the page does not say that the town is unknown")
    browser.type("#town", "Lima, Peru")
    browser.wait(
        "the town's latitude",
        lambda: browser.run("return document.querySelector('#notify [name=latitude]').value").startswith("-12."))
    browser.click("#notify .main")
    # The user can withdraw the permission in the browser's settings.
    browser.devtools("Browser.setPermission", {"permission": {"name": "notifications"}, "setting": "denied"})
    page.open()
    expect(browser.text("#open-notify") == "Alerts on, sound only", "the page does not say that only the sound works")
    browser.click("#open-notify")
    expect("does not show alerts" in browser.text("#notify-note"), "the page does not say why")
    browser.run("localStorage.clear()")
    drop("q9small", "q9away", "q9old", "q9wanted", "q9past")


CHECKS = [empty_selection, states_after_failures, database_unavailable, unavailable_pasts, dead_stream, open_event, left_page,
          back_after_play, time_zone, quarry_blast, canvas_at_rest, unchanged_rows, stored_by_another_version, nothing_over_the_map,
          chosen_on_the_map, tooltip, emphasis, complete_rows, on_a_phone, plain_words, back_to_fields, search, default_settings, alerts]
