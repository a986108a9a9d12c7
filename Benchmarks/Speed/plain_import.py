#!/usr/bin/env python3
"""A typical importer as people write it: the whole feed in memory, COPY into a temporary table, INSERT … ON CONFLICT.

It serves only for comparison: it does not check the features, and always overwrites existing rows. It needs orjson and psycopg.

    plain_import.py DATABASE TABLE FEED
"""

import sys
from datetime import datetime, timezone

import orjson
import psycopg
from psycopg.types.json import Jsonb

PROPERTIES = {
    "magnitude": "mag", "magnitude_type": "magType", "place": "place", "title": "title", "url": "url",
    "detail": "detail", "status": "status", "alert": "alert", "type": "type", "tz": "tz", "felt": "felt", "sig": "sig",
    "nst": "nst", "cdi": "cdi", "mmi": "mmi", "dmin": "dmin", "rms": "rms", "gap": "gap",
}
LISTS = ("ids", "sources", "types")
KNOWN = {*PROPERTIES.values(), *LISTS, "net", "code", "time", "updated", "tsunami"}
COLUMNS = ["code", "net", "net_code", *PROPERTIES, "time", "updated", "tsunami", *LISTS, "longitude", "latitude",
           "depth", "extra"]


def row(feature):
    properties = feature["properties"]
    extra = {name: value for name, value in properties.items() if name not in KNOWN}
    return (feature["id"], properties["net"], properties["code"],
            *(properties.get(name) for name in PROPERTIES.values()),
            instant(properties["time"]), instant(properties["updated"]),
            bool(properties["tsunami"]),
            *([part for part in properties[name].split(",") if part] if properties.get(name) is not None else None
              for name in LISTS),
            *feature["geometry"]["coordinates"], Jsonb(extra) if extra else None)


def instant(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def main():
    database, table, path = sys.argv[1:]
    with open(path, "rb") as file:
        features = orjson.loads(file.read())["features"]
    columns = ", ".join(COLUMNS)
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(f"create temporary table incoming on commit drop as select {columns} from {table} with no data")
        with cursor.copy(f"copy incoming ({columns}) from stdin") as copy:
            for feature in features:
                copy.write_row(row(feature))
        assignments = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "code")
        cursor.execute(f"""
            insert into {table} ({columns})
            select distinct on (code) {columns} from incoming order by code, updated desc
            on conflict (code) do update set {assignments}""")
    print(len(features))


main()
