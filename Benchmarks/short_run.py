#!/usr/bin/env python3
"""Measures what a short run costs beside psql -c 'select 1': a run that finds no news in its feed.

The feed is all_hour with some 10 events, which are all known. Either the server says that it has not changed (304), or it
sends a newer document with the same events (200). A run counts from the start of its process to its end. The programs run
in turns, several runs at a time, and the figures are medians of all runs. The CPU time of the server is what its processes
took for one run. The goal is a ratio of 2 or less.

psql is the program itself, without the script that Debian puts before it.

    Benchmarks/short_run.py [--events N] [--rounds R] [--runs N] [--json]
"""

import argparse
import http.server
import json
import os
import statistics
import subprocess
import sys
import time

import goals
from cluster import QUAKES, Cluster, print_table, run
from feeds import serve

GOAL = 2.0
SUMMARY = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_hour.geojson"


class Feed(http.server.BaseHTTPRequestHandler):
    """/304 never changes; /200 is made anew for every request. Both have the same events."""

    events = 10
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
                            "updated": Feed.start + n * 1000, "tz": None, "felt": None, "cdi": None, "mmi": None,
                            "url": f"https://earthquake.usgs.gov/earthquakes/eventpage/q0{n}",
                            "detail": f"https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/q0{n}.geojson",
                            "alert": None, "status": "automatic", "tsunami": 0, "sig": 35, "net": "q0", "code": str(n),
                            "ids": f",q0{n},", "sources": ",q0,", "types": ",origin,phase-data,", "nst": 12,
                            "dmin": 0.1, "rms": 0.2, "gap": 80, "type": "earthquake", "title": "M 1.5"}}
            for n in range(Feed.events)]
        metadata = {"generated": int(time.time() * 1000), "url": SUMMARY, "title": "USGS", "status": 200, "api": "1",
                    "count": len(features)}
        return json.dumps({"type": "FeatureCollection", "metadata": metadata, "features": features}).encode()

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=10, help="events in the feed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=10, help="runs of each program in a round")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    Feed.events = options.events
    service = serve(Feed)
    psql = subprocess.check_output(["pg_config", "--bindir"], text=True).strip() + "/psql"
    with Cluster() as cluster:
        def importing(path):
            return QUAKES, "import", "--database", cluster.url, f"{service}{path}"
        # A file of certificates costs what it is long.
        for name in "SSL_CERT_FILE", "CURL_CA_BUNDLE":
            cluster.env.pop(name, None)
        print_results(options, measure(cluster, options, {
            "psql -c 'select 1'": (psql, cluster.url, "-qAtXc", "select 1"),
            "import, not modified": importing("/304"),
            "import, nothing new": importing("/200"),
            "quakes --version": (QUAKES, "--version"),
        }))


def measure(cluster, options, programs):
    rounds = {name: [] for name in programs}
    for turn in range(options.rounds + 1):
        for name, arguments in programs.items():
            figures = measure_runs(cluster, options.runs, arguments)
            if turn:  # the first round warms up, and imports the events
                rounds[name] += figures
    return {name: {figure: statistics.median(run[figure] for run in runs) for figure in runs[0]}
            | {"server": statistics.mean(run["server"] for run in runs)} for name, runs in rounds.items()}


def measure_runs(cluster, count, arguments):
    server, sessions = cluster.server_cpu(), processes(cluster)
    figures = [run(*arguments, env=cluster.env, stdout=subprocess.DEVNULL) for _ in range(count)]
    # Their sessions have to end as well.
    while processes(cluster) > sessions:
        pass
    # The time of the server's processes is counted in hundredths of a second, so it is shared among the runs.
    return [figure | {"server": (cluster.server_cpu() - server) / count} for figure in figures]


def processes(cluster):
    """The number of the server's processes."""
    with open(f"{cluster.env['QUAKES_HOME']}/data/postmaster.pid") as file:
        postmaster = file.readline().strip()
    with open(f"/proc/{postmaster}/task/{postmaster}/children") as children:
        return len(children.read().split())


def print_results(options, results):
    baseline = next(iter(results.values()))
    figures = ("wall", "cpu", "server")
    if options.json:
        print(json.dumps({"events": options.events, "goal": GOAL, "programs": [
            {"program": name} | {figure: values[figure] for figure in figures}
            | {"ratio": values["wall"] / baseline["wall"]} for name, values in results.items()]}, indent=1))
    else:
        print_table(("program", "wall ms", "ratio", "client CPU ms", "ratio", "server CPU ms", "ratio"), *(
            (name, *(cell for figure in figures for cell in (
                values[figure] * 1000, values[figure] / baseline[figure] if baseline[figure] else float("nan"))))
            for name, values in results.items()))
    goals.tell((goals.at_most(f"{name} / psql -c 'select 1'", values["wall"] / baseline["wall"], GOAL)
                for name, values in results.items() if "import" in name), prints=not options.json)


main()
