#!/usr/bin/env python3
"""Measures what followers cost a primary, and what is left of that when they follow hot standbys instead.

One primary, some standbys that stream from it, and a writer. The followers (`quakes follow`) are arranged in four ways:
none, all on the primary, all spread over the standbys, and as many again on both. For each way:

- The writer commits at a steady rate. What counts is how long a commit takes, how soon the followers have it in their views,
  and the CPU time that a commit costs the primary, the standbys and the followers.
- The writer commits as fast as it can: how many commits a second the primary takes.

The standbys have hot_standby_feedback on. The primary and the writer have one core of the machine for themselves, and all else has the others, as if it ran on other
machines. Ways take turns, and the figures are medians over the rounds. The benchmark needs a C compiler, libpq and SQLite
with their headers, and at least two cores.

    Benchmarks/standbys.py [--followers N] [--standbys N] [--seconds S] [--rate R] [--rows N] [--events N] [--rounds R] [--json]
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

from cluster import QUAKES, Cluster, medians, postgres_cpu, print_table, token_of
from followers import Sightings, cpu_of, wait_until
from writer import Writer, add_options

WAYS = {"no followers": (0, 0), "on the primary": (1, 0), "on the standbys": (0, 1), "as many on both": (1, 1)}
FIGURES = {"rate": "commits/s", "commit_p50": "commit p50 ms", "commit_p99": "p99 ms", "there_p50": "primary's followers p50 ms",
           "there_p99": "p99 ms", "away_p50": "standbys' followers p50 ms", "away_p99": "p99 ms",
           "primary_cpu": "CPU ms a commit: primary", "standby_cpu": "standbys", "follower_cpu": "followers"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--followers", type=int, default=100, help="followers on the primary, and spread over the standbys")
    parser.add_argument("--standbys", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=15, help="how long to write at the steady rate")
    add_options(parser, rate=2)
    parser.add_argument("--flat-out", type=int, default=2000, help="transactions to write as fast as possible")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("this needs two cores: one for the primary, one for all else")

    rounds = {way: [] for way in WAYS}
    os.sched_setaffinity(0, cores[:1])  # a server's processes stay where it was started
    with Cluster(max_connections=options.followers + 20) as cluster:
        os.sched_setaffinity(0, cores[1:])
        cluster.load(cluster.sample(options.events))
        bench = Bench(cluster, cores[0], options)
        try:
            for turn in range(options.rounds):
                for way in list(WAYS) if turn % 2 == 0 else reversed(WAYS):
                    rounds[way].append(bench.measure(*WAYS[way]))
        finally:
            bench.end()
    results = {way: medians(figures) for way, figures in rounds.items()}
    if options.json:
        print(json.dumps({"followers": options.followers, "standbys": options.standbys, "ways": results}, indent=1))
        return
    print(f"{options.followers} followers, {options.standbys} standbys, {options.rate:g} commits/s of {options.rows} changes")
    print_table(("followers", *FIGURES.values()), *(
        (way, *(figures[name] for name in FIGURES)) for way, figures in results.items()))


class Standby:
    """A hot standby of a cluster, on the cores of whoever starts it."""

    def __init__(self, primary, number):
        self.home = f"{primary.home}/standby-{number}"
        self.env = primary.env | {"QUAKES_HOME": self.home}
        owner = os.stat(f"{primary.env['QUAKES_HOME']}/data")
        os.makedirs(f"{self.home}/data", 0o700)
        for folder in self.home, f"{self.home}/data":
            os.chown(folder, owner.st_uid, owner.st_gid)
        os.chmod(self.home, 0o755)
        # As root, the server runs as another user, and so does what makes its files.
        account = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.getuid() == 0 else {}
        programs = subprocess.check_output(["pg_config", "--bindir"], text=True).strip()
        subprocess.run(
            [f"{programs}/pg_basebackup", "-d", primary.url.replace("/quakes?", "/?"), "-D", f"{self.home}/data", "-R",
             "-X", "stream", "-c", "fast", "--no-sync"], check=True, cwd="/", **account)
        # Otherwise the primary removes old rows that followers here still read, and replay has to wait for each of them.
        with open(f"{self.home}/data/postgresql.auto.conf", "a") as configuration:
            configuration.write("hot_standby_feedback = on\n")
        subprocess.run([QUAKES, "database", "start"], env=self.env, check=True, stdout=sys.stderr)
        self.url = subprocess.check_output([QUAKES, "database", "url"], env=self.env, text=True).strip()

    def end(self):
        subprocess.run([QUAKES, "database", "stop"], env=self.env, check=True, stdout=subprocess.DEVNULL)


class Bench:
    def __init__(self, cluster, core, options):
        self.cluster = cluster
        self.core = core
        self.options = options
        self.observer = cluster.compile("view_observer.c", "sqlite3")
        self.codes = cluster.sql("select code from quake").splitlines()
        self.folder = f"{cluster.home}/views"
        self.standbys = [Standby(cluster, number) for number in range(options.standbys)]
        # The planner has to see typical transactions first.
        self.write(count=200, rate=200)
        cluster.sql("vacuum analyze")

    def end(self):
        for standby in self.standbys:
            standby.end()

    def measure(self, there, away):
        """One round: `there` and `away` are 1 if followers follow the primary and the standbys, 0 if not."""
        options = self.options
        os.mkdir(self.folder)
        urls = [self.cluster.url] * (options.followers * there) + [
            self.standbys[number % len(self.standbys)].url for number in range(options.followers * away)]
        files = [f"{self.folder}/{number}.sqlite" for number in range(len(urls))]
        followers = [subprocess.Popen([QUAKES, "follow", "--view", file, "--database", url, "--log-level", "warning"],
                                      env=self.cluster.env) for file, url in zip(files, urls)]
        try:
            self.wait_for(files)
            commits, durations, latencies, cpu = self.observe(files, followers)
            start = time.monotonic()
            self.write(count=options.flat_out, rate=float("inf"))
            rate = options.flat_out / (time.monotonic() - start)
            self.wait_for(files)
        finally:
            for follower in followers:
                follower.send_signal(signal.SIGTERM)
            for follower in followers:
                follower.wait()
        shutil.rmtree(self.folder)
        primaries = options.followers * there
        figures = {"rate": rate, **percentiles("commit", durations)}
        figures |= percentiles("there", [late for view in latencies[:primaries] for late in view])
        figures |= percentiles("away", [late for view in latencies[primaries:] for late in view])
        return figures | {f"{name}_cpu": seconds * 1000 / len(commits) for name, seconds in cpu.items()}

    def observe(self, files, followers):
        """Writes at the steady rate until every view has everything."""
        def cpu():
            return {"primary": postgres_cpu(self.cluster.env['QUAKES_HOME']),
                    "standby": sum(postgres_cpu(standby.home) for standby in self.standbys),
                    "follower": sum(cpu_of(follower.pid) for follower in followers)}
        with Sightings(self.observer, files, f"{self.folder}/sightings") as sightings:
            before = cpu()
            commits, durations = self.write(
                count=int(self.options.seconds * self.options.rate), rate=self.options.rate)
            self.wait_for(files)
            used = {name: seconds - before[name] for name, seconds in cpu().items()}
        return commits, durations, sightings.latencies(commits), used

    def write(self, count, rate):
        """Writes from the primary's core."""
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, [self.core])
        try:
            writer = Writer(self.cluster.url)
            return writer.write(self.codes, self.options, count, rate), writer.durations
        finally:
            os.sched_setaffinity(0, cores)

    def wait_for(self, files):
        now = int(self.cluster.sql("select history.current_token()"))
        wait_until("every view is up to date", lambda: all((token_of(file) or 0) >= now for file in files))


def percentiles(name, milliseconds):
    if not milliseconds:
        return {f"{name}_p50": float("nan"), f"{name}_p99": float("nan")}
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return {f"{name}_p50": cuts[49], f"{name}_p99": cuts[98]}


main()
