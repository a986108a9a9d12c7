#!/usr/bin/env python3
"""Checks the live page in a real browser, with the actions of its users.

    Tests/page.py QUAKES AXE [CHECK… | PART/PARTS]     (DATABASE_URL names an empty, migrated database)

QUAKES is the executable, and AXE is the script of axe-core. PART/PARTS selects one share of the checks: for example, 2/3 is the
second of three. This script prints which checks pass and which fail, and exits with 1 if any check fails. With THOROUGH=1,
accessibility is checked in more sizes and colours.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import time
import traceback
import urllib.parse
import urllib.request

import page_given
import page_seen
import page_tiles
from browser import Browser
from page_support import AXE, QUAKES, CuttableProxy, Page, RefusingProxy, Server, expect, load, put, sql, without_expiring_events

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>&lt;b&gt; \u202egnp'

# The checks. Each one starts with a new `Page`.

def first_paint(page):
    page.open()
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day' and magnitude >= 2.5")))
    newest = sql("select code from quake where magnitude >= 2.5 order by time desc limit 1")
    expect(page.row(newest) is not None, "the newest event is not in view")
    colors = page.browser.wait("the map to be drawn", lambda: (number := page.browser.run("""
        const map = document.getElementById("map");
        const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
        const colors = new Set();
        for (let i = 0; i < pixels.length; i += 4) colors.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
        return colors.size;""")) > 50 and number)
    expect(colors, "the map is empty")


def live_changes(page):
    page.open()
    page.browser.run("window.unchanged = true")
    put("q9new", 4.1, "near Nowhere", minutes=0)
    page.wait_for_row("q9new", "New", "4.1", "near Nowhere")
    put("q9new", 4.2, "near Nowhere", minutes=0)
    page.wait_for_row("q9new", "New", "4.2")
    page.browser.click("#clear-news")
    page.browser.wait("the mark to be cleared", lambda: "New" not in (page.row("q9new") or "New"))
    before = page.count()
    put("q9new", 4.4, "near Nowhere", minutes=0)
    page.wait_for_row("q9new", "Revised", "Magnitude 4.2 → 4.4")
    expect("4.4" in page.browser.text("#spoken"), "screen readers get no message about the revision")
    sql("delete from quake where code = 'q9new'")
    page.wait_for_row("q9new", "Withdrawn")
    page.wait_for_count(before - 1)
    page.browser.click("#clear-news")
    page.browser.wait("the row to be removed", lambda: page.row("q9new") is None)
    expect(page.browser.run("return window.unchanged"), "the page was reloaded")


def revised_out_of_the_selection(page):
    put("q9edge", 7.5)
    page.open("?minmag=7")
    page.browser.wait("the row", lambda: page.row("q9edge"))
    put("q9edge", 6.8)
    page.wait_for_row("q9edge", "Magnitude 7.5 → 6.8", "no longer matches")
    put("q9edge", 7.2)
    page.wait_for_row("q9edge", "Revised", "Magnitude 6.8 → 7.2")


def filters_and_url(page):
    page.open()
    page.choose("preset", "")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day'")))
    expect(page.query() == {"minmag": ["all"]}, f"the URL is {page.browser.url}")
    everything = page.count()
    page.choose("preset", "2.5")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day' and magnitude >= 2.5")))
    page.choose("preset", "4.5")
    page.choose("period", "week")
    week = int(sql("select count(*) from quake where time >= now() - interval '7 days' and magnitude >= 4.5"))
    page.wait_for_count(week)
    page.choose("zone", "local")
    page.browser.run("const s = document.querySelector('[name=sort]'); s.value = 'largest'; "
                     "s.dispatchEvent(new Event('change', { bubbles: true }))")
    expect(page.query() == {"minmag": ["4.5"], "period": ["week"], "zone": ["local"], "sort": ["largest"]},
           f"the URL is {page.browser.url}")
    top = sql("select code from quake where time >= now() - interval '7 days' order by magnitude desc nulls last, time desc limit 1")
    page.browser.wait("the largest event in the list", lambda: page.row(top))
    page.open(f"?{urllib.parse.urlparse(page.browser.url).query}")
    page.wait_for_count(week)
    shown = page.browser.run("""return ["period", "preset", "zone", "sort"].map((name) =>
        document.querySelector(`[name=${name}]:checked`)?.value ?? document.querySelector(`[name=${name}]`).value)""")
    expect(shown == ["week", "4.5", "local", "largest"], f"after opening the link, the controls show {shown}")
    page.open("?minmag=all")
    page.choose("preset", "6")
    page.browser.wait("the filtered list", lambda: page.count() < everything)
    page.browser.post("/back")
    page.wait_for_count(everything)
    page.browser.type("[name=minmag]", "3.3")
    page.browser.press("Enter")
    page.wait_for_count(int(sql("select count(*) from quake where time >= now() - interval '1 day' and magnitude >= 3.3")))
    page.browser.type("[name=minmag]", "1e1")
    page.browser.press("Tab")
    said = page.browser.run("return document.querySelector('[name=minmag]').validationMessage")
    expect("Give a magnitude" in said, f"the answer to a wrong magnitude is “{said}”")
    page.browser.type("[name=minmag]", "3.3")
    page.browser.press("Tab")
    page.browser.run("const f = document.querySelector('[name=maxmag]'); f.value = '2'; "
                     "f.dispatchEvent(new Event('change', { bubbles: true }))")
    page.wait_for_warning("The smallest magnitude is above the greatest")
    for nonsense in ["?period=x&minmag=nine&map=1,2&asof=never&from=&sort=%00", "?event=%3Cb%3E&map=99,999,99"]:
        page.open(nonsense)


def list_of_the_map(page):
    put("q9far", 5, minutes=1, longitude=-60, latitude=-50)
    page.open("?inview=1&map=20,10,4")
    put("q9seen", 5, minutes=1, longitude=10, latitude=20)
    page.wait_for_row("q9seen", "New")
    expect(page.row("q9far") is None, "the list has an event that is not on the map")
    for kind in ("csv", "geojson"):
        link = page.browser.run(f"return document.querySelector('[data-format={kind}]').href")
        with urllib.request.urlopen(link) as answer:
            text = answer.read().decode()
        number = len(list(csv.reader(io.StringIO(text)))) - 1 if kind == "csv" else len(json.loads(text)["features"])
        expect(number == page.count(), f"the list has {page.count()} events, but the {kind} download has {number}")
    before = page.browser.url
    page.browser.click("[data-move=home]")
    page.browser.wait("the list of the whole earth", lambda: page.row("q9far"))
    page.browser.wait("the URL without a map view", lambda: page.browser.url != before and "map=" not in page.browser.url)
    for code in ("q9far", "q9seen"):
        sql("delete from quake where code = :'code'", code=code)


def many_rows(page):
    """The list can have thousands of rows. If the server returns only the newest events, the page shows the total number."""
    page.open("?period=month&minmag=all")
    expect(page.count() > 3000, f"the list has only {page.count()} events")
    rows = "return document.querySelectorAll('.row').length"
    expect(page.browser.run(rows) < 60, "the list has elements for invisible rows")
    page.browser.run("document.getElementById('list').focus()")
    page.browser.press("End")
    last = sql("select code from quake where time >= now() - interval '30 days' order by time limit 1")
    page.browser.wait("the last row", lambda: page.row(last))
    expect(page.browser.run(rows) < 60, "the list has elements for invisible rows")
    server = Server("--max-events", "100")
    try:
        Page(page.browser, server).open("?minmag=all")
        number = int(sql("select count(*) from quake where time >= now() - interval '1 day'"))
        words = f", the newest of {number:,}"
        limited = page.browser.wait(
            f"the count{words}", lambda: words in page.browser.text("#count") and Page(page.browser, server).count())
        expect(limited == 100, f"the list has {limited} events instead of 100")
    finally:
        server.stop()


def server_restarted(page):
    page.open()
    page.server.stop()
    page.wait_for_warning("connection is lost")
    put("q9while", 4.7, minutes=0)
    page.server.start()
    page.wait_for_row("q9while", "New", "4.7")
    page.wait_for_no_warning()
    sql("delete from quake where code = 'q9while'")
    page.wait_for_row("q9while", "Withdrawn")


def below_a_base_path(page):
    """The page works behind a proxy that serves it below a path of its site."""
    put("q9base", 4.6, minutes=0)
    server = Server("--base-url", "https://example.org/quakes")
    try:
        for path in ("quakes/", "quakes", ""):
            Page(page.browser, server).open(path)
            page.wait_for_row("q9base", "4.6")
            put("q9base", 4.7, minutes=0)
            page.wait_for_row("q9base", "4.7")
            put("q9base", 4.6, minutes=0)
            page.wait_for_row("q9base", "4.6")
            if path != "":
                page.browser.click(".row[data-code='q9base']")
                page.browser.wait("the story", lambda: "Revised" in (page.browser.text(".story") or ""))
                link = page.browser.run("return document.querySelector('[data-format=csv]').getAttribute('href')")
                expect(link.startswith("/quakes/fdsnws/event/1/query?"), f"the link to the CSV is {link}")
    finally:
        server.stop()
        sql("delete from quake where code = 'q9base'")


def network_cut(page):
    with CuttableProxy(page.server.port) as path:
        page.open(port=path.port)
        path.is_cut = True
        # Makes the page check its connection at once.
        page.browser.run("dispatchEvent(new Event('offline'))")
        put("q9cut", 4.8, minutes=0)
        page.wait_for_warning("connection is lost")
        expect(page.row("q9cut") is None, "the change arrived although the connection is cut")
        path.is_cut = False
        page.wait_for_row("q9cut", "New", "4.8")
        page.wait_for_no_warning()


def hostile_texts(page):
    now = int(time.time() * 1000)
    load({"type": "FeatureCollection", "features": [{
        "type": "Feature", "id": "q9evil",
        "properties": {"net": "q9", "code": "evil", "mag": 9.1, "magType": HOSTILE, "place": HOSTILE, "title": HOSTILE,
                       "status": HOSTILE, "type": HOSTILE, "alert": HOSTILE, "time": now, "updated": now, "more": HOSTILE,
                       "url": "javascript:window.hacked=1", "ids": f",q9evil,{HOSTILE.replace(',', '')},"},
        "geometry": {"type": "Point", "coordinates": [0, 0, 10]}}]})
    sql("update quake set place = place || '!' where code = 'q9evil'")
    page.open()
    expect(HOSTILE in page.wait_for_row("q9evil", "9.1"), "the list does not show the text literally")
    sql("""set history.author to '<img src=x onerror="window.hacked=1">';
           update quake set magnitude_type = place where code = 'q9evil'""")
    page.wait_for_row("q9evil", "Revised", "<script>")
    page.open("?event=q9evil")
    story = page.browser.wait("the story", lambda: page.browser.text(".story ol"))
    expect("<script>" in story and "<img" in story, "the story does not show the text literally")
    expect(HOSTILE in page.browser.text("#detail h2"), "the summary does not show the text literally")
    found = page.browser.run("""return [window.hacked ?? null, document.querySelectorAll("img, #detail script").length,
        [...document.links].filter((link) => !link.protocol.startsWith("http")).length]""")
    expect(found == [None, 0, 0], f"markup in the feed's texts had an effect: {found}")
    refused = page.browser.run("""
        try { document.body.innerHTML = "<b>"; return "accepted"; } catch (error) { return error.name; }""")
    expect(refused == "TypeError", f"assigning markup to innerHTML should throw a TypeError, but the result is {refused}")
    page.browser.errors()
    sql("delete from quake where code = 'q9evil'")


def downloads(page, *names):
    """The contents of the event's files, which must have these names."""
    files = page.browser.run_async("""
        const links = [...document.querySelectorAll(".links a")].filter(({ href }) => href.includes("format="));
        return Promise.all(links.map(async (link) => [link.textContent, await (await fetch(link.href)).text()]));""")
    expect([name for name, _ in files] == list(names), f"the event's files are {[name for name, _ in files]}")
    return [content for _, content in files]


def story_and_past(page):
    put("q9story", 4.0, "first place", minutes=3)
    put("q9story", 4.3, "first place")
    put("q9story", 4.6, "second place")
    page.open("?event=q9story")
    page.browser.wait(
        "three steps of the story", lambda: page.browser.run("return document.querySelectorAll('.step').length") == 3)
    story = page.browser.text(".story")
    for words in ("Reported", "Magnitude 4.0", "Magnitude 4.0 → 4.3", "Place first place → second place"):
        expect(words in story, f"the story does not contain {words}: {story}")
    put("q9story", 4.7, "second place")
    page.browser.wait("the live update of the story", lambda: "4.6 → 4.7" in (page.browser.text(".story") or ""))
    page.browser.run("document.querySelector('.step-insert button').click()")
    page.browser.wait("the past", lambda: "As of" in page.browser.text("#state"))
    page.browser.wait("the magnitude at that time", lambda: page.browser.text(".large") == "4.0")
    for link in downloads(page, "QuakeML", "GeoJSON"):
        expect("first place" in link and "second place" not in link, f"the event's file does not show the past: {link}")
    expect("asof" in page.query(), "the URL does not have the past moment")
    page.browser.run("document.querySelector('#detail > button').click()")
    page.wait_for_row("q9story", "4.0", "first place")
    put("q9story", 4.8, "second place")
    page.browser.click("#now")
    page.wait_for_row("q9story", "4.8", "second place")
    sql("delete from quake where code = 'q9story'")
    page.wait_for_row("q9story", "Withdrawn")
    page.open("?event=q9story")
    page.browser.wait("the story of the withdrawn event", lambda: "Withdrawn" in (page.browser.text(".story") or ""))
    page.browser.wait("the summary of the withdrawn event", lambda: page.browser.text(".large") == "4.8")
    gone, = downloads(page, "GeoJSON")
    expect("second place" in gone, f"the withdrawn event's file is {gone}")
    refusal = RefusingProxy(page.server.port, ["q9story"], 2)
    page.open("?event=q9story", port=refusal.port)
    page.browser.wait("the story after two refusals", lambda: "Withdrawn" in (page.browser.text(".story") or ""))
    expect("Couldn’t" not in page.browser.text("#detail"), "the page still says that it could not load the story")
    page.browser.errors()  # the console lists the refused requests


def slider(page):
    page.open()
    everything = page.count()
    page.browser.run("document.getElementById('moment').focus()")
    page.browser.press("Home")
    page.browser.wait("the past", lambda: "As of" in page.browser.text("#state"))
    page.wait_for_count(0)
    expect(page.browser.run("return document.getElementById('moment').getAttribute('aria-valuetext')") != "Now",
           "aria-valuetext says Now, although the past is shown")
    put("q9played", 4.4, "played")
    put("q9played", 4.5, "played")
    # Draws at once, because a late frame would show two steps of the play as one.
    page.browser.run("""
        window.requestAnimationFrame = (draw) => queueMicrotask(() => draw(performance.now()));
        window.news = [];
        new MutationObserver(() => window.news.push(document.getElementById("news-text").textContent))
          .observe(document.getElementById("news-text"), { childList: true });""")
    page.browser.click("#play")
    page.browser.wait("the end of playing", lambda: page.browser.text("#state") == "Live")
    page.wait_for_count(everything + 1)
    expect("asof" not in page.query(), "the URL still has a past moment")
    news = page.browser.run("return window.news")
    expect(any("new" in each for each in news), f"playing marks no new events: {news}")
    gone = int(sql("select count(*) from history.change where operation = 'delete'"))
    # The last text, such as "… since 18:54", repeats the events of the earlier texts as a sum, so it is left out.
    marked = sum(int(number) for each in news if " since " not in each for number in re.findall(r"(\d+) withdrawn", each))
    expect(marked <= gone, f"playing marks {marked} events as withdrawn, but only {gone} were: {news}")
    sql("delete from quake where code = 'q9played'")
    page.wait_for_row("q9played", "Withdrawn")
    page.open("?asof=2001-01-01T00:00:00Z")
    page.wait_for_warning("history")
    page.browser.click("#now")
    page.wait_for_count(everything)
    page.wait_for_no_warning()


def keyboard_only(page):
    page.open()
    browser = page.browser
    focus = "const e = document.activeElement; return e.id || e.name || e.dataset.move || e.textContent.trim()"
    browser.press("Tab")
    expect(browser.run(focus) == "Skip to the list", f"the first Tab leads to {browser.run(focus)}")
    browser.press("Enter")
    browser.press("Down", "Down", "Up")
    expect(browser.run(focus) == "list", f"the skip link leads to {browser.run(focus)}")
    active = browser.run("return document.getElementById(arguments[0]?.getAttribute?.('aria-activedescendant') ?? "
                         "document.getElementById('list').getAttribute('aria-activedescendant')).dataset.code")
    browser.press("Enter")
    browser.wait("the event's heading to have the focus", lambda: browser.run(focus) == "detail-title")
    expect(page.query()["event"] == [active], "Enter opened another event")
    browser.press("Escape")
    browser.wait("the list to have the focus", lambda: browser.run(focus) == "list" and "event" not in page.query())
    seen = set()
    for _ in range(60):
        browser.press("Tab")
        seen.add(browser.run(focus))
        if browser.run(focus) == "map":
            break
    expect("map" in seen, f"Tab does not reach the map, only {seen}")
    browser.press("+", "+", "Left")
    browser.wait("the map's view in the URL", lambda: "map" in page.query())
    for _ in range(30):
        browser.press("Tab")
        seen.add(browser.run(focus))
    wanted = {"in", "out", "home", "up", "down", "left", "right", "color", "play", "moment"}
    expect(wanted <= seen, f"Tab does not reach {wanted - seen}")
    visible = browser.run("""
        document.getElementById("play").focus();
        return getComputedStyle(document.getElementById("play")).outlineStyle""")
    expect(visible != "none", "the focus is invisible")


def late_feed(page):
    page.open()
    generated = int(time.time() * 1000) - 3_600_000
    load({"type": "FeatureCollection", "metadata": {
        "generated": generated, "status": 200,
        "url": "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson"}, "features": [{
            "type": "Feature", "id": "us1",
            "properties": {"net": "us", "code": "1", "mag": 1, "place": "x", "time": generated - 1, "updated": generated - 1,
                           "url": "https://earthquake.usgs.gov/earthquakes/eventpage/us1"},
            "geometry": {"type": "Point", "coordinates": [0, 0, 10]}}]})

    def warned():
        page.browser.run("dispatchEvent(new Event('online'))")
        return "The feed is late" in page.browser.text("#warnings")
    page.browser.wait("the warning", warned)


def accessible(page):
    views = [("the list", "", None), ("an event", "?event=q9axe", None), ("a range", "?period=range", None),
             ("the past", "?asof=2001-01-01T00:00:00Z", None), ("alerts", "", "#open-notify"), ("close up", "?map=-41.3,174.8,9", None)]
    put("q9axe", 5.1, "an event", minutes=0, extra='{"focal_mechanism": {"strike1": 120, "dip1": 45, "rake1": 90}}')
    put("q9axe", 5.2, "an event", minutes=0)
    with open(AXE, encoding="utf-8") as file:
        axe = file.read()
    problems = []
    looks = [(False, (1440, 900)), (True, (320, 640))]
    if os.environ.get("THOROUGH") == "1":
        looks += [(True, (1440, 900)), (False, (390, 844))]
    for dark, size in looks:
        page.browser.emulate(size, dark)
        for name, query, button in views:
            page.open(query)
            if "event=" in query:
                page.browser.wait("the story and the beachball", lambda: page.browser.text(".story ol") and page.browser.text(".mechanism"))
            if "map=" in query:
                page.browser.wait("the faults in the legend", lambda: page.browser.text("#legend .fault") is not None)
            put("q9axe2", 5.3, f"new in {name}", minutes=0)
            if "asof=" not in query:
                page.wait_for_row("q9axe2", f"new in {name}")
            if button:
                page.browser.click(button)
            page.browser.run(axe + "; window.axe = axe")
            found = page.browser.run_async("""
                const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
                const { violations } = await window.axe.run(document, { runOnly: { type: "tag", values: tags } });
                return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((n) => n.html.slice(0, 150)).join("  ")}`)""")
            problems += [f"{name}, {size}, {'dark' if dark else 'light'}: {each}" for each in
                         (found if isinstance(found, list) else [found])]
            wide = page.browser.run("return document.documentElement.scrollWidth > innerWidth")
            if wide:
                problems.append(f"{name}, {size}: the page is wider than the screen")
    page.browser.emulate((1440, 900), False)
    for code in ("q9axe", "q9axe2"):
        sql("delete from quake where code = :'code'", code=code)
    expect(not problems, "\n".join(problems))


def size_and_policy(page):
    page.browser.devtools("Network.clearBrowserCache")
    page.open()
    entries = page.browser.run("""
        return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .map(({ name, encodedBodySize, transferSize }) => [new URL(name).pathname, encodedBodySize, transferSize, new URL(name).origin])""")
    files = [entry for entry in entries if entry[0] == "/" or entry[0].startswith("/page/")]
    weight = sum(size for _, size, _, _ in files)
    print(f"the first load: {weight / 1000:.1f} kB compressed in {len(files)} files, with the coastlines", flush=True)
    expect(weight <= 140_000 and len(files) > 10, f"the first load has {weight} bytes in {len(files)} files")
    page.open()
    again = [name for name, size in page.browser.run("""
        return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])""")
             # A browser may request the manifest and the icon again.
             if size > 0 and (name == "/" or name.startswith("/page/") and not name.endswith((".webmanifest", "/icon.svg")))]
    expect(again == ["/"], f"a second visit requests {again} again")
    origin = f"http://127.0.0.1:{page.server.port}"
    expect(all(entry[3] == origin for entry in entries), "the page loads from another server")
    asked = [name for name in page.browser.run(
        "return performance.getEntriesByType('resource').map(({ name }) => name)") if "starttime=" in name]
    expect(asked and all(re.search(r"starttime=[^&]*(:|%3A)00\.000(&|$)", name) for name in asked),
           f"the period does not begin at a full minute, so tabs cannot share a request: {asked}")
    with urllib.request.urlopen(f"{origin}/") as answer:
        policy = answer.headers["Content-Security-Policy"]
        expect("default-src 'self'" in policy and "unsafe" not in policy, f"the Content-Security-Policy is {policy}")
        tag = answer.headers["ETag"]
    try:
        urllib.request.urlopen(urllib.request.Request(f"{origin}/", headers={"If-None-Match": tag}))
        raise AssertionError("the page is sent again although its ETag matches")
    except urllib.error.HTTPError as error:
        expect(error.code == 304, f"the status is {error.code} instead of 304")


CHECKS = [first_paint, live_changes, revised_out_of_the_selection, filters_and_url, list_of_the_map, many_rows,
          story_and_past, slider, keyboard_only, hostile_texts, size_and_policy, accessible, server_restarted,
          network_cut, below_a_base_path, *page_seen.CHECKS, *page_given.CHECKS, *page_tiles.CHECKS, late_feed]


def main():
    names = sys.argv[3:]
    if names and "/" in names[0]:
        part, parts = map(int, names[0].split("/"))
        chosen = CHECKS[part - 1::parts]
    else:
        chosen = [check for check in CHECKS if not names or check.__name__ in names]
    # The database is a copy of a template, and its history begins when the template was made. If that was long before the import,
    # every step of the played past would end before the import. So the history is made to begin now.
    sql("update history.store set pruned_committed_at = now()")
    sample = subprocess.run([QUAKES, "sample", "--count", "6000"], check=True, capture_output=True, text=True).stdout
    load(without_expiring_events(json.loads(sample)))
    failed = 0
    server = Server()
    try:
        with Browser(calm=True) as browser:
            for check in chosen:
                try:
                    check(Page(browser, server))
                    errors = browser.errors()
                    expect(not errors, f"the console has errors: {errors}")
                    print(f"passed: {check.__name__}", flush=True)
                except Exception:  # pylint: disable=broad-except
                    failed += 1
                    print(f"FAILED: {check.__name__}\n{traceback.format_exc()}", flush=True)
                    browser.errors()
    finally:
        server.stop()
    print(f"{len(chosen) - failed} of {len(chosen)} checks passed")
    sys.exit(1 if failed else 0)


main()
