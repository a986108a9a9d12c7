#!/usr/bin/env python3
"""First load and reload of a synthetic feed, beside psql's \\copy of the same rows into the same indexed table.

All figures of one run come from one machine and one server; only their ratios mean anything. Needs python3 and the
release executable (`make bench` builds it). The server is a private cluster of the run's own.

    Benchmarks/load.py [--events N] [--repeat R] [--json]
"""

import argparse
import json
import subprocess

from cluster import QUAKES, Cluster, medians, print_table, run

COPY = "psql \\copy"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    sizes = sorted({10_000, options.events})
    with Cluster() as cluster:
        results = {size: measure(cluster, size, options.repeat) for size in sizes}
    if options.json:
        print(json.dumps(results, indent=1))
        return
    print_table(
        ("events", "what", "wall ratio", "wall s", "client CPU s", "peak MB", "WAL MB", "tokens"),
        *((size, name, figures["wall"] / by_name[COPY]["wall"], figures["wall"], figures["cpu"], figures["memory"],
           figures["wal"] / 1e6, int(figures["tokens"]))
          for size, by_name in results.items() for name, figures in by_name.items()))
    peaks = [by_name["first load"]["memory"] for by_name in results.values()]
    print(f"peak memory at {sizes[-1]} events is {peaks[-1] / peaks[0]:.2f} times that at {sizes[0]}")


def measure(cluster, size, repeat):
    feed = cluster.sample(size)
    rounds = {"first load": [], "reload": [], COPY: []}

    def measured(*arguments):
        cluster.sql("checkpoint")
        wal, tokens = cluster.wal(), count_tokens(cluster)
        figures = run(*arguments, env=cluster.env, stdout=subprocess.DEVNULL)
        return figures | {"wal": cluster.wal() - wal, "tokens": count_tokens(cluster) - tokens}

    for _ in range(repeat):
        cluster.empty()
        rounds["first load"].append(measured(QUAKES, "import", "--database", cluster.url, feed))
        # The first reader after a load sets hint bits; not what is measured here.
        cluster.sql("vacuum freeze quake")
        rounds["reload"].append(measured(QUAKES, "import", "--database", cluster.url, feed))
        psql = ["psql", cluster.url, "-qXc"]
        rows = f"'{cluster.home}/rows.csv' csv"
        run(*psql, f"\\copy quake to {rows}", env=cluster.env)
        cluster.sql("create table copied (like quake including all)")
        rounds[COPY].append(measured(*psql, f"\\copy copied from {rows}"))
        cluster.sql("drop table copied")
    return {name: medians(figures) for name, figures in rounds.items()}


def count_tokens(cluster):
    return int(cluster.sql("select count(*) from history.transaction"))


main()
