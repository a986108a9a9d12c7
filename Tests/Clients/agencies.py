#!/usr/bin/env python3
"""Compares the rows that Quakes imported from QuakeML and FDSN text with the events that ObsPy reads from the same documents.

    Tests/Clients/agencies.py --list                     # lists the QuakeML samples that ObsPy includes
    Tests/Clients/agencies.py DOCUMENT NDJSON …          # compares pairs: a document, and the rows that Quakes imported from it

Every event whose origin has a time and a place must be a row with exactly the event's time (to the millisecond), place, depth and
magnitude. The script prints the differences, and exits with 1 if there are any.
"""

import json
import pathlib
import sys
import warnings
from decimal import Decimal

import obspy
from obspy import UTCDateTime, read_events


def main():
    folder = pathlib.Path(obspy.__file__).parent / "io/quakeml/tests/data"
    if sys.argv[1:] == ["--list"]:
        print("\n".join(str(path) for path in sorted(folder.glob("*.xml"))))
        return
    warnings.simplefilter("ignore")
    paths = sys.argv[1:]
    differences, count = [], 0
    for document, ndjson in zip(paths[::2], paths[1::2]):
        with open(ndjson, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        events = [event for event in read_events(document) if has_place(event)]
        name = pathlib.Path(document).name
        count += len(events)
        # ObsPy skips events after the document's creationInfo, so Quakes may have more rows.
        with open(document, "rb") as file:
            most = max(len(events), file.read().count(b"</event>"))
        if not len(events) <= len(rows) <= most:
            differences.append(f"{name}: ObsPy reads {len(events)} events, but Quakes imported {len(rows)} rows")
            continue
        by_id = {key(row): row for row in rows}
        for event in events:
            identifier = tail(str(event.resource_id))
            row = rows[0] if len(rows) == 1 else by_id.get(identifier)
            differences += [f"{name} {identifier}: {line}" for line in compare(event, row)]
    print("\n".join(differences) or f"{count} events are the same")
    sys.exit(1 if differences else 0)


def key(row):
    return tail((row["extra"] or {}).get("public_id") or row["net_code"])


def tail(identifier):
    return identifier.replace("=", "/").rpartition("/")[2]


def origin_of(event):
    return event.preferred_origin() or (event.origins[0] if event.origins else None)


def has_place(event):
    origin = origin_of(event)
    return origin is not None and None not in (origin.time, origin.latitude, origin.longitude)


def magnitude_of(event, origin):
    if preferred := event.preferred_magnitude():
        return preferred
    named = [each for each in event.magnitudes if each.origin_id == origin.resource_id]
    return (named or event.magnitudes or [None])[0]


def compare(event, row):
    if row is None:
        return ["Quakes imported no row"]
    origin = origin_of(event)
    magnitude = magnitude_of(event, origin)
    # IRIS's first service wrote depths in kilometres, but ObsPy reads them as metres.
    unit = 1 if "www.iris.edu/ws/" in str(event.resource_id) else 1000
    depth = None if origin.depth is None else float(Decimal(str(origin.depth)) / unit)
    pairs = {
        "latitude": (origin.latitude, row["latitude"]), "longitude": (origin.longitude, row["longitude"]),
        "depth": (depth, row["depth"]), "magnitude": (magnitude and magnitude.mag, row["magnitude"]),
        "magnitude type": (magnitude and magnitude.magnitude_type, row["magnitude_type"]),
    }
    lines = [f"{name} is {theirs!r} in ObsPy, but {ours!r} in Quakes" for name, (theirs, ours) in pairs.items() if theirs != ours]
    if abs(origin.time - UTCDateTime(row["time"])) > 0.0005:
        lines.append(f"time is {origin.time} in ObsPy, but {row['time']} in Quakes")
    return lines


if __name__ == "__main__":
    main()
