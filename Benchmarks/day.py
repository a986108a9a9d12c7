#!/usr/bin/env python3
"""Measures whether a daemon grows. It simulates 24 hours with one run a minute: 1,440 runs, as fast as possible.

Prints memory, open descriptors and database connections in the second hour and in the last one, and their ratio. The
feed changes before each run. The server is a private cluster that exists only for the run.

    Benchmarks/day.py [--hours H] [--events N]
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

from cluster import QUAKES, Cluster
from feeds import FeedAnswer, serve

FIGURES = ["memory MB", "descriptors", "connections"]


class Feed(FeedAnswer):
    runs = 0
    events = 250

    def do_GET(self):
        Feed.runs += 1
        features = [
            {"type": "Feature", "id": f"q0{n}", "geometry": {"type": "Point", "coordinates": [1, 2, 3]},
             "properties": {"mag": n % 50 / 10, "time": n * 60000, "updated": n * 60000 + Feed.runs, "net": "q0",
                            "code": str(n), "place": "somewhere", "ids": f",q0{n},"}}
            for n in range(Feed.runs, Feed.runs + Feed.events)]
        self.send(json.dumps({"type": "FeatureCollection", "features": features}).encode(), etag=f'"{Feed.runs}"')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--events", type=int, default=250, help="events in each document")
    options = parser.parse_args()
    Feed.events = options.events
    service = serve(Feed)
    with Cluster() as cluster:
        daemon = subprocess.Popen(
            [QUAKES, "import", f"{service}/feed", "--every", "0.001s", "--database", cluster.url],
            stdout=subprocess.DEVNULL)
        hours = [sample_hour(cluster, daemon, hour) for hour in range(options.hours)]
        daemon.send_signal(signal.SIGTERM)
        if daemon.wait() != 0:
            sys.exit(f"the daemon ended with {daemon.returncode}")
        done = int(cluster.sql("select count(*) from import.run where outcome = 'done'"))
    print(f"{done} runs of {options.events} events")
    print(f"{'':14}{'second hour':>14}{'last hour':>14}{'ratio':>8}")
    for name in FIGURES:
        second, last = hours[1][name], hours[-1][name]
        print(f"{name:14}{second:14.2f}{last:14.2f}{last / second:8.3f}")


def sample_hour(cluster, daemon, hour):
    """The mean figures over 60 runs."""
    samples = {name: [] for name in FIGURES}
    while Feed.runs < (hour + 1) * 60:
        if daemon.poll() is not None:
            sys.exit(f"the daemon ended with {daemon.returncode}")
        with open(f"/proc/{daemon.pid}/statm") as statm:
            samples["memory MB"].append(int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20)
        samples["descriptors"].append(len(os.listdir(f"/proc/{daemon.pid}/fd")))
        samples["connections"].append(
            int(cluster.sql("select count(*) from pg_stat_activity where application_name = 'quakes'")))
        time.sleep(0.02)
    # A median of whole numbers hides a slow growth.
    return {name: statistics.mean(values) for name, values in samples.items()}


if __name__ == "__main__":
    main()
