#!/usr/bin/env python3
"""Measures what it costs a daemon's turn to note what is held (import.coverage).

A daemon imports all_day, with some 300 events: one feed never changes but for the time when it was made, in another some events
are revised each time. Between its turns, the triggers that note it are disabled or enabled, by lot. Either way, the session
plans anew what it has prepared. A turn counts from the beginning of its run to its end, as import.run has it. The figures are
medians. On a busy machine their ratio says little; the share does: how much of the turns' time the triggers themselves took, by the
server's own clock (track_functions). The goal is 5 % or less.

    Benchmarks/coverage.py [--events N] [--turns N] [--json]
"""

import argparse
import json
import random
import statistics
import subprocess
import time

import goals
from cluster import QUAKES, Cluster, print_table
from feeds import FeedAnswer, serve

GOAL = 0.05
HOUR = 3_600_000


class Feeds(FeedAnswer):
    """/unchanged has the same events for every request, /changed revises 5 of them. Both are made anew."""

    events = 300
    start = int(time.time() * 1000) - HOUR

    def do_GET(self):
        now = int(time.time() * 1000)
        kind = "unchanged" if "unchanged" in self.path else "changed"
        features = []
        for n in range(Feeds.events):
            updated = now if kind == "changed" and n < 5 else Feeds.start
            features.append({
                "type": "Feature", "id": f"q0{n}", "geometry": {"type": "Point", "coordinates": [1, 2, 3]},
                "properties": {"mag": 1.5 + (updated % 10) / 10, "magType": "ml", "place": "5 km SW of Somewhere", "time": Feeds.start + n,
                               "updated": updated, "url": f"https://earthquake.usgs.gov/earthquakes/eventpage/q0{n}",
                               "status": "automatic", "tsunami": 0, "sig": 35, "net": "q0", "code": str(n), "ids": f",q0{n},",
                               "sources": ",q0,", "types": ",origin,", "type": "earthquake", "title": "M 1.5"}})
        metadata = {"generated": now, "url": "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson",
                    "title": "USGS", "status": 200, "api": "1", "count": len(features)}
        self.send(json.dumps({"type": "FeatureCollection", "metadata": metadata, "features": features}).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=300, help="events in the feed")
    parser.add_argument("--turns", type=int, default=60, help="turns of each kind, one a second")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    Feeds.events = options.events
    service = serve(Feeds)
    with Cluster(track_functions="pl") as cluster:
        results = {feed: measure(cluster, f"{service}/{feed}", options.turns)
                   for feed in ("unchanged", "changed")}
        print_results(options, results)


def measure(cluster, feed, turns):
    """Returns { "with", "without": the median of the turns' milliseconds, "share": of the triggers }."""
    def runs():
        return cluster.sql("select id, extract(epoch from finished - started) * 1000 from import.run "
                           "where finished is not null order by id desc limit 1").split("|")

    times = {"with": [], "without": []}
    cluster.sql("truncate import.coverage; select pg_stat_reset()")
    daemon = subprocess.Popen([QUAKES, "import", feed, "--every", "1s", "--database", cluster.url],
                              env=cluster.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        last, mode = None, None
        while any(len(each) < turns for each in times.values()):
            run = runs()
            if run[0] != last and len(run) == 2:
                if mode is not None:
                    times[mode].append(float(run[1]))
                last, mode = run[0], random.choice(("with", "without"))
                word = "enable" if mode == "with" else "disable"
                cluster.sql(f"alter table import.settled {word} trigger settled_coverage; "
                            f"alter table import.run {word} trigger run_coverage")
            time.sleep(0.05)
    finally:
        daemon.terminate()
        daemon.wait()
    if cluster.sql("select count(*) from import.coverage") == "0":
        raise SystemExit("nothing was noted: this measures nothing")
    taken = float(cluster.sql("select sum(total_time) from pg_stat_user_functions where funcname in ('note_settled', 'note_query')"))
    return {mode: statistics.median(each) for mode, each in times.items()} | {"share": taken / sum(times["with"])}


def print_results(options, results):
    if options.json:
        print(json.dumps({"events": options.events, "goal": GOAL, "feeds": [
            {"feed": feed} | figures for feed, figures in results.items()]}, indent=1))
    else:
        print_table(("feed", "a turn, ms", "without noting, ms", "ratio", "share of the triggers, %"), *(
            (feed, figures["with"], figures["without"], figures["with"] / figures["without"], figures["share"] * 100)
            for feed, figures in results.items()))
    goals.tell((goals.at_most(f"noting what is held / a turn of a daemon, {feed}", figures["share"], GOAL)
                for feed, figures in results.items()), prints=not options.json)


main()
