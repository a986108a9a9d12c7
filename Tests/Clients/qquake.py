#!/usr/bin/env python3
"""Queries an event service, and reads the answers, like QQuake, a plugin of QGIS (https://github.com/INGV/qquake).

    Tests/Clients/qquake.py URL

QQuake runs only in QGIS. This script repeats those parts of QQuake (in fetcher.py, wadl.py, basic_text_parser.py and quakeml/)
that would fail if an answer had the wrong form. It stops at the first difference.
"""

import json
import re
import sys
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from xml.dom import minidom

BASE = sys.argv[1]
HEADERS = "EventID Time Latitude Longitude DepthKm Author Catalog Contributor ContributorID MagType Magnitude MagAuthor EventLocationName EventType".split()
# The names that QQuake looks for in the description of a service. Each name enables a part of QQuake's form.
PARTS = {
    "eventid", "mindepth", "maxdepth", "includeallorigins", "includeallmagnitudes", "updatedafter", "catalog", "eventtype",
    "includearrivals", "minradius", "maxradius", "minradiuskm", "maxradiuskm", "text", "geojson",
}  # fmt: skip
REQUESTS = [
    ["starttime=1970-01-01T00:00:00", "endtime=2100-01-01T00:00:00"],
    ["starttime=1970-01-01T00:00:00Z", "endtime=2100-01-01T00:00:00Z", "updatedafter=1970-01-01T00:00:00Z"],
    ["minmagnitude=1.0", "maxmagnitude=6.5", "eventtype=earthquake"],
    ["minlatitude=-60.0", "maxlatitude=60.0", "minlongitude=-180.0", "maxlongitude=180.0", "limit=20000"],
    ["latitude=30.0", "longitude=-120.0", "minradius=0.0", "maxradius=120.0", "limit=20000"],
    ["latitude=30.0", "longitude=-120.0", "minradiuskm=10.0", "maxradiuskm=15000.0"],
]


def get(url):
    # Qt encodes only characters that a URL must not contain.
    with urllib.request.urlopen(urllib.parse.quote(url, safe=":/?&=%,+")) as answer:
        return answer.read().decode()


def endpoint():
    """The URL for queries, from the service's description."""
    url = f"{BASE}/fdsnws/event/1/query?"
    url = url[:-1][: url.rindex("/")] + "/application.wadl"
    (resources,) = minidom.parseString(get(url)).getElementsByTagName("resources")
    for resource in resources.getElementsByTagName("resource"):
        requests = [r for m in children(resource, "method") for r in children(m, "request")]
        if requests:
            break
    names = {param.getAttribute("name") for param in requests[0].getElementsByTagName("param")}
    names |= {option.getAttribute("value") for option in requests[0].getElementsByTagName("option")}
    assert PARTS <= names, PARTS - names
    base = resources.getAttribute("base")
    base += "" if base.endswith("/") else "/"
    if base.startswith("/"):
        base = url[: url.index("/", url.index(":") + 3)] + base
    return base + resource.getAttribute("path") + "?"


def children(element, name):
    return [child for child in element.childNodes if child.nodeName == name]


def text(element, *path):
    """The text of an element's descendant; None if there is no such element."""
    for name in path:
        element = next(iter(children(element, name)), None)
        if element is None:
            return None
    return "".join(node.data for node in element.childNodes)


def basic(content):
    """The events in an answer in the FDSN text format, by id."""
    events = {}
    for line in content.split("\n")[1:]:
        if not line:
            continue
        fields = line.split("|")
        assert len(fields) == len(HEADERS), line
        event = dict(zip(HEADERS, fields))
        moment = datetime.fromisoformat(event["Time"]).replace(tzinfo=timezone.utc)
        numbers = [event[name] and float(event[name]) for name in ("Longitude", "Latitude", "DepthKm", "Magnitude")]
        events[event["EventID"]] = (moment, *numbers)
    return events


def extended(content):
    """The events in a QuakeML document, by id."""
    events = {}
    for event in minidom.parseString(content).getElementsByTagName("event") if content else []:
        origins = {origin.getAttribute("publicID"): origin for origin in event.getElementsByTagName("origin")}
        origin = origins[text(event, "preferredOriginID")]
        number = None
        for magnitude in event.getElementsByTagName("magnitude"):
            assert text(magnitude, "originID") in origins
            assert magnitude.getAttribute("publicID") == text(event, "preferredMagnitudeID")
            number = float(text(magnitude, "mag", "value"))
        # QQuake takes the first description without checking that one exists.
        event.getElementsByTagName("description")[0]
        time = datetime.strptime(text(origin, "time", "value").rstrip("Z"), "%Y-%m-%dT%H:%M:%S.%f")
        values = [text(origin, name, "value") for name in ("longitude", "latitude", "depth")]
        values = [float(value) if value else "" for value in values]
        values[2] = values[2] and values[2] / 1000
        code = re.match("^.*=(.*?)$", event.getAttribute("publicID")).group(1)
        events[code] = (time.replace(tzinfo=timezone.utc), *values, "" if number is None else number)
    return events


def main():
    url = endpoint()
    catalogue = json.loads(get(f"{BASE}/fdsnws/event/1/query?format=geojson"))["features"]
    for request in REQUESTS:
        lines, document = (
            reader(get(url + "&".join(request + [f"format={format}"])))
            for reader, format in ((basic, "text"), (extended, "xml"))
        )
        assert lines, request
        assert list(lines) == list(document), request
        for code, values in lines.items():
            assert values == document[code], f"{code}: {values} in the text, but {document[code]} in the QuakeML"
    for code in list(lines)[:3] + [feature["id"] for feature in catalogue if not feature["properties"]["place"]][:1]:
        parameters = f"eventid={code}&includeallorigins=true&includeallmagnitudes=true"
        assert list(extended(get(f"{url}{parameters}&format=xml"))) == [code], code
        assert list(basic(get(f"{url}eventid={code}&format=text"))) == [code], code
    assert extended(get(f"{url}minmagnitude=9.9&format=xml")) == {}
    print(f"{len(REQUESTS)} requests agree")


main()
