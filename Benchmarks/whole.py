#!/usr/bin/env python3
"""Counts what a catalogue lacks that reads feeds alone, an event service alone, or both.

A stand-in of the USGS's service answers from a catalogue whose clock the benchmark moves: the summary feed all_day, and the
event service with updatedafter, includedeleted=only and count. At each step Quakes imports the feed, sweeps the service, or does
both; during an interruption it does nothing. At the end the table is compared with the catalogue: rows missing, too many, and
older. Nothing here is measured in seconds.

--replay DIR replays the real hours in that folder, with interruptions of 0, 2, 6 and 48 hours in the middle. Without it, a
synthetic week passes in which events are published, revised and deleted as late as the USGS's are: in one project's count 184 of
693 events of magnitude 2.5 and more came 2 to 17 days after their origin, and 10 of 22 deleted Alaskan events went after 5 to 10
days. Here, 27 % come 2 to 17 days late, each event is revised once within 10 days, and 3 % are deleted within 10 days.

--idle measures instead what a sweep costs that brings nothing, in a daemon, beside `psql -c 'select 1'`.

    Benchmarks/whole.py [--replay DIR | --idle] [--days N] [--step MINUTES] [--seed S] [--json]
"""

import argparse
import datetime
import glob
import gzip
import http.server
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

import goals
from cluster import QUAKES, Cluster
from cluster import run as measured
from feeds import FeedAnswer

HOST = "earthquake.usgs.gov"
FEED = f"http://{HOST}/earthquakes/feed/v1.0/summary/all_day.geojson"
SERVICE = f"http://{HOST}/fdsnws/event/1/"
HOUR = 3_600_000
DAY = 24 * HOUR


class Catalogue(http.server.ThreadingHTTPServer):
    """The service. Clients reach it as a proxy."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self):
        self.now, self.events, self.deleted, self.requests = 0, {}, {}, 0

    def put(self, feature):
        self.events[feature["id"]] = feature
        self.deleted.pop(feature["id"], None)

    def delete(self, code):
        if self.events.pop(code, None):
            self.deleted[code] = self.now

    def answer(self, url):
        self.requests += 1
        parts = urllib.parse.urlsplit(url)
        values = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path.endswith("all_day.geojson"):
            return self.document(FEED, [e for e in self.events.values() if e["properties"]["time"] >= self.now - DAY])
        start, after = (millis(values.get(name)) for name in ("starttime", "updatedafter"))
        start = self.now - 30 * DAY if start is None else start
        if values.get("includedeleted") == "only":
            found = [{"type": "Feature", "id": code, "geometry": None,
                      "properties": {"updated": at, "status": "deleted", "mag": None, "time": None, "type": None}}
                     for code, at in self.deleted.items() if after is None or at > after]
        else:
            found = [e for e in self.events.values() if e["properties"]["time"] >= start
                     and (after is None or e["properties"]["updated"] > after)]
            found.sort(key=lambda e: e["properties"]["time"])
        return str(len(found)).encode() if parts.path.endswith("/count") else self.document(SERVICE + "query", found)

    def document(self, url, features):
        metadata = {"generated": self.now, "url": url, "count": len(features)}
        return json.dumps({"type": "FeatureCollection", "metadata": metadata, "features": features}).encode()


class Answer(FeedAnswer):
    def do_GET(self):
        self.send(self.server.answer(self.path))


def millis(text):
    if text is None:
        return None
    moment = datetime.datetime.fromisoformat(text.rstrip("Z") + "+00:00")
    return round((moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)).total_seconds() * 1000)


def replay(folder, catalogue):
    """The real hours, one after the other: what each document has, and what vanished from it while it was young enough."""
    for path in sorted(glob.glob(f"{folder}/*.geojson.gz")):
        document = json.load(gzip.open(path))
        catalogue.now = document["metadata"]["generated"]
        listed = {feature["id"]: feature for feature in document["features"]}
        for code, event in list(catalogue.events.items()):
            young = catalogue.now - DAY + 60_000 < event["properties"]["time"] < catalogue.now - 60_000
            if young and code not in listed and event["properties"]["updated"] < catalogue.now - 300_000:
                catalogue.delete(code)
        for feature in listed.values():
            known = catalogue.events.get(feature["id"])
            if not known or known["properties"]["updated"] <= feature["properties"]["updated"]:
                catalogue.put(feature)
        yield


def week(days, step, seed, catalogue):
    """A made-up catalogue whose past begins 20 days earlier, so that what is late comes from the first day on."""
    chance = random.Random(seed)
    begin = 1_750_000_000_000
    happenings = []  # (when, what, code, magnitude, origin)
    for number in range(330 * (days + 20)):
        origin = begin - 20 * DAY + chance.randrange((days + 20) * DAY)
        magnitude = round(0.5 + chance.expovariate(1.05), 1)
        published = origin + (chance.uniform(2, 17) * DAY if chance.random() < 0.27 else chance.uniform(2, 20) * 60_000)
        code = f"ak{number:06}"
        happenings.append((published, "put", code, magnitude, origin))
        revised = published + chance.expovariate(1 / (2.5 * DAY))
        happenings.append((revised, "put", code, round(magnitude + chance.gauss(0, 0.1), 1), origin))
        if chance.random() < 0.03:
            happenings.append((published + chance.uniform(0.05, 10) * DAY, "delete", code, None, None))
    happenings.sort()
    gone, index = set(), 0
    for now in range(begin, begin + days * DAY + 1, step * 60_000):
        while index < len(happenings) and happenings[index][0] <= now:
            when, what, code, magnitude, origin = happenings[index]
            index += 1
            catalogue.now = int(when)
            if what == "delete":
                gone.add(code)
                catalogue.delete(code)
            elif code not in gone:
                catalogue.put(feature(code, magnitude, origin, int(when)))
        catalogue.now = now
        yield


def feature(code, magnitude, time, updated):
    return {"type": "Feature", "id": code, "geometry": {"type": "Point", "coordinates": [-150, 61, 10]},
            "properties": {"mag": magnitude, "place": "somewhere", "time": time, "updated": updated, "net": code[:2],
                           "code": code[2:], "url": f"https://{HOST}/earthquakes/eventpage/{code}", "ids": f",{code},"}}


def run(cluster, catalogue, steps, sources, hours, counts_week=False):
    """Lets the steps pass, with an interruption of so many hours in the middle. Returns what the table lacks.

    If `counts_week`, only events of the time since the beginning count: those before are for a backfill.
    """
    cluster.empty()
    cluster.sql("delete from import.sweep; delete from import.settled; delete from import.withdrawn; delete from import.deleted;"
                " delete from import.feed")
    catalogue.reset()
    environment = {**cluster.env, "http_proxy": f"http://127.0.0.1:{catalogue.server_port}"}
    began, hole = None, None
    for number, _ in enumerate(steps(catalogue)):
        if number == 0:
            began = catalogue.now
            since = datetime.datetime.fromtimestamp(began / 1000 - 20 * 86400, datetime.timezone.utc)
        if number == 40:
            hole = catalogue.now
        if hole and hole <= catalogue.now < hole + hours * HOUR:
            continue
        for source in sources:
            more = ["--since", since.strftime("%Y-%m-%dT%H:%M:%SZ")] if source == SERVICE else []
            done = subprocess.run([QUAKES, "import", source, *more, "--retract", "force", "--database", cluster.url],
                                  env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"quakes import {source} ended with {done.returncode}: {done.stderr}")
    table = dict(line.split("|") for line in cluster.sql(
        "select code, (extract(epoch from updated) * 1000)::bigint from quake").splitlines())
    truth = {code: event["properties"]["updated"] for code, event in catalogue.events.items()}
    if counts_week:
        young = {c for c, e in catalogue.events.items() if e["properties"]["time"] >= began}
        truth = {c: u for c, u in truth.items() if c in young}
        table = {c: u for c, u in table.items() if c in young or c not in catalogue.events}
    return {"missing": len(truth.keys() - table.keys()), "too many": len(table.keys() - truth.keys()),
            "older": sum(int(table[code]) < truth[code] for code in truth.keys() & table.keys()),
            "events": len(truth), "requests": catalogue.requests}


def idle(cluster, catalogue):
    """The wall time of a sweep without news, and of psql."""
    catalogue.reset()
    catalogue.now = 1_750_000_000_000
    catalogue.put(feature("ak1", 1, catalogue.now - DAY, catalogue.now - HOUR))
    environment = {**cluster.env, "http_proxy": f"http://127.0.0.1:{catalogue.server_port}"}
    daemon = subprocess.Popen([QUAKES, "import", SERVICE, "--every", "0.3s", "--sweep-every", "0.3s", "--database", cluster.url],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    psql = []
    time.sleep(3)
    for _ in range(40):
        psql.append(measured("psql", cluster.url, "-c", "select 1", env=cluster.env, stdout=subprocess.DEVNULL)["wall"])
        time.sleep(0.3)
    daemon.terminate()
    daemon.wait()
    sweeps = [float(line) for line in cluster.sql(
        "select extract(epoch from finished - started) from import.run where outcome = 'done' order by id offset 3").splitlines()]
    return statistics.median(sweeps), statistics.median(psql), len(sweeps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replay", metavar="DIR")
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--step", type=int, default=60, help="minutes between two imports")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", default="0,2,6,48", help="how long the interruptions of a replay are")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.idle:
        with Cluster() as cluster:
            sweep, psql, count = idle(cluster, Catalogue())
        print(f"{count} sweeps without news: {sweep * 1000:.1f} ms; psql -c 'select 1': {psql * 1000:.1f} ms")
        return goals.tell([goals.at_most("a sweep without news / psql -c 'select 1': wall", sweep / psql, 1.5)])
    modes = {"feed alone": [FEED], "sweeps alone": [SERVICE], "both": [FEED, SERVICE]}
    if options.replay:
        steps = lambda catalogue: replay(options.replay, catalogue)
        holes = [int(hours) for hours in options.hours.split(",")]
    else:
        steps = lambda catalogue: week(options.days, options.step, options.seed, catalogue)
        holes = [0]
    rows = []
    catalogue = Catalogue()
    with Cluster() as cluster:
        for hours in holes:
            for mode, sources in modes.items():
                figures = run(cluster, catalogue, steps, sources, hours, counts_week=not options.replay)
                rows.append({"mode": mode, "interruption h": hours, **figures})
                if not options.json:
                    print(rows[-1], file=sys.stderr)
    if options.json:
        return print(json.dumps(rows))
    print("".join(f"{name:>16}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value:>16}" for value in row.values()))


if __name__ == "__main__":
    main()
