#!/usr/bin/env python3
"""Measures loads and reloads of a synthetic feed, compared with tools that people use today.

For each size, there are three loads: the feed into an empty table, the same feed again, and the same feed with 1 % of
its events revised. quakes loads them with history. The other tools keep no history. psql and python load the same rows into a
table with the same columns and indexes:

    psql \\copy   csv and binary; it does not parse JSON or resolve duplicates, so it can do only the first load
    python        plain_import.py: orjson, COPY into a temporary table, INSERT ON CONFLICT (needs orjson and psycopg)
    ogr2ogr       from GDAL (gdal-bin on Debian), into a table that it creates; it cannot upsert by a text key, so it
                  creates the table again each time

The figures are medians. All figures of a run come from one machine and one server; only their ratios are meaningful. The
benchmark needs python3 and the release executable (`make bench` builds it). The database is a private cluster that exists only
during the run, with shared_buffers 1GB, max_wal_size 8GB, checkpoint_timeout 1h and autovacuum off. The table that quakes fills
is vacuumed after the first load, and the table that python fills after the first and the second load.

--short measures short runs instead: the import of an hourly feed with ten known events, compared with psql -c 'select 1'. Either
the feed has not changed (304), or a newer document has the same events (200). The goal is at most twice psql's time. psql is run
directly, without Debian's wrapper script.

    Benchmarks/Speed/load.py [--short] [--events N,…] [--repeat R] [--only quakes,…] [--json]
"""

import argparse
import http.server
import importlib.util
import json
import shutil
import subprocess
import sys
import threading
import time

import goals
from cluster import HERE, QUAKES, Cluster, has, medians, print_table, run

REVISED = "0.01"
COPY = "psql \\copy csv"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=lambda text: [int(size) for size in text.split(",")],
                        default=[10_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["quakes", "copy", "python", "ogr2ogr"])
    parser.add_argument("--short", action="store_true", help="measure short runs instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.short:
        measure_short_runs(options)
        return

    with Cluster(autovacuum="off") as cluster:
        results = {size: measure(cluster, size, options) for size in options.events}
    if options.json:
        print(json.dumps({size: [{"load": load, "by": by, **figures} for (load, by), figures in of_size.items()]
                          for size, of_size in results.items()}, indent=1))
    else:
        print_results(results)
    goals.tell(goals_of(results), prints=not options.json)


def print_results(results):
    print_table(
        ("events", "load", "by", "wall ratio", "wall s", "client CPU s", "server CPU s", "peak MB", "WAL MB", "changes",
         "notifications"),
        *((size, load, by, f["wall"] / of_size["first", COPY]["wall"] if ("first", COPY) in of_size else 0.0,
           f["wall"], f["cpu"], f["server"], f["memory"], f["wal"] / 1e6, int(f["changes"]), int(f["notifications"]))
          for size, of_size in results.items() for (load, by), f in of_size.items()))


def goals_of(results):
    """The goals for the loads that were measured."""
    smallest, largest = results[min(results)], results[max(results)]

    def ratio(text, limit, of, key, to, other, figure="wall"):
        if key in of and other in to:
            yield goals.at_most(text, of[key][figure] / to[other][figure], limit)

    first, reload, copy = ("first", "quakes"), ("reload", "quakes"), ("first", COPY)
    yield from ratio(f"first load of {max(results)} events / \\copy csv", 0.85, largest, first, largest, copy)
    yield from ratio("reload / \\copy csv", 0.4, largest, reload, largest, copy)
    yield from ratio(f"reload of {min(results)} events / python's", 0.15, smallest, reload, smallest, ("reload", "python"))
    yield from ratio(f"peak MB of {max(results)} / {min(results)} events", 1.1, largest, first, smallest, first, "memory")
    if first in largest:
        peak = max(f["memory"] for of_size in results.values() for (_, by), f in of_size.items() if by == "quakes")
        yield goals.at_most("peak MB of quakes import, in all loads", peak, 48)
        yield goals.at_most("WAL MB of the reload", largest[reload]["wal"] / 1e6, 1)


def measure(cluster, size, options):
    feed, revised = cluster.sample(size), cluster.sample(size, REVISED)
    rounds = {}
    for turn in range(options.repeat):
        for importer in importers(cluster, options.only):
            # The slow tools take minutes for a large feed, so they run in one round only.
            if turn and size > 100_000 and importer.__name__ in ("python", "ogr2ogr"):
                continue
            for load, figures in importer(feed, revised):
                rounds.setdefault((load, importer.__name__), []).append(figures)
    # Sorts the figures by load instead of by tool.
    ordered = sorted(rounds, key=lambda key: ("first", "reload", "1% revised").index(key[0]))
    return {(load, NAMES[by]): medians(rounds[load, by]) for load, by in ordered}


def importers(cluster, names):
    """Returns functions that load the feed, the same feed again and the revised feed, and yield the figures of each load. Some
    tools can do only the first load."""

    def measured(*arguments):
        cluster.sql("checkpoint")
        before, start = counters(cluster), cluster.server_cpu()
        with Listener(cluster) as listener:
            figures = run(*arguments, env=cluster.env, stdout=subprocess.DEVNULL)
            # The server process ends, and its CPU time is counted, shortly after the client has ended.
            time.sleep(0.5)
            figures["notifications"] = listener.count()
        figures["server"] = cluster.server_cpu() - start
        return figures | {name: value - before[name] for name, value in counters(cluster).items()}

    def settled(table):
        # Without the vacuum, the next load would also set the hint bits of all rows.
        cluster.sql(f"vacuum freeze {table}")

    def quakes(feed, revised):
        cluster.empty()
        yield "first", measured(QUAKES, "import", "--database", cluster.url, feed)
        settled("quake")
        yield "reload", measured(QUAKES, "import", "--database", cluster.url, feed)
        yield "1% revised", measured(QUAKES, "import", "--database", cluster.url, revised)

    def copy(format):
        rows = f"'{cluster.home}/rows' {format}"
        cluster.sql("create table copied (like quake including all)")
        run("psql", cluster.url, "-qXc", f"\\copy quake to {rows}", env=cluster.env)
        yield "first", measured("psql", cluster.url, "-qXc", f"\\copy copied from {rows}")
        cluster.sql("drop table copied")

    def copy_csv(feed, revised):
        fill(feed)
        yield from copy("csv")

    def copy_binary(feed, revised):
        fill(feed)
        yield from copy("binary")

    def fill(feed):
        if cluster.sql("select count(*) from quake") == "0":
            cluster.quakes("import", "--database", cluster.url, feed)

    def python(feed, revised):
        cluster.sql("create table plain (like quake including all)")
        command = [sys.executable, f"{HERE}/plain_import.py", cluster.url, "plain"]
        yield "first", measured(*command, feed)
        settled("plain")
        yield "reload", measured(*command, feed)
        settled("plain")
        yield "1% revised", measured(*command, revised)
        cluster.sql("drop table plain")

    def ogr2ogr(feed, revised):
        target = "PG:" + cluster.url
        command = ["ogr2ogr", "-q", "-f", "PostgreSQL", target, "-nln", "ogr", "--config", "PG_USE_COPY", "YES",
                   "-lco", "GEOMETRY_NAME=geometry", "-overwrite"]
        yield "first", measured(*command, feed)
        yield "reload", measured(*command, feed)
        yield "1% revised", measured(*command, revised)
        cluster.sql("drop table ogr")

    chosen = [quakes] if "quakes" in names else []
    if "copy" in names:
        chosen += [copy_csv, copy_binary]
    if "python" in names and has("python", "orjson and psycopg", all(map(importlib.util.find_spec, ("orjson", "psycopg")))):
        chosen.append(python)
    if "ogr2ogr" in names and has("ogr2ogr", "ogr2ogr (gdal-bin)", shutil.which("ogr2ogr")):
        chosen.append(ogr2ogr)
    return chosen


NAMES = {"quakes": "quakes", "copy_csv": COPY, "copy_binary": "psql \\copy binary", "python": "python",
         "ogr2ogr": "ogr2ogr"}
def counters(cluster):
    return {"wal": cluster.wal(), "changes": int(cluster.sql("select count(*) from history.change"))}


class Listener:
    """Counts notifications over a separate connection. Without psycopg, it counts tokens, because each token has one
    notification."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __enter__(self):
        try:
            import psycopg
            self.connection = psycopg.connect(self.cluster.url, autocommit=True)
            self.connection.execute("listen quake_changes")
        except ImportError:
            self.connection, self.before = None, self.tokens()
        return self

    def __exit__(self, *_):
        if self.connection:
            self.connection.close()

    def tokens(self):
        return int(self.cluster.sql("select count(token) from history.transaction"))

    def count(self):
        if self.connection:
            return sum(1 for _ in self.connection.notifies(timeout=0.2))
        return self.tokens() - self.before


# MARK: short runs


class Feed(http.server.BaseHTTPRequestHandler):
    """Serves two feeds with the same events: /304 never changes, and /200 is newer for every request."""

    start = int(time.time() * 1000) - 1_800_000

    def do_GET(self):
        unchanged = self.path == "/304" and self.headers.get("if-none-match") is not None
        body = b"" if unchanged else self.document()
        self.send_response(304 if unchanged else 200)
        self.send_header("content-length", str(len(body)))
        self.send_header("etag", '"1"')
        self.end_headers()
        self.wfile.write(body)

    def document(self):
        features = [
            {"type": "Feature", "id": f"q0{n}", "geometry": {"type": "Point", "coordinates": [1, 2, 3]},
             "properties": {"mag": 1.5, "magType": "ml", "place": "5 km SW of Somewhere", "time": Feed.start + n * 1000,
                            "updated": Feed.start + n * 1000, "url": f"https://earthquake.usgs.gov/earthquakes/eventpage/q0{n}",
                            "status": "automatic", "tsunami": 0, "sig": 35, "net": "q0", "code": str(n), "ids": f",q0{n},",
                            "sources": ",q0,", "types": ",origin,phase-data,", "nst": 12, "dmin": 0.1, "rms": 0.2, "gap": 80,
                            "type": "earthquake", "title": "M 1.5"}}
            for n in range(10)]
        metadata = {"generated": int(time.time() * 1000), "title": "USGS", "status": 200, "api": "1", "count": len(features),
                    "url": "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_hour.geojson"}
        return json.dumps({"type": "FeatureCollection", "metadata": metadata, "features": features}).encode()

    def log_message(self, *_):
        pass


def measure_short_runs(options):
    """Measures ten runs of each program in turn, in 2 × `--repeat` rounds, after one round that imports the events."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Feed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    psql = subprocess.check_output(["pg_config", "--bindir"], text=True).strip() + "/psql"
    with Cluster() as cluster:
        # Reading a long file of certificates would take time.
        for name in "SSL_CERT_FILE", "CURL_CA_BUNDLE":
            cluster.env.pop(name, None)
        run_import = [QUAKES, "import", "--database", cluster.url]
        feed = f"http://127.0.0.1:{server.server_port}"
        programs = {"psql -c 'select 1'": [psql, cluster.url, "-qAtXc", "select 1"],
                    "import, not modified": [*run_import, f"{feed}/304"], "import, nothing new": [*run_import, f"{feed}/200"],
                    "quakes --version": [QUAKES, "--version"]}
        rounds = {name: [] for name in programs}
        for turn in range(2 * options.repeat + 1):
            for name, command in programs.items():
                figures = [run(*command, env=cluster.env, stdout=subprocess.DEVNULL) for _ in range(10)]
                if turn:
                    rounds[name] += figures
    results = {name: medians(runs) for name, runs in rounds.items()}
    psql = results["psql -c 'select 1'"]
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print_table(("program", "wall ms", "ratio", "CPU ms", "ratio"),
                    *((name, of["wall"] * 1000, of["wall"] / psql["wall"], of["cpu"] * 1000, of["cpu"] / psql["cpu"])
                      for name, of in results.items()))
    goals.tell((goals.at_most(f"{name} / psql -c 'select 1'", of["wall"] / psql["wall"], 2)
                for name, of in results.items() if "import" in name), prints=not options.json)


if __name__ == "__main__":
    main()
