#!/usr/bin/env python3
"""Measures how much tracking a table slows down its writers.

Small writes: pgbench, where each transaction updates one random row. By default, PostgreSQL's commits wait until they are on disk
(fsync and synchronous_commit on); this is the figure that matters. With synchronous_commit off, the wait for the disk does not
hide the cost of tracking. There are no listeners; Benchmarks/Speed/follow.py measures with listeners.

Bulk writes: the first load of a synthetic feed, the same feed again, and the same feed with every event revised.

Both kinds of writes are measured untracked, tracked, and tracked without NOTIFY, one after another in each round. The figures
are medians. All figures come from one machine and one server; only their ratios are meaningful. The database is a private cluster
that exists only during the run.

    Benchmarks/Speed/tracking.py [--rows N] [--clients N,…] [--seconds S] [--events N] [--repeat R] [--json]
"""

import argparse
import json
import os
import re
import subprocess

import goals
from cluster import Cluster, medians, print_table

UNTRACKED, SILENT, TRACKED = VARIANTS = ["untracked", "tracked, no NOTIFY", "tracked"]
# The smallest acceptable ratio of tracked to untracked commits per second, by the number of clients.
GOALS = {1: 0.6, 8: 0.2}
UPDATE = """\\set row random(1, :rows)
update quake set magnitude = 10 * random() where code = 'q' || :row;
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="rows in the table that pgbench updates")
    parser.add_argument("--clients", type=lambda text: [int(count) for count in text.split(",")], default=[1, 8, 32])
    parser.add_argument("--seconds", type=int, default=10, help="seconds per pgbench run")
    parser.add_argument("--events", type=int, default=100_000, help="events in the feed")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    # Autovacuum would slow down one variant or another by chance.
    with Cluster(autovacuum="off") as cluster:
        table = TrackedTable(cluster)
        small = measure_small_writes(cluster, table, options)
        bulk = measure_loads(cluster, table, options)
    if options.json:
        print(json.dumps({"small writes": small, "bulk writes": bulk}, indent=1))
    else:
        print_results(small, bulk, options)
    goals.tell((goals.at_least(f"commits/s of {row['clients']} client(s), tracked / untracked", row[TRACKED] / row[UNTRACKED],
                               GOALS[row["clients"]])
                for row in small if row["synchronous_commit"] == "on" and row["clients"] in GOALS), prints=not options.json)


def print_results(small, bulk, options):
    print_table(
        ("synchronous_commit", "clients", "what", "commits/s", "ratio"),
        *((row["synchronous_commit"], row["clients"], variant, int(row[variant]), row[variant] / row[UNTRACKED])
          for row in small for variant in VARIANTS))
    print()
    print_table(
        ("load", "events", "what", "wall s", "wall ratio"),
        *((load, options.events, variant, by_variant[variant], by_variant[variant] / by_variant[UNTRACKED])
          for load, by_variant in bulk.items() for variant in VARIANTS))


class TrackedTable:
    """The table quake, with tracking or without it."""

    def __init__(self, cluster):
        self.sql = cluster.sql
        self.commit = self.sql("select pg_get_functiondef('history.commit'::regproc)")
        self.silent_commit, found = re.subn(r"perform pg_notify\([^;]*;", "", self.commit)
        assert found == 1

    def become(self, variant):
        for name in ["begin", "insert", "update", "delete", "truncate", "key"]:
            self.sql(f"set client_min_messages = warning; drop trigger if exists history_{name} on quake")
        if variant != UNTRACKED:
            self.sql("select history.track('public.quake', 'code', 'quake_changes')")
        self.sql(self.silent_commit if variant == SILENT else self.commit)


def rounds(count):
    """The variants of each round, in rotating order."""
    return [VARIANTS[turn % 3:] + VARIANTS[:turn % 3] for turn in range(count)]


def measure_small_writes(cluster, table, options):
    cluster.load(cluster.sample(options.rows))
    # Gives the rows codes that a pgbench script can name. A synthetic feed may repeat a code, so the rows are counted.
    cluster.sql("update quake set code = 'q' || number"
                " from (select code as old, row_number() over (order by code) as number from quake) as numbered"
                " where code = old")
    rows = cluster.sql("select count(*) from quake")
    script = f"{cluster.home}/update.sql"
    with open(script, "w") as file:
        file.write(UPDATE)

    def commits_per_second(clients, synchronous_commit):
        cluster.sql("truncate history.change, history.transaction")
        cluster.sql("vacuum full analyze quake")
        cluster.sql("checkpoint")
        binaries = subprocess.check_output(["pg_config", "--bindir"], text=True).strip()
        report = subprocess.check_output(
            [f"{binaries}/pgbench", "-n", "-f", script, "-D", f"rows={rows}", "-c", str(clients),
             "-j", str(min(clients, os.cpu_count())), "-T", str(options.seconds), cluster.url],
            env=cluster.env | {"PGOPTIONS": f"-c synchronous_commit={synchronous_commit}"}, text=True,
            stderr=subprocess.DEVNULL)
        return float(re.search(r"^tps = ([\d.]+)", report, re.MULTILINE)[1])

    results = []
    for synchronous_commit in ["on", "off"]:
        for clients in options.clients:
            measured = []
            for variants in rounds(options.repeat):
                measured.append({})
                for variant in variants:
                    table.become(variant)
                    measured[-1][variant] = commits_per_second(clients, synchronous_commit)
            results.append({"synchronous_commit": synchronous_commit, "clients": clients} | medians(measured))
    return results


def measure_loads(cluster, table, options):
    feed = cluster.sample(options.events)
    loads = {"first": feed, "unchanged": feed, "all revised": cluster.sample(options.events, revise="1")}
    measured = {load: [] for load in loads}
    for variants in rounds(options.repeat):
        for figures in measured.values():
            figures.append({})
        for variant in variants:
            table.become(variant)
            cluster.empty()
            for load, file in loads.items():
                cluster.sql("vacuum freeze quake")
                cluster.sql("checkpoint")
                measured[load][-1][variant] = cluster.load(file)["wall"]
    return {load: medians(figures) for load, figures in measured.items()}


main()
