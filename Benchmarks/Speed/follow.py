#!/usr/bin/env python3
"""Measures how soon after a commit many followers have it in their views, compared with a minimal follower.

A writer commits transactions of 20 updates at a steady rate. For each transaction, it records the token and the time right after
COMMIT has returned. view_observer.c reports when the file of each view reaches a token. The latency is the time from the commit
to this moment, for each transaction and each view. The two kinds of follower, `quakes follow` and barest_follower.c, are measured
in turn.

CPU times are those of the followers and of their sessions in the server. They start right before the first commit, and end when
every view has the last commit, so the first snapshot does not count. The CPU times are given per pass. A follower that falls
behind reads several commits in one pass, which takes less CPU time than a pass for each commit.

The figures are medians over the rounds. The ratios are medians of the ratios within each round, with the smallest and the
largest.

--http measures live HTTP clients of `quakes serve` instead, compared with nginx and nchan (live.py).

All figures of a run come from one machine and one server; only their ratios are meaningful. The benchmark needs a C compiler,
libpq and SQLite with their headers. The database is a private cluster that exists only during the run.

    Benchmarks/Speed/follow.py [--http] [--followers N] [--seconds S] [--rate R] [--rows N] [--events N] [--rounds R] [--json]
"""

import argparse
import bisect
import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

import goals
import live
from cluster import QUAKES, Cluster, finish, medians, print_table, token_of
from writer import Writer, add_options

QUAKES_FOLLOW, BAREST = KINDS = ["quakes follow", "barest follower"]
FIGURES = {"p50": "p50 ms", "p90": "p90 ms", "p99": "p99 ms", "max": "max ms", "cpu": "client CPU ms a pass",
           "server_cpu": "server CPU ms a pass", "both_cpu": "CPU ms a pass, both", "commits": "commits a pass", "memory": "peak MB each",
           "connections": "connections each"}
PATIENCE = 60  # seconds
GOALS = {"p50": 1.0, "p99": 1.0, "both_cpu": 1.1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--http", action="store_true", help="measure followers over HTTP")
    parser.add_argument("--followers", type=int, help="number of followers: 50, or 5000 over HTTP")
    parser.add_argument("--seconds", type=int,
                        help="length of a round: 20, which is long enough to move each view's log into its file, or 10 over HTTP")
    add_options(parser, rate=10)
    parser.add_argument("--rounds", type=int, help="number of rounds: 6, or 3 over HTTP")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.followers = options.followers or (5000 if options.http else 50)
    options.seconds = options.seconds or (10 if options.http else 20)
    options.rounds = options.rounds or (3 if options.http else 6)
    if options.http:
        live.measure(options)
        return

    rounds = {kind: [] for kind in KINDS}
    with Cluster(max_connections=4 * options.followers + 20) as cluster:
        cluster.load(cluster.sample(options.events))
        bench = Bench(cluster, options)
        for turn in range(options.rounds):
            for kind in KINDS if turn % 2 == 0 else reversed(KINDS):
                rounds[kind].append(bench.measure(kind))
    print_results(options, rounds)


def print_results(options, rounds):
    figures = {kind: medians(measured) for kind, measured in rounds.items()}
    ratios = {name: [ours[name] / barest[name] for ours, barest in zip(rounds[QUAKES_FOLLOW], rounds[BAREST])]
              for name in FIGURES}
    if options.json:
        print(json.dumps(figures | {"rounds": rounds, "ratios": ratios}, indent=1))
    else:
        print_figures(options, figures, ratios)
    goals.tell((goals.at_most(f"{options.followers} followers: {FIGURES[name]} / the barest follower's",
                              statistics.median(ratios[name]), limit) for name, limit in GOALS.items()),
               prints=not options.json)


def print_figures(options, figures, ratios):
    print(f"{options.followers} followers, {options.rate:g} commits/s of {options.rows} changes,"
          f" {options.rounds} rounds of {options.seconds} s")
    print_table(("from commit to applied", *FIGURES.values()),
                *((kind, *(measured[name] for name in FIGURES)) for kind, measured in figures.items()),
                *((what, *(of(ratios[name]) for name in FIGURES))
                  for what, of in [("ratio", statistics.median), ("least", min), ("greatest", max)]))


class Bench:
    def __init__(self, cluster, options):
        self.cluster = cluster
        self.options = options
        self.barest = cluster.compile("barest_follower.c", "pq", "sqlite3")
        self.observer = cluster.compile("view_observer.c", "sqlite3")
        self.codes = cluster.sql("select code from quake").splitlines()
        self.folder = f"{cluster.home}/views"
        # Without statistics of typical transactions, the server may choose a bad plan for the minimal follower's query.
        Writer(cluster.url).write(self.codes, options, count=200, rate=200)
        cluster.sql("vacuum analyze")

    def measure(self, kind):
        """Runs one round with one kind of follower."""
        os.mkdir(self.folder)
        files = [f"{self.folder}/{number}.sqlite" for number in range(self.options.followers)]
        start = time.monotonic()
        followers = [subprocess.Popen(self.command(kind, file), env=self.cluster.env) for file in files]
        try:
            now = int(self.cluster.sql("select history.current_token()"))
            wait_until("every view is up to date", lambda: all(token_of(file) == now for file in files))
            sessions = [int(line) for line in self.cluster.sql(
                "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
            ).splitlines()]
            commits, late, used = self.observe(files, [follower.pid for follower in followers], sessions)
        finally:
            for follower in followers:
                os.kill(follower.pid, signal.SIGTERM)
        memory = statistics.mean(
            finish(follower, start, ends_with=(0, -15))["memory"] for follower in followers)
        wait_until("their sessions have ended", lambda: self.cluster.sql(
            "select count(*) from pg_stat_activity where backend_type = 'client backend'") == "1")
        shutil.rmtree(self.folder)

        latencies = sorted(milliseconds for view in late for milliseconds in view)
        percentile = {f"p{percent}": latencies[len(latencies) * percent // 100] for percent in [50, 90, 99]}
        return percentile | {
            "max": latencies[-1], "cpu": used["clients"] / used["passes"] * 1000,
            "server_cpu": used["sessions"] / used["passes"] * 1000,
            "both_cpu": (used["clients"] + used["sessions"]) / used["passes"] * 1000,
            "commits": len(commits) * len(files) / used["passes"], "memory": memory,
            "connections": len(sessions) / len(files)}

    def command(self, kind, file):
        if kind == QUAKES_FOLLOW:
            return [QUAKES, "follow", "--view", file, "--database", self.cluster.url, "--log-level", "warning"]
        return [self.barest, self.cluster.url, file, *self.cluster.view_schema()]

    def observe(self, files, clients, sessions):
        """Writes transactions, and watches the views until they have all of them. Returns the commit time of each token, the
        latencies of each view, and the CPU seconds and passes that were used."""
        def usage():
            return {"clients": sum(map(cpu_of, clients)), "sessions": sum(map(cpu_of, sessions)),
                    "passes": sum(map(transactions_of, files))}

        with Sightings(self.observer, files, f"{self.folder}/sightings") as sightings:
            before = usage()
            commits = Writer(self.cluster.url).write(
                self.codes, self.options, count=int(self.options.seconds * self.options.rate), rate=self.options.rate)
            last = max(commits)
            wait_until("every view has the last token", lambda: all(token_of(file) >= last for file in files))
            used = {name: value - before[name] for name, value in usage().items()}
        return commits, sightings.latencies(commits), used


def transactions_of(path):
    """The number of transactions that were committed to a view. A follower commits one transaction for each pass. The number is
    the field iChange in the header of the log's index (https://www.sqlite.org/walformat.html#the_wal_index_header)."""
    with open(f"{path}-shm", "rb") as index:
        return struct.unpack("=8xI", index.read(12))[0]


class Sightings:
    """Records with view_observer.c when each view reaches each token, during a `with` block."""

    def __init__(self, observer, files, path):
        self.observer, self.files, self.path = observer, files, path

    def __enter__(self):
        with open(self.path, "w") as output:
            self.process = subprocess.Popen([self.observer, *self.files], stdout=output)
        time.sleep(1)  # until the observer watches the files
        return self

    def __exit__(self, *_):
        time.sleep(1)  # until the observer has written its last lines
        self.process.terminate()
        self.process.wait()

    def latencies(self, commits):
        """For each view, the milliseconds from each commit to the first sighting of its token or a later one.

        :param commits: when each token was committed, in nanoseconds of CLOCK_MONOTONIC.
        """
        sightings = [[] for _ in self.files]
        with open(self.path) as lines:
            for line in lines:
                view, reached, moment = map(int, line.split())
                sightings[view].append((reached, moment))
        return [[(first(view, token) - moment) / 1e6 for token, moment in commits.items()] for view in sightings]


def first(view, token):
    place = bisect.bisect_left(view, (token, 0))
    if place == len(view):
        sys.exit(f"a view was never seen with token {token}")
    return view[place][1]


def cpu_of(process):
    """The CPU seconds of a running process with all its threads. Unlike in /proc, they are exact to the nanosecond."""
    return time.clock_gettime(~process << 3 | 2)  # CPUCLOCK_SCHED: see clock_getcpuclockid(3)


def wait_until(what, is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(f"gave up after {PATIENCE} s of waiting until {what}")
        time.sleep(0.2)


main()
