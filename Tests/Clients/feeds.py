#!/usr/bin/env python3
"""Reads the Atom, QuakeML, KML and JSONP of a server, and compares the events with the GeoJSON.

    Tests/Clients/feeds.py URL

feedparser and GDAL read the Atom, ObsPy reads the QuakeML and validates it against the schema, GDAL reads the KML, and the script
itself reads the JSONP. At the first difference, the script prints it and exits with 1.
"""

import datetime
import io
import json
import re
import sys
import tempfile
import urllib.request

import feedparser
import fiona
from lxml import etree
from obspy import read_events
from obspy.io.quakeml.core import _validate

BASE = sys.argv[1]
SUMMARY = f"{BASE}/earthquakes/feed/v1.0/summary/all_day"
QUERY = f"{BASE}/fdsnws/event/1/query?format="
KML = "{http://www.opengis.net/kml/2.2}"


def get(url, content_type):
    with urllib.request.urlopen(url) as answer:
        check(f"the type of {url}", answer.headers["Content-Type"].split(";")[0], content_type)
        return answer.read()


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


def instant(milliseconds):
    text = datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{milliseconds % 1000:03}Z"


def atom(features):
    document = get(f"{SUMMARY}.atom", "application/atom+xml")
    feed = feedparser.parse(document)
    check("whether the Atom has errors", feed.bozo, False)
    check("the Atom's version", feed.version, "atom10")
    check("the Atom's title", feed.feed.title, "USGS All Earthquakes, Past Day")
    check("the Atom's link", feed.feed.links[0].rel, "self")
    found = []
    for entry in feed.entries:
        tags = {tag.label: tag.term for tag in entry.tags}
        found.append((entry.id, entry.title, entry.updated, entry.where.coordinates, entry.link, tags["Author"]))
        if not re.search(r"<dt>Time</dt><dd>[-\d]+ [:\d]+ UTC</dd>.*<dt>Depth</dt><dd>[.\d]+ km", entry.summary):
            sys.exit(f"the summary of {entry.id} has no time or no depth: {entry.summary}")
    check("the Atom's entries", found, [(
        f"urn:earthquake-usgs-gov:{p['net']}:{p['code']}", p["title"], instant(p["updated"]), (lon, lat), p["url"], p["net"])
        for p, (lon, lat, _) in features])
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        file.write(document)
        file.flush()
        with fiona.open(file.name, driver="GeoRSS", allow_unsupported_drivers=True) as layer:
            points = [row["geometry"]["coordinates"][:2] for row in layer]
    check("GDAL's points of the Atom", points, [(lon, lat) for _, (lon, lat, _) in features])


def quakeml(features):
    document = get(f"{SUMMARY}.quakeml", "application/xml")
    check("whether the QuakeML is valid", _validate(io.BytesIO(document), verbose=True), True)
    origins = [event.preferred_origin() for event in read_events(io.BytesIO(document), format="QUAKEML")]
    check("the origins", [(origin.longitude, origin.latitude) for origin in origins],
          [(lon, lat) for _, (lon, lat, _) in features])


def kml(url, features, is_animated, colors):
    document = get(url, "application/vnd.google-earth.kml+xml")
    placemarks = list(etree.fromstring(document).iter(f"{KML}Placemark"))
    check(f"whether all colors of {url} are known", {mark.find(f".//{KML}color").text for mark in placemarks} <= colors, True)
    times = [mark.findtext(f"{KML}TimeStamp/{KML}when") for mark in placemarks]
    check(f"times of {url}", times, [instant(p["time"]) if is_animated else None for p, _ in features])
    found = []
    with tempfile.NamedTemporaryFile(suffix=".kml") as file:
        file.write(document)
        file.flush()
        # GDAL makes each folder of the KML a layer.
        for name in fiona.listlayers(file.name):
            with fiona.open(file.name, layer=name, allow_unsupported_drivers=True) as layer:
                found += [(row["properties"]["Name"], row["geometry"]["coordinates"][:2]) for row in layer]
    check(f"placemarks of {url}", found, [(p["title"], (lon, lat)) for p, (lon, lat, _) in features])


def jsonp():
    script = get(f"{QUERY}geojson&callback=my.own_1", "text/javascript").decode()
    inside = re.fullmatch(r"my\.own_1\((.*)\);", script, re.DOTALL)
    plain = json.loads(get(f"{QUERY}geojson", "application/json"))
    check("the features of the JSONP", json.loads(inside[1])["features"], plain["features"])


def main():
    document = json.loads(get(f"{SUMMARY}.geojson", "application/json"))
    features = [(f["properties"], tuple(f["geometry"]["coordinates"])) for f in document["features"]]
    atom(features)
    quakeml(features)
    ages = {"dd0000ff", "dd0099ff", "dd00ffff", "ddffffff"}
    depths = {"dd0099ff", "dd00ffff", "dd00ff00", "ddff0000", "ddc020a0", "dd0000ff", "ddffffff"}
    for name, colors in (("age", ages), ("depth", depths)):
        kml(f"{SUMMARY}_{name}.kml", features, False, colors)
        kml(f"{SUMMARY}_{name}_animated.kml", features, True, colors)
        kml(f"{QUERY}kml&kmlcolorby={name}&kmlanimated=true", features, True, colors)
    kml(f"{QUERY}kml", features, False, ages)
    jsonp()
    print(f"{len(features)} events are the same in all forms")


main()
