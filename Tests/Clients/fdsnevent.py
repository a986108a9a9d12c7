#!/usr/bin/env python3
"""Queries an event service with ObsPy's client, and compares the results with the service's answers in the text format.

    Tests/Clients/fdsnevent.py URL

The requests use every parameter that ObsPy supports. The event q0gone must be deleted in the catalogue. The script prints the
differences, and exits with 1 if there are any.
"""

import io
import sys
import tempfile
import urllib.parse
import urllib.request
import warnings

from obspy import UTCDateTime, read_events
from obspy.clients.fdsn import Client
from obspy.clients.fdsn.header import FDSNException, FDSNNoDataException
from obspy.io.quakeml.core import _validate

START = UTCDateTime(1900, 1, 1)
REQUESTS = [
    {},
    {"starttime": START, "endtime": UTCDateTime(2100, 1, 1), "orderby": "time-asc"},
    {"minlatitude": -30, "maxlatitude": 60.5, "minlongitude": 100, "maxlongitude": -60},
    {"latitude": 30, "longitude": -120, "minradius": 1, "maxradius": 90},
    {"latitude": 30, "longitude": -120, "minradiuskm": 100, "maxradiuskm": 9000},
    {"mindepth": 5, "maxdepth": 100, "minmagnitude": 1, "maxmagnitude": 6, "orderby": "magnitude"},
    {"magnitudetype": "ml,md", "orderby": "magnitude-asc"},
    {"eventtype": "earthquake", "limit": 10, "offset": 5},
    {"updatedafter": START, "includeallorigins": True, "includeallmagnitudes": True, "includearrivals": True},
    {"asof": "1"},
]


def main():
    base = sys.argv[1]
    warnings.simplefilter("error", UserWarning)
    client = Client(base)
    problems = []
    networks = client.services["available_event_catalogs"]
    REQUESTS.append({"catalog": sorted(networks)[0]})
    REQUESTS.append({"contributor": sorted(client.services["available_event_contributors"])[0]})
    for request in REQUESTS:
        events = client.get_events(**request)
        found = [event.resource_id.id.split("=")[-1] for event in events]
        wanted = ids(base, request)
        if found != wanted or not wanted:
            problems.append(f"{request}: ObsPy's {len(found)} events are not the {len(wanted)} events of the text")
    one = ids(base, {})[0]
    if len(client.get_events(eventid=one)) != 1:
        problems.append(f"eventid={one}: ObsPy does not get exactly one event")
    for request, error in [({"minmagnitude": 11.5}, FDSNNoDataException), ({"eventid": "q0gone"}, FDSNException)]:
        try:
            client.get_events(**request)
            problems.append(f"{request}: ObsPy raises no {error.__name__}")
        except error:
            pass
    problems += file_problems(client)
    print("\n".join(problems) or f"{len(REQUESTS)} requests agree")
    sys.exit(1 if problems else 0)


def ids(base, request):
    """The ids in the service's answer in the text format, in the order of the answer."""
    values = {name: str(value) for name, value in request.items()}
    for name, value in request.items():
        if isinstance(value, UTCDateTime):
            values[name] = value.isoformat()
    query = urllib.parse.urlencode({**values, "format": "text"})
    with urllib.request.urlopen(f"{base}/fdsnws/event/1/query?{query}") as answer:
        lines = answer.read().decode().splitlines()
    return [line.split("|")[0] for line in lines[1:]]


def file_problems(client):
    """The problems of a downloaded file. It must be valid by the schema, and have as many events as a query returns."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        client.get_events(filename=file.name)
        file.seek(0)
        if not _validate(io.BytesIO(file.read()), verbose=True):
            return ["the QuakeML is not valid"]
        return [] if len(read_events(file.name)) == len(client.get_events()) else ["the file has a different number of events"]


main()
