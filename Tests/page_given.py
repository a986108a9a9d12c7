"""Checks of the live page: its statements on the catalogue, sharing and embedding. Tests/page.py runs them."""

import json
import urllib.parse
import urllib.request

from page_support import Page, Refusal, Server, drop, expect, just_now, put, site, sql


def held_or_not(page):
    """The page says whether the catalogue is complete, for the chosen period, magnitudes and part of the map."""
    def says(words):
        page.browser.wait(words, lambda: page.browser.text("#coverage") == words)

    def noted(magnitude, days, box="-90, -180, 90, 180"):
        sql("select import.note_coverage('q9', :magnitude, tstzrange(now() - :'days' * interval '1 day', now() + interval '1 hour'), "
            + box + ")", magnitude=magnitude, days=days)

    sql("delete from import.coverage")
    noted(2.5, 3)
    noted("null", 9, "10, 0, 60, 60")
    # A server reads the coverage once a minute. A new one has not read the old coverage.
    server = Server()
    try:
        page = Page(page.browser, server)
        page.open("?minmag=all")
        says("Complete as published from magnitude 2.5 on.")
        page.choose("preset", "4.5")
        says("Complete as published.")
        page.open("?period=week&minmag=all&map=30,30,6")
        page.browser.wait("a gap", lambda: "May be incomplete: before" in (page.browser.text("#coverage") or ""))
        page.browser.click("[name=inview]")
        says("Complete as published.")
        page.open(f"?asof={just_now()}")
        page.state_is("past")
        says("To cite this past, give this page’s address. It is kept until its history is pruned, or longer by “quakes cite”.")
    finally:
        server.stop()
        sql("delete from import.coverage")


def given_to_others(page):
    """The Share button works with and without the device's sharing dialog; a link has a preview on other sites."""
    page.browser.devtools("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.open("?minmag=4.5")
    page.browser.run("delete Navigator.prototype.share")
    page.browser.click("#share")
    page.browser.wait("the words", lambda: page.browser.text("#shared") == "The link is copied.")
    copied = page.browser.run_async("return navigator.clipboard.readText()")
    expect(copied == page.browser.url, f"copied: {copied}")
    page.browser.run("""
        window.given = [];
        navigator.share = async (what) => { window.given.push(what); };""")
    page.browser.click("#share")
    given = page.browser.wait("the device's way", lambda: page.browser.run("return window.given"))
    expect(given == [{"title": page.browser.run("return document.title"), "url": page.browser.url}], f"given: {given}")
    page.browser.run("navigator.share = () => Promise.reject(new DOMException('', 'AbortError'))")
    page.browser.click("#share")
    page.browser.run("navigator.share = () => Promise.reject(new DOMException('', 'NotAllowedError'))")
    page.browser.click("#share")
    page.browser.wait("the link", lambda: page.browser.text("#shared") == f"Copy this link: {page.browser.url}")


def installable(page):
    page.open()
    manifest = page.browser.devtools("Page.getAppManifest")
    expect(manifest["errors"] == [] and manifest["url"].endswith("/page/manifest.webmanifest"), f"the manifest: {manifest}")
    read = json.loads(manifest["data"])
    expect(urllib.parse.urljoin(manifest["url"], read["start_url"]) == page.browser.url, f"it starts at {read['start_url']}")
    for icon in read["icons"]:
        size = page.browser.run_async("""
            const image = new Image();
            image.src = new URL(arguments[0], arguments[1]);
            await image.decode();
            return [image.naturalWidth, image.naturalHeight];""", icon["src"], manifest["url"])
        wanted = icon["sizes"]
        expect(wanted == "any" or f"{size[0]}x{size[1]}" == wanted, f"{icon['src']} is {size}, not {wanted}")


def several_agencies(page):
    """Colours by agency are offered if there are several agencies; the source of the data is always named."""
    def by(agency, code, place):
        put(code, 7.6, place, minutes=1)
        sql("update quake set net = :'agency' where code = :'code'", agency=agency, code=code)

    def offered():
        return page.browser.run("return !document.querySelector('[name=color] [value=agency]').disabled")

    by("us", "us9agency", "Onetown")
    page.open("?minmag=7.5")
    page.row_with("us9agency", "Onetown")
    page.browser.wait("whose they are", lambda: page.browser.text("#sources") == "Data: USGS (public domain)")
    expect(not offered() and "USGS" not in page.row("us9agency"), "one agency is told from others")
    by("gfz", "gfz:gfz9agency", "Twotown")
    page.row_with("gfz:gfz9agency", " · GFZ", "Twotown")
    page.row_with("us9agency", " · USGS")
    page.browser.wait("both", lambda: page.browser.text("#sources") == "Data: USGS (public domain), GFZ (CC BY 4.0)")
    expect(offered(), "colours by agency are not offered")
    page.browser.run("const s = document.querySelector('[name=color]'); s.value = 'agency'; "
                     "s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.browser.wait("the legend", lambda: page.browser.text("#legend-colors") == "USGSGFZ")
    expect(page.query()["color"] == ["agency"], "the URL does not say it")
    dots = page.browser.run("return ['us9agency', 'gfz:gfz9agency'].map((code) => "
                            "document.querySelector(`[data-code='${code}'] .dot`).className)")
    expect(dots == ["dot color-agency-0", "dot color-agency-1"], f"the dots are {dots}")
    page.open("?event=gfz%3Agfz9agency")
    page.browser.wait("its agency", lambda: "GFZ Helmholtz Centre for Geosciences" in (page.browser.text("#detail dl") or ""))
    drop("us9agency", "gfz:gfz9agency")


def one_earthquake(page):
    """An earthquake of several agencies is one row and one dot, with the values of each agency."""
    put("us9one", 7.6, "Onetown", minutes=1, longitude=10, latitude=20)
    put("gfz:9one", 7.8, "One Region", minutes=1, longitude=10.2, latitude=20)
    sql("update quake set net = split_part(code, ':', 1), magnitude_type = 'Mw', time = time + interval '2 seconds' where code = 'gfz:9one'")
    sql("update quake set net = 'us', magnitude_type = 'mb' where code = 'us9one'")
    page.open("?minmag=7.5")
    page.row_with("us9one", "Onetown", " · USGS")
    page.row_with("gfz:9one", "One Region")
    before = page.count()
    sql("""begin; insert into earthquake values ('us9one', 'us9one', 'gfz:9one', 2);
        insert into earthquake_member select code, 'us9one', case code when 'us9one' then 'gfz:9one' else 'us9one' end, 2, 21, 0.2, 3, 'pair', false
            from quake where code in ('us9one', 'gfz:9one'); commit""")
    page.row_with("us9one", "Onetown", "7.8", "2 agencies")
    page.counts(before - 1)
    expect(page.row("gfz:9one") is None, "the other one has a row still")
    link = page.browser.run("return document.querySelector('[data-format=csv]').href")
    with urllib.request.urlopen(link) as answer:
        lines = answer.read().decode().splitlines()
    expect(len(lines) - 1 == page.count(), f"the list has {page.count()}, the CSV {len(lines) - 1}: {link}")
    page.browser.run("const s = document.querySelector('[name=agency]'); s.value = 'gfz'; "
                     "s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.counts(1)
    expect(page.row("us9one") and page.query()["agency"] == ["gfz"], "the filter drops what the agency reports, too")
    # A link to any event of the earthquake shows that event, and the values of the other agencies.
    page.open("?minmag=7.5&event=gfz%3A9one")
    page.browser.wait("what each agency says", lambda: "Reported by 2 agencies" in (page.browser.text(".solutions") or ""))
    cells = page.browser.wait("the table", lambda: page.browser.run(
        "return [...document.querySelectorAll('.solutions tr')].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"))
    expect(any(row[:2] == ["USGS", "7.6 mb"] and row[2].startswith("−2") and row[3:] == ["21 km", "12 km"] for row in cells),
           f"the table is {cells}")
    expect(any(row[:3] == ["GFZ", "7.8 Mw", "shown"] for row in cells), f"the table is {cells}")
    page.browser.click(".solutions button")
    page.browser.wait("the other one", lambda: page.query()["event"] == ["us9one"])
    page.open("?minmag=7.5")
    page.row_with("us9one", "2 agencies")
    sql("begin; delete from earthquake where code = 'us9one'; delete from earthquake_member where earthquake = 'us9one'; commit")
    page.row_with("gfz:9one", "One Region")
    page.counts(before)
    drop("us9one", "gfz:9one")


def mechanism(page):
    """A known mechanism has a beachball, whose code is loaded with it."""
    def with_mechanism(code, **members):
        put(code, 6.1, "a fault", minutes=0, extra=json.dumps({"focal_mechanism": members}))
        page.open(f"?event={code}")
        page.browser.wait("the story", lambda: page.browser.text(".story ol"))

    def is_loaded():
        return page.browser.run("return performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/beachball.js'))")

    put("q9without", 6.1, "a fault", minutes=0)
    page.open("?event=q9without")
    page.browser.wait("the story", lambda: page.browser.text(".story ol"))
    expect(not is_loaded(), "beachballs are loaded without any mechanism")
    with_mechanism("q9ball", strike1=120, dip1=45, rake1=90, agency="<b>GCMT", mrr="high")
    page.browser.wait("the beachball", lambda: page.browser.text(".mechanism"))
    expect(is_loaded(), "the beachball is drawn without its file")
    name = page.browser.run("return document.querySelector('.mechanism svg').getAttribute('aria-label')")
    expect(name == "Focal mechanism: strike 120°, dip 45°, rake 90°; strike 300°, dip 45°, rake 90°", f"its name is {name}")
    words = page.browser.text(".mechanism")
    expect(all(each in words for each in ("Reverse faulting", "<b>GCMT", "From the planes")), f"it says {words}")
    colored = page.browser.run("""
        const { left, top, width } = document.querySelector(".mechanism svg").getBoundingClientRect();
        const at = (x, y) => document.elementFromPoint(left + x * width, top + y * width).getAttribute("class");
        return [at(0.5, 0.5), at(0.7, 0.16), at(0.3, 0.84)];""")
    expect(colored == ["outwards", "inwards", "inwards"], f"it is coloured {colored}")
    with_mechanism("q9tensor", mrr=-1.2e18, mtt=2e17, mpp=1e18, mrt=0, mrp=-1e16, mtp=3e17, mw=6.02)
    page.browser.wait("the tensor", lambda: all(
        each in (page.browser.text(".mechanism") or "")
        for each in ("Normal faulting", "Plane 2", "Mw 6.02", "Mrr −1.20, Mtt 0.20, Mpp 1.00, Mrt 0.00, Mrp −0.01, Mtp 0.30 · 1018 N m")))
    with_mechanism("q9other", mw=6.1, strike1="north")
    expect(not page.browser.text(".mechanism"), "something is drawn of nothing")
    drop("q9without", "q9ball", "q9tensor", "q9other")


def embedded(page):
    put("q9embed", 7.9, "Frameville", minutes=1)
    page.open("embed?minmag=7.5")
    page.row_with("q9embed", "Frameville")
    hidden = page.browser.run("return ['#filters', '.tools'].map((each) => getComputedStyle(document.querySelector(each)).display)")
    expect(hidden == ["none", "none"], f"shown in a frame: {hidden}")
    whole = page.browser.run("return document.getElementById('whole').href")
    expect(urllib.parse.urlparse(whole)[2:5:2] == ("/", "minmag=7.5"), f"the whole page is {whole}")
    put("q9embed", 8.0, "Frameville", minutes=1)
    page.row_with("q9embed", "8.0")
    scrolled_past(page)
    drop("q9embed")


def scrolled_past(page):
    """The wheel over the frame scrolls the page around it until the user clicks in the frame, and again after a click outside."""
    browser = page.browser
    frame = f"http://127.0.0.1:{page.server.port}/embed?minmag=all"
    browser.open(site(f"<!DOCTYPE html><title>outside</title><body style='height:5000px;margin:0'><p style='height:60px;margin:0'>outside</p>"
                      f"<iframe src='{frame}' width=640 height=600></iframe>"))

    def inside(script):
        browser.post("/frame", {"id": 0})
        try:
            return browser.run(script)
        finally:
            browser.post("/frame/parent")

    def wheel(x, y):
        browser.run("scrollTo(0, 0)")
        browser.post("/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": 100, "duration": 0, "origin": "viewport"}]}]})

    def click(x, y):
        browser.run("scrollTo(0, 0)")
        browser.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "x": x, "y": y, "duration": 0}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}]})

    browser.wait("the list in the frame", lambda: inside("return document.querySelectorAll('.row').length > 5"))
    spots = {name: inside(f"const r = document.getElementById('{name}').getBoundingClientRect(); "
                          "return [Math.round(r.left + 8), Math.round(r.top + 68)]") for name in ("map", "list")}
    for name, spot in spots.items():
        wheel(*spot)
        browser.wait(f"the page around scrolls over the {name}", lambda: browser.run("return scrollY") > 50)
    expect(inside("return document.getElementById('list').scrollTop") == 0, "the list scrolls, too")
    click(*spots["map"])
    browser.wait("the frame is in use", lambda: inside("return document.documentElement.classList.contains('in-use')"))
    wheel(*spots["list"])
    browser.wait("the list scrolls", lambda: inside("return document.getElementById('list').scrollTop") > 50)
    expect(browser.run("return scrollY") == 0, "the page around scrolls, too")
    wheel(*spots["map"])
    click(300, 20)
    browser.wait("the frame is left", lambda: not inside("return document.documentElement.classList.contains('in-use')"))
    expect(browser.run("return scrollY") == 0, "the wheel on the map scrolls the page around")


def refused_in_part(page):
    put("q9refused", 7.9, "Busytown", minutes=1)
    refusal = Refusal(page.server.port, ["page.css", "main.js", "words.js", "agencies.json", "borders.txt"], times=2)
    page.browser.devtools("Network.clearBrowserCache")
    page.browser.open(f"http://127.0.0.1:{refusal.port}/?minmag=7.5")
    page.browser.wait("that it says so", lambda: "Retrying" in (page.browser.text("#unstarted") or page.browser.text("#warnings") or ""))
    page.row_with("q9refused", "Busytown")
    page.state_is("live", "late")
    page.warns_no_more()
    expect(page.browser.run("return document.getElementById('unstarted')") is None, "it still says that it did not load")
    page.browser.wait("the style sheet", lambda: page.browser.run("return document.querySelector('link[rel=stylesheet]').sheet?.cssRules.length > 0"))
    expect(not any(refusal.left.values()), f"never asked for: {refusal.left}")
    page.browser.errors()  # the console lists the refused requests
    drop("q9refused")


CHECKS = [refused_in_part, held_or_not, given_to_others, installable, several_agencies, one_earthquake,
          mechanism, embedded]
