#!/usr/bin/env python3
"""Queries a server with programs that were made for the USGS's server, and compares their results with the server's answers.

    Tests/Clients/usgs.py URL CLIENT

CLIENT is libcomcat, quakefeeds, homeassistant or gdal. The script changes only the host in the program's URLs. The catalogue must
contain an all_day feed of the USGS, and the deleted event usgone. At the first difference, the script prints it and exits with 1.
"""

import asyncio
import json
import sys
import urllib.request
from datetime import datetime, timedelta, timezone

BASE = sys.argv[1]
USGS = "earthquake.usgs.gov"


def get(path):
    with urllib.request.urlopen(BASE + path) as answer:
        return json.load(answer)


def moved(url):
    """A URL of the USGS, with the server's host in place of the USGS's."""
    for host in (f"https://{USGS}", f"http://{USGS}", "https://[HOST]"):
        url = url.replace(host, BASE)
    return url


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


def libcomcat():
    from libcomcat import classes, search, utils

    for module in (classes, search, utils):
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, str):
                setattr(module, name, moved(value))
    newest = get("/fdsnws/event/1/query?format=geojson&limit=1")["features"][0]["properties"]["time"]
    end = datetime.fromtimestamp(newest // 1000 + 1, timezone.utc)
    window = {"starttime": end - timedelta(days=2), "endtime": end}
    everything = get("/fdsnws/event/1/query?format=geojson&orderby=time-asc")["features"]
    wanted = [feature for feature in everything if feature["properties"]["type"] == "earthquake"]

    events = search.search(**window)
    check("search", [event.id for event in events], [feature["id"] for feature in wanted])
    for event, feature in zip(events, wanted):
        properties = feature["properties"]
        check("magnitude", event.magnitude, properties["mag"])
        check("place", event.toDict()["location"], properties["place"])
    check("count", search.count(**window), len(wanted))
    large = [event.id for event in events if event.magnitude >= 2.5]
    narrow = {"minmagnitude": 2.5, "latitude": 57.3, "longitude": -153.6, "maxradiuskm": 100, "mindepth": 0}
    narrow.update(maxgap=360, minsig=0, reviewstatus="reviewed", producttype="origin", catalog="us", contributor="us")
    check("search with many parameters", [event.id for event in search.search(**window, **narrow)], large)
    check("a product's code", search.count(**window, productcode=large[0]), 1)
    check("updatedafter", search.count(**window, updatedafter=end), 0)
    check("search without results", search.search(**window, minmagnitude=9), [])

    detail = search.get_event_by_id(large[0])
    check("detail", (detail.id, detail.toDict()["magnitude"], detail.products), (large[0], detail.magnitude, []))
    check("detail with superseded versions", search.get_event_by_id(large[0], includesuperseded=True).id, large[0])
    check("a deleted event", search.get_event_by_id("usgone", includedeleted=True)["status"], "deleted")
    check("catalogs", utils.get_catalogs(), ["us"])
    check("contributors", utils.get_contributors(), ["us"])
    return len(events)


def quakefeeds():
    import quakefeeds

    quakefeeds.URL = moved(quakefeeds.URL)
    for level in quakefeeds.ALLOWED_LEVELS:
        for period in quakefeeds.ALLOWED_PERIODS:
            feed = quakefeeds.QuakeFeed(level, period)
            check("features", len(list(feed.events)), len(feed))
    feed = quakefeeds.QuakeFeed("all", "day")
    document = get("/earthquakes/feed/v1.0/summary/all_day.geojson")
    check("magnitudes", list(feed.magnitudes), [feature["properties"]["mag"] for feature in document["features"]])
    check("title", feed.title, "USGS All Earthquakes, Past Day")
    check("time", feed.time.timestamp() * 1000, document["metadata"]["generated"])
    check("bbox", feed.bbox, document["bbox"])
    return len(feed)


def homeassistant():
    import aiohttp
    from aio_geojson_usgs_earthquakes import UsgsEarthquakeHazardsProgramFeedManager, feed

    for name, url in feed.URLS.items():
        feed.URLS[name] = moved(url)
    generated = []

    async def note(code):
        generated.append(code)

    async def update():
        async with aiohttp.ClientSession() as session:
            manager = UsgsEarthquakeHazardsProgramFeedManager(
                session, note, note, note, (57.3, -153.6), "past_day_all_earthquakes", 100, 2.5
            )
            await manager.update()
            return manager.feed_entries

    entries = asyncio.run(update())
    features = get("/earthquakes/feed/v1.0/summary/all_day.geojson")["features"]
    wanted = {f["id"]: f["properties"] for f in features if f["properties"]["mag"] >= 2.5}
    check("events", (sorted(entries), sorted(generated)), (sorted(wanted), sorted(wanted)))
    for code, entry in entries.items():
        found = [entry.title, entry.place, entry.magnitude, entry.alert, entry.type, entry.status]
        check(code, found, [wanted[code][name] for name in ("title", "place", "mag", "alert", "type", "status")])
        check(code, entry.updated.timestamp() * 1000, wanted[code]["updated"])
    return len(entries)


def gdal():
    import fiona

    features = get("/earthquakes/feed/v1.0/summary/all_day.geojson")["features"]
    points = {feature["id"]: tuple(feature["geometry"]["coordinates"]) for feature in features}
    summary = "/earthquakes/feed/v1.0/summary/all_day"
    for path in (f"{summary}.geojson", "/fdsnws/event/1/query?format=geojson"):
        with fiona.open(BASE + path) as layer:
            check(path, {row["properties"]["id"]: row["geometry"]["coordinates"] for row in layer}, points)
    with fiona.open(f"{BASE}{summary}.csv") as layer:
        rows = [row["properties"] for row in layer]
    found = {row["id"]: tuple(float(row[name]) for name in ("longitude", "latitude", "depth")) for row in rows}
    check("CSV", found, points)
    return len(points)


print({"libcomcat": libcomcat, "quakefeeds": quakefeeds, "homeassistant": homeassistant, "gdal": gdal}[sys.argv[2]]())
