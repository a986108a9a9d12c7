"""Checks of the live page: completeness, agencies, sharing, embedding and refused files. Tests/page.py runs them."""

import json
import urllib.parse
import urllib.request

from page_support import Page, RefusingProxy, Server, drop, expect, just_now, put, site, sql


def completeness(page):
    """The page says whether the catalogue is complete for the selected period, magnitudes and part of the map."""
    def says(words):
        page.browser.wait(words, lambda: page.browser.text("#coverage") == words)

    def noted(magnitude, days, box="-90, -180, 90, 180"):
        sql("select import.note_coverage('q9', :magnitude, tstzrange(now() - :'days' * interval '1 day', now() + interval '1 hour'), "
            + box + ")", magnitude=magnitude, days=days)

    sql("delete from import.coverage")
    noted(2.5, 3)
    noted("null", 9, "10, 0, 60, 60")
    # Starts a new server, because a running server reads the coverage only once a minute.
    server = Server()
    try:
        page = Page(page.browser, server)
        page.open("?minmag=all")
        says("Complete as published from magnitude 2.5 on.")
        page.choose("preset", "4.5")
        says("Complete as published.")
        page.open("?period=week&minmag=all&map=30,30,6")
        page.browser.wait(
            "the sentence about a gap", lambda: "May be incomplete: before" in (page.browser.text("#coverage") or ""))
        page.browser.click("[name=inview]")
        says("Complete as published.")
        page.open(f"?asof={just_now()}")
        page.wait_for_state("past")
        says("To cite this state of the catalogue, give this page’s address. It works until the history of that time is pruned; "
             "“quakes cite” keeps that history longer.")
    finally:
        server.stop()
        sql("delete from import.coverage")


def sharing(page):
    """The Share button opens the device's sharing dialog. Without such a dialog, it copies the link or shows it."""
    page.browser.devtools("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.open("?minmag=4.5")
    page.browser.run("delete Navigator.prototype.share")
    page.browser.click("#share")
    page.browser.wait("the message about the copied link", lambda: page.browser.text("#shared") == "The link is copied.")
    link = page.browser.url + "&units=" + page.browser.run("return document.querySelector('[name=units]').value")
    page.browser.wait(
        "the link on the clipboard", lambda: page.browser.run_async("return navigator.clipboard.readText()") == link)
    page.browser.run("""
        window.given = [];
        navigator.share = async (what) => { window.given.push(what); };""")
    page.browser.click("#share")
    given = page.browser.wait("the device's sharing dialog", lambda: page.browser.run("return window.given"))
    expect(given == [{"title": page.browser.run("return document.title"), "url": link}], f"the dialog got {given}")
    page.browser.run("navigator.share = () => Promise.reject(new DOMException('', 'AbortError'))")
    page.browser.click("#share")
    page.browser.run("navigator.share = () => Promise.reject(new DOMException('', 'NotAllowedError'))")
    page.browser.click("#share")
    page.browser.wait("the shown link", lambda: page.browser.text("#shared") == f"Copy this link: {link}")


def installable(page):
    page.open()
    manifest = page.browser.devtools("Page.getAppManifest")
    expect(manifest["errors"] == [] and manifest["url"].endswith("/page/manifest.webmanifest"),
           f"the manifest has errors or a wrong URL: {manifest}")
    read = json.loads(manifest["data"])
    expect(urllib.parse.urljoin(manifest["url"], read["start_url"]) == page.browser.url,
           f"the installed page starts at {read['start_url']}")
    for icon in read["icons"]:
        size = page.browser.run_async("""
            const image = new Image();
            image.src = new URL(arguments[0], arguments[1]);
            await image.decode();
            return [image.naturalWidth, image.naturalHeight];""", icon["src"], manifest["url"])
        wanted = icon["sizes"]
        expect(wanted == "any" or f"{size[0]}x{size[1]}" == wanted, f"{icon['src']} is {size}, not {wanted}")


def several_agencies(page):
    """The page names the agencies of the data. If there are several, rows name them, too, and colours by agency are offered."""
    def by(agency, code, place):
        put(code, 7.6, place, minutes=1)
        sql("update quake set net = :'agency' where code = :'code'", agency=agency, code=code)

    def offered():
        return page.browser.run("return !document.querySelector('[name=color] [value=agency]').disabled")

    by("us", "us9agency", "Onetown")
    page.open("?minmag=7.5")
    page.wait_for_row("us9agency", "Onetown")
    page.browser.wait("the agency and the licence", lambda: page.browser.text("#sources") == "Data: USGS (public domain)")
    expect(not offered() and "USGS" not in page.row("us9agency"),
           "the row names the agency, or colours by agency are offered, although there is only one agency")
    by("gfz", "gfz:gfz9agency", "Twotown")
    page.wait_for_row("gfz:gfz9agency", " · GFZ", "Twotown")
    page.wait_for_row("us9agency", " · USGS")
    page.browser.wait(
        "both agencies and licences", lambda: page.browser.text("#sources") == "Data: USGS (public domain), GFZ (CC BY 4.0)")
    expect(offered(), "colours by agency are not offered")
    page.browser.run("const s = document.querySelector('[name=color]'); s.value = 'agency'; "
                     "s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.browser.wait("the legend", lambda: page.browser.text("#legend-colors") == "USGSGFZ")
    expect(page.query()["color"] == ["agency"], "the URL does not have the colours")
    dots = page.browser.run("return ['us9agency', 'gfz:gfz9agency'].map((code) => "
                            "document.querySelector(`[data-code='${code}'] .dot`).className)")
    expect(dots == ["dot color-agency-0", "dot color-agency-1"], f"the dots are {dots}")
    page.open("?event=gfz%3Agfz9agency")
    page.browser.wait(
        "the event's agency", lambda: "GFZ Helmholtz Centre for Geosciences" in (page.browser.text("#detail dl") or ""))
    # One earthquake, with GFZ's magnitude. The filters do not select it.
    sql("""update quake set magnitude = 7.7 where code = 'gfz:gfz9agency';
           insert into earthquake values ('us9agency', 'us9agency', 'gfz:gfz9agency', 2);
           insert into earthquake_member
           select code, 'us9agency', case code when 'us9agency' then 'gfz:gfz9agency' else 'us9agency' end, 1, 2, 0.1, 3, 'pair', false
           from quake where code in ('us9agency', 'gfz:gfz9agency')""")
    page.open("?event=us9agency&minmag=9")
    page.browser.wait("the earthquake's magnitude", lambda: page.browser.text(".large") == "7.7")
    page.browser.wait("both agencies' values", lambda: "Reported by 2 agencies" in page.browser.text(".solutions")
                      and page.browser.run("return document.querySelectorAll('.solutions tr').length") == 3)
    sql("delete from earthquake_member; delete from earthquake")
    drop("us9agency", "gfz:gfz9agency")


def one_earthquake(page):
    """An earthquake that several agencies report has one row and one dot. Its details have the values of each agency."""
    put("us9one", 7.6, "Onetown", minutes=1, longitude=10, latitude=20)
    put("gfz:9one", 7.8, "One Region", minutes=1, longitude=10.2, latitude=20)
    sql("update quake set net = 'us', magnitude_type = 'mb' where code = 'us9one'")
    sql("update quake set net = 'gfz', magnitude_type = 'Mw', time = us.time + interval '2 seconds' from quake as us "
        "where quake.code = 'gfz:9one' and us.code = 'us9one'")
    page.open("?minmag=7.5")
    page.wait_for_row("us9one", "Onetown", " · USGS")
    page.wait_for_row("gfz:9one", "One Region")
    before = page.count()
    sql("""begin; insert into earthquake values ('us9one', 'us9one', 'gfz:9one', 2);
        insert into earthquake_member select code, 'us9one', case code when 'us9one' then 'gfz:9one' else 'us9one' end, 2, 21, 0.2, 3, 'pair', false
            from quake where code in ('us9one', 'gfz:9one'); commit""")
    page.wait_for_row("us9one", "Onetown", "7.8", "2 agencies")
    page.wait_for_count(before - 1)
    expect(page.row("gfz:9one") is None, "the other agency's event still has a row")
    link = page.browser.run("return document.querySelector('[data-format=csv]').href")
    with urllib.request.urlopen(link) as answer:
        lines = answer.read().decode().splitlines()
    expect(len(lines) - 1 == page.count(), f"the list has {page.count()} events, but the CSV has {len(lines) - 1}: {link}")
    page.browser.run("const s = document.querySelector('[name=agency]'); s.value = 'gfz'; "
                     "s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.wait_for_count(1)
    expect(page.row("us9one") and page.query()["agency"] == ["gfz"],
           "the filter by agency removes an earthquake that the agency reports")
    # A link to any event of the earthquake shows that event, and the values of the other agencies.
    page.open("?minmag=7.5&event=gfz%3A9one")
    page.browser.wait("the table's heading", lambda: "Reported by 2 agencies" in (page.browser.text(".solutions") or ""))
    cells = page.browser.wait("the table", lambda: page.browser.run(
        "return [...document.querySelectorAll('.solutions tr')].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"))
    expect(any(row == ["USGS", "7.6 mb", "−2 s", "21 km", "12 km"] for row in cells),
           f"the table is {cells}")
    expect(any(row[:3] == ["GFZ", "7.8 Mw", "shown"] for row in cells), f"the table is {cells}")
    page.browser.click(".solutions button")
    page.browser.wait("the other agency's event in the URL", lambda: page.query()["event"] == ["us9one"])
    page.open("?minmag=7.5")
    page.wait_for_row("us9one", "2 agencies")
    sql("begin; delete from earthquake where code = 'us9one'; delete from earthquake_member where earthquake = 'us9one'; commit")
    page.wait_for_row("gfz:9one", "One Region")
    page.wait_for_count(before)
    drop("us9one", "gfz:9one")


def mechanism(page):
    """An event with a known mechanism has a beachball. The code that draws it is loaded with the first such event."""
    def with_mechanism(code, **members):
        put(code, 6.1, "a fault", minutes=0, extra=json.dumps({"focal_mechanism": members}))
        page.open(f"?event={code}")
        page.browser.wait("the story", lambda: page.browser.text(".story ol"))

    def is_loaded():
        return page.browser.run("return performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/beachball.js'))")

    put("q9without", 6.1, "a fault", minutes=0)
    page.open("?event=q9without")
    page.browser.wait("the story", lambda: page.browser.text(".story ol"))
    expect(not is_loaded(), "beachball.js is loaded for an event without a mechanism")
    with_mechanism("q9ball", strike1=120, dip1=45, rake1=90, agency="<b>GCMT", mrr="high")
    name, words, colored = page.browser.wait("the beachball", lambda: page.browser.run("""
        const ball = document.querySelector(".mechanism svg");
        if (!ball) return null;
        const { left, top, width } = ball.getBoundingClientRect();
        const at = (x, y) => document.elementFromPoint(left + x * width, top + y * width).getAttribute("class");
        return [ball.getAttribute("aria-label"), document.querySelector(".mechanism").textContent,
                [at(0.5, 0.5), at(0.7, 0.16), at(0.3, 0.84)]];"""))
    expect(is_loaded(), "a beachball is drawn, but beachball.js is not loaded")
    expect(name == "Focal mechanism: strike 120°, dip 45°, rake 90°; strike 300°, dip 45°, rake 90°",
           f"the accessible name of the beachball is {name}")
    expect(all(each in words for each in ("Reverse faulting", "<b>GCMT", "From the planes")),
           f"the text about the mechanism is {words}")
    expect(colored == ["outwards", "inwards", "inwards"], f"the beachball is coloured {colored}")
    with_mechanism("q9tensor", mrr=-1.2e18, mtt=2e17, mpp=1e18, mrt=0, mrp=-1e16, mtp=3e17, mw=6.02)
    page.browser.wait("the tensor", lambda: all(
        each in (page.browser.text(".mechanism") or "")
        for each in ("Normal faulting", "Plane 2", "Mw 6.02", "Mrr −1.20, Mtt 0.20, Mpp 1.00, Mrt 0.00, Mrp −0.01, Mtp 0.30 · 1018 N m")))
    with_mechanism("q9other", mw=6.1, strike1="north")
    expect(not page.browser.text(".mechanism"), "a beachball is drawn without a plane or a tensor")
    refusal = RefusingProxy(page.server.port, ["mechanism.js"], 1)
    page.open("?event=q9ball", port=refusal.port)
    # The message "Couldn’t load" may be visible only for a moment, so the check waits for the refusal instead.
    page.browser.wait("the refusal", lambda: refusal.left["mechanism.js"] == 0)
    put("q9ball", 6.2, "a fault", minutes=0)
    page.browser.wait("the beachball after a failure", lambda: page.browser.run("return document.querySelector('.mechanism svg') !== null"))
    drop("q9without", "q9ball", "q9tensor", "q9other")


def embedded(page):
    put("q9embed", 7.9, "Frameville", minutes=1)
    page.open("embed?minmag=7.5")
    page.wait_for_row("q9embed", "Frameville")
    hidden = page.browser.run("return ['#filters', '.tools'].map((each) => getComputedStyle(document.querySelector(each)).display)")
    expect(hidden == ["none", "none"], f"the filters or tools are shown in a frame: {hidden}")
    whole = page.browser.run("return document.getElementById('whole').href")
    expect(urllib.parse.urlparse(whole)[2:5:2] == ("/", "minmag=7.5"), f"the link to the whole page is {whole}")
    put("q9embed", 8.0, "Frameville", minutes=1)
    page.wait_for_row("q9embed", "8.0")
    scrolling(page)
    drop("q9embed")


def scrolling(page):
    """Until the user clicks in the frame, the wheel scrolls the page around the frame. A click outside restores this."""
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
        browser.wait(
            f"the page around the frame to scroll, with the wheel over the {name}", lambda: browser.run("return scrollY") > 50)
    expect(inside("return document.getElementById('list').scrollTop") == 0,
           "the list scrolls before the user has clicked in the frame")
    click(*spots["map"])
    browser.wait("the frame to be in use", lambda: inside("return document.documentElement.classList.contains('in-use')"))
    wheel(*spots["list"])
    browser.wait("the list to scroll", lambda: inside("return document.getElementById('list').scrollTop") > 50)
    expect(browser.run("return scrollY") == 0, "the page around the frame scrolls together with the list")
    wheel(*spots["map"])
    click(300, 20)
    browser.wait("the frame to be out of use", lambda: not inside("return document.documentElement.classList.contains('in-use')"))
    expect(browser.run("return scrollY") == 0, "the wheel over the map in use scrolls the page around the frame")


def refused_files(page):
    put("q9refused", 7.9, "Busytown", minutes=1)
    refusal = RefusingProxy(page.server.port, ["page.css", "main.js", "words.js", "agencies.json", "borders.txt"], times=2)
    page.browser.devtools("Network.clearBrowserCache")
    page.browser.open(f"http://127.0.0.1:{refusal.port}/?minmag=7.5")
    page.browser.wait(
        "the message that files are missing",
        lambda: "Retrying" in (page.browser.text("#unstarted") or page.browser.text("#warnings") or ""))
    page.wait_for_row("q9refused", "Busytown")
    page.wait_for_state("live", "late")
    page.wait_for_no_warning()
    expect(page.browser.run("return document.getElementById('unstarted')") is None,
           "the message that the page did not load is still there")
    page.browser.wait("the style sheet", lambda: page.browser.run("return document.querySelector('link[rel=stylesheet]').sheet?.cssRules.length > 0"))
    expect(not any(refusal.left.values()), f"some refusals were not used: {refusal.left}")
    page.browser.errors()  # the console lists the refused requests
    drop("q9refused")


CHECKS = [refused_files, completeness, sharing, installable, several_agencies, one_earthquake,
          mechanism, embedded]
