#!/usr/bin/env python3
"""Measures how soon listings show their first line: beside a large catalogue as against a small one.

Each listing runs against both, in turns, and its output is closed after three lines, as head -3 does. The time counts from
the start of the process to the third line, and to the end of the process. Every tenth event is revised once, so that the
history has changes of changes. The figures are the medians of several rounds and their ratio, large to small. The goal is
3 or less. Reports that count over all events have no first line until they have counted; they are listed with --all.

    Benchmarks/first_line.py [--events N] [--small N] [--repeat R] [--all] [--json]
"""

import argparse
import json
import subprocess
import sys
import time

import goals
from cluster import QUAKES, Cluster, medians, print_table

GOAL = 3.0
LISTINGS = ["list", "list --limit 20", "list --limit 0", "list --min-magnitude 6", "list --limit 0 --format geojson",
            "changes", "changes --limit 20", "changes --format ndjson", "changes --author {author}",
            "changes --code {code}",
            "report event", "report event --limit 20", "report event --format csv",
            "report revision", "rejects", "status"]
OTHERS = ["list --as-of 1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--small", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--all", action="store_true", help="also every report, and what is not expected to be fast")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Cluster() as cluster:
        urls = {}
        for size in (options.small, options.events):
            cluster.sql(f"create database catalogue_{size}")
            urls[size] = cluster.url.replace("/quakes?", f"/catalogue_{size}?")
            fill(cluster, urls[size], size)
        print_results(options, measure(cluster, urls, options))


def fill(cluster, url, size):
    def quakes(*arguments):
        subprocess.run([QUAKES, *arguments, "--database", url], env=cluster.env, check=True, stdout=sys.stderr)
    quakes("migrate")
    for revised in ("0", "10%"):
        quakes("import", cluster.sample(size, revised))
    subprocess.run(["psql", url, "-qXc", "vacuum analyze"], env=cluster.env, check=True)


def query(cluster, url, statement):
    return subprocess.check_output(["psql", url, "-qAtXc", statement], env=cluster.env, text=True).strip()


def measure(cluster, urls, options):
    listings = list(LISTINGS)
    if options.all:
        names = query(cluster, urls[options.small], "select relname from pg_class where relkind = 'v'"
                      " and relnamespace = 'report'::regnamespace order by 1").split()
        listings += OTHERS + [f"report {name}" for name in names if name != "event"]
    results = {}
    for listing in listings:
        rounds = {size: [] for size in urls}
        for turn in range(options.repeat + 1):
            for size, url in urls.items():
                figures = first_lines(cluster, url, listing)
                if turn:  # the first round warms up
                    rounds[size].append(figures)
        results[listing] = {size: medians(figures) for size, figures in rounds.items()}
        print(f"measured {listing}", file=sys.stderr)
    return results


def first_lines(cluster, url, listing):
    words = listing.format(
        author=query(cluster, url, "select author from history.transaction order by token desc limit 1"),
        code=query(cluster, url, "select code from quake order by code limit 1")).split()
    start = time.monotonic()
    process = subprocess.Popen([QUAKES, *words, "--database", url], env=cluster.env, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    for _ in range(3):
        process.stdout.readline()
    first = time.monotonic() - start
    process.stdout.close()
    # 141 is its own exit code once the output is closed; Python has SIGPIPE end it before that.
    if process.wait() not in (0, 141, -13):
        sys.exit(f"{listing} ended with {process.returncode}")
    end = time.monotonic() - start
    # The server's statement has to end as well.
    while query(cluster, url, "select count(*) from pg_stat_activity where datname = current_database()"
                " and backend_type = 'client backend'") != "1":
        pass
    return {"first": first, "end": end, "server": time.monotonic() - start}


def print_results(options, results):
    small, large = options.small, options.events
    ratios = {listing: of[large]["first"] / of[small]["first"] for listing, of in results.items()}
    if options.json:
        print(json.dumps({"events": large, "small": small, "goal": GOAL, "listings": [
            {"listing": listing, "ratio": ratios[listing], "seconds": of[large]["first"]}
            for listing, of in results.items()]}, indent=1))
    else:
        print_table(("first three lines", f"ms of {small}", f"ms of {large}", "ratio", "ms until the server is done"), *(
            (listing, *(f"{seconds * 1000:.0f}" for seconds in (of[small]["first"], of[large]["first"])), ratios[listing],
             f"{of[large]['server'] * 1000:.0f}") for listing, of in results.items()))
    slowest = max(LISTINGS, key=ratios.get)
    goals.tell([goals.at_most(f"first lines of {large} / {small} events, worst: {slowest}", ratios[slowest], GOAL)],
               prints=not options.json)


main()
