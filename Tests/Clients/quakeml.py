#!/usr/bin/env python3
"""Reads the QuakeML of `quakes list` with ObsPy, and compares it with the same list as NDJSON.

    Tests/Clients/quakeml.py QUAKEML NDJSON

The document must be valid by the schema of QuakeML 1.2, and every value must be exactly the value in the table. The script prints
the differences, and exits with 1 if there are any.
"""

import json
import sys
import warnings
from decimal import Decimal

from obspy import UTCDateTime, read_events
from obspy.io.quakeml.core import _validate

# The types of older feeds, with their names in QuakeML.
TYPES = {"quarry": "quarry blast", "quarry_blast": "quarry blast"}
MODES = {"automatic": ("automatic", "preliminary"), "reviewed": ("manual", "reviewed")}


def main():
    document, ndjson = sys.argv[1:]
    if not _validate(document, verbose=True):
        sys.exit("the document is not valid")
    with open(ndjson, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    warnings.simplefilter("error")
    events = read_events(document, format="QUAKEML")
    if len(events) != len(rows):
        sys.exit(f"the document has {len(events)} events, but the list has {len(rows)} rows")
    differences = [line for event, row in zip(events, rows) for line in compare(event, row)]
    print("\n".join(differences) or f"{len(events)} events are the same")
    sys.exit(1 if differences else 0)


def compare(event, row):
    origin = event.preferred_origin()
    magnitude = event.preferred_magnitude()
    quality = origin.quality
    depth = row["depth"] if row["depth"] is None else float(Decimal(str(row["depth"])) * 1000)
    mode, status = MODES.get((row["status"] or "").lower(), (None, None))
    pairs = {
        "code": (str(event.resource_id).rpartition("=")[2], row["code"]),
        "time": (origin.time, UTCDateTime(row["time"])),
        "latitude": (origin.latitude, row["latitude"]),
        "longitude": (origin.longitude, row["longitude"]),
        "depth": (origin.depth, depth),
        "magnitude": (magnitude and magnitude.mag, row["magnitude"]),
        "magnitude type": (magnitude and magnitude.magnitude_type, row["magnitude_type"] if magnitude else None),
        "place": (event.event_descriptions[0].text if event.event_descriptions else None, row["place"]),
        "type": (event.event_type, TYPES.get(row["type"], row["type"])),
        "agency": (event.creation_info.agency_id, row["net"]),
        "updated": (event.creation_info.creation_time, UTCDateTime(row["updated"])),
        "mode": (origin.evaluation_mode, mode),
        "status": (origin.evaluation_status, status),
        "nst": (quality and quality.used_station_count, row["nst"]),
        "rms": (quality and quality.standard_error, row["rms"]),
        "gap": (quality and quality.azimuthal_gap, row["gap"]),
        "dmin": (quality and quality.minimum_distance, row["dmin"]),
    }
    for name, (found, expected) in pairs.items():
        if found != expected:
            yield f"{row['code']}: {name} is {found!r} in the QuakeML, but {expected!r} in the table"


main()
