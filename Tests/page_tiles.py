"""Checks of the map's tiles, which the live page shows close up. Tests/page.py runs them."""

from page_support import RefusingProxy, expect

TILES = "return performance.getEntriesByType('resource').map(({ name }) => name.split('/').pop()).filter((name) => name.startsWith('tiles'))"


def pixel(page):
    """The colour of the pixel in the middle of the map: red, green and blue."""
    return page.browser.run("""
        const map = document.getElementById("map");
        const [x, y] = [map.width, map.height].map((size) => Math.floor(size / 2));
        return [...map.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);""")


def middle(page):
    """The surface in the middle of the map: `land`, `sea`, or None for any other colour."""
    return page.browser.run(f"""
        const probe = document.body.appendChild(document.createElement("span"));
        const found = ["land", "sea"].find((name) => {{
          probe.style.color = `var(--${{name}})`;
          return getComputedStyle(probe).color === "rgb({', '.join(map(str, pixel(page)))})";
        }});
        probe.remove();
        return found ?? null;""")


def shows(page, place, kind):
    page.open(f"?minmag=9.5&map={place}")
    page.browser.wait(f"{kind} at {place}", lambda: middle(page) == kind)


def close_up(page):
    """The coast is finer from zoom 6 on. Below zoom 6, no tile is loaded."""
    shows(page, "25,5,5.9", "land")
    expect(page.browser.run(TILES) == [], "tiles are loaded although the map does not show them")
    expect(page.browser.run("return document.querySelector('.fault')") is None,
           "the legend has faults although the map does not show them")
    for place, kind in (("-41.376,174.118,9", "sea"), ("36.36,25.46,8", "land"), ("36.36,25.46,13", "land"), ("36.4,25.4,11", "sea"),
                        ("37.861,-122.43,12", "land"), ("-16.85,-179.97,11", "land"), ("-16.93,179.93,11", "land"),
                        ("-82,60,6", "land"), ("25,5,9", "land")):
        shows(page, place, kind)
    expect("GEM, CC BY-SA 4.0" in page.browser.text("#legend"), "the legend does not name the source of the faults")


def no_seams(page):
    """Where four tiles meet on land, there are no seams, at several zooms and pixel ratios."""
    browser = page.browser
    try:
        for ratio in 1, 1.5, 2:
            for zoom in 6, 6.37, 7.81, 10.2:
                browser.devtools("Emulation.setDeviceMetricsOverride", {
                    "width": 1440, "height": 900, "deviceScaleFactor": ratio, "mobile": False})
                page.open(f"?minmag=9.5&map=60.003,-130.001,{zoom}")
                browser.wait(
                    "the four tiles", lambda: {f"tiles_coast_{west}_{south}.txt" for west in (-130, -140) for south in (50, 60)}
                             <= set(browser.run(TILES)))

                def colors():
                    return browser.run("""
                        const map = document.getElementById("map");
                        const half = Math.floor(50 * devicePixelRatio);
                        const { data } = map.getContext("2d").getImageData(map.width / 2 - half, map.height / 2 - half, 2 * half, 2 * half);
                        return [...new Set(new Uint32Array(data.buffer))];""")
                browser.wait(
                    f"a single colour at zoom {zoom} and pixel ratio {ratio}",
                    lambda: len(colors()) == 1 and middle(page) == "land")
    finally:
        browser.emulate((1440, 900), False)


def forced_colours(page):
    """The map keeps its colours if the device forces its own, as in a mode with high contrast."""
    browser = page.browser
    browser.forced = True
    browser.emulate((1440, 900), False)
    try:
        page.open("?minmag=9.5&map=25,5,5.9")
        browser.wait("land", lambda: pixel(page) == [251, 251, 249])
        page.open("?minmag=9.5&map=22.3,-38.7,5.9")
        browser.wait("sea", lambda: pixel(page) == [233, 239, 245])
    finally:
        browser.forced = False
        browser.emulate((1440, 900), False)


def refused_tiles(page):
    """If a tile is refused, the coarse coast stays, and the tile is requested again."""
    proxy = RefusingProxy(page.server.port, ["tiles.js", "tiles_coast.txt", "tiles_coast_170_-50.txt"], 1)
    page.open("?minmag=9.5&map=-41.376,174.118,9", proxy.port)
    page.browser.wait("the refusal of the tile", lambda: proxy.left["tiles_coast_170_-50.txt"] == 0)
    expect(middle(page) == "land", "the coarse coast does not stay")
    expect("map" not in page.browser.text("#warnings"), "the page shows a warning about a missing tile")
    page.browser.wait("the fine coast", lambda: middle(page) == "sea")


def dropped_tiles(page):
    """While the map moves around the world, old tiles are dropped: back at the start, the first tile is requested again."""
    first = "tiles_coast_140_40.txt"

    def east(steps):
        page.browser.run("for (let step = 0; step < arguments[0]; step += 1) document.querySelector('[data-move=right]').click()", steps)

    page.browser.emulate((2400, 900), False)
    try:
        page.open("?minmag=9.5&map=47,145,6")
        # By default, Chromium records only 250 requests.
        page.browser.run("performance.setResourceTimingBufferSize(10_000)")
        page.browser.wait("the first tile", lambda: first in page.browser.run(TILES))
        for _ in range(12):
            known = page.browser.run(TILES)
            east(11)
            page.browser.wait("more tiles", lambda: len(page.browser.run(TILES)) > len(known))
        east(5)
        page.browser.wait("the second request for the first tile", lambda: page.browser.run(TILES).count(first) > 1)
    finally:
        page.browser.emulate((1440, 900), False)


CHECKS = [close_up, no_seams, forced_colours, refused_tiles, dropped_tiles]
