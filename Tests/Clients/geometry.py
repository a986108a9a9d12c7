"""Reads report.event_geometry with geopandas, as docs/reporting.md shows: Tests/Clients/geometry.py URL"""

import sys

import geopandas
import psycopg2

with psycopg2.connect(sys.argv[1]) as connection:
    events = geopandas.read_postgis(
        "select code, origin_time, magnitude, longitude, latitude, geometry from report.event_geometry",
        connection, geom_col="geometry")
assert (events.geometry.x == events.longitude).all() and (events.geometry.y == events.latitude).all()
near = events[events.to_crs(epsg=3857).distance(events.to_crs(epsg=3857).geometry[0]) < 1e6]
assert 0 < len(near) <= len(events)
print(f"{len(events)} events, {events.crs}, {len(near)} of them within 1,000 km of the first event (in EPSG:3857)")
