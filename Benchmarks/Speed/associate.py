#!/usr/bin/env python3
"""Measures association: the quality of the groups; the time to group all rows, compared with the time of their first load; and
the time from a revision's commit to the commit of its groups, compared with a follower's latency.

The quality comes from AssociationBenchmark (Benchmarks/Speed/Association): invented agencies report the earthquakes of a real
month, and the groups are compared with the truth. The groups of two other rules, ComCat's and connected components, are also
compared with the truth. Without the real feeds, quality is not measured.

The loaded rows are those of a synthetic feed, reported by three agencies with scatter. A second association of the same rows,
which changes nothing, is also measured. Each revision moves one event. The commit of its groups is the associator's next
transaction; both commit times are the server's.

All times come from one machine and one server, so compare their ratios across machines and not the times. The database is a
private cluster that exists only during the run.

    Benchmarks/Speed/associate.py [--events N] [--revisions N] [--rate R] [--feeds FOLDER] [--json]
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import goals
from cluster import QUAKES, Cluster, print_table, run

# The scatter of each agency in seconds, degrees and magnitudes.
AGENCIES = {"us": (0, 0, 0), "emsc": (1.2, 0.05, 0.2), "gfz": (2, 0.1, 0.25)}
BENCHMARK = os.path.join(os.path.dirname(QUAKES), "AssociationBenchmark")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, help="events of each agency")
    parser.add_argument("--revisions", type=int, default=300)
    parser.add_argument("--rate", type=float, default=10, help="revisions per second")
    parser.add_argument("--feeds", default="../shared/feeds", help="the folder of the real feeds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    figures = {}
    reached = []
    if os.path.isdir(options.feeds):
        figures["quality"], found = measure_quality(options.feeds, prints=not options.json)
        reached += found
    else:
        print(f"left out: quality (no real feeds in {options.feeds})", file=sys.stderr)
    with Cluster() as cluster:
        figures["rebuild"] = measure_rebuild(cluster, options)
        figures["latency"] = measure_latency(cluster, options)
    rebuild, latency = figures["rebuild"], figures["latency"]
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        print_table(("what", "wall s", "CPU s", "peak MB"),
                    *((what, *(measured[name] for name in ("wall", "cpu", "memory"))) for what, measured in rebuild.items()))
        print()
        print_table(("from a revision's commit", "p50 ms", "p99 ms", "max ms"),
                    *((what, *(measured[name] for name in ("p50", "p99", "max"))) for what, measured in latency.items()))
    first, load = rebuild["first association"], rebuild["first load"]
    groups, follower = latency["to its groups' commit"], latency["to a follower"]
    goals.tell([*reached,
                goals.at_most("first association / first load", first["wall"] / load["wall"], 1.0),
                goals.at_most("first association: peak MB", first["memory"], 64),
                goals.at_most("groups after a revision: p99 ms", groups["p99"], 100),
                goals.at_most("groups after a revision: p99 / a follower's", groups["p99"] / follower["p99"], 2)],
               prints=not options.json)


def measure_quality(feeds, prints):
    text = subprocess.check_output([BENCHMARK, "quality", feeds], text=True)
    if prints:
        print(text)
    scores = {}
    for name, *numbers in re.findall(r"^(association.*?) +(\d\.\d+) +(\d\.\d+) +(\d\.\d+)$", text, re.MULTILINE):
        # Most names occur once for each seed. `association, after the fit` occurs twice for each seed: after a fit from doubled σ
        # and from halved σ.
        scores.setdefault(name, []).append([float(number) for number in numbers])
    nulls = {month: max(float(number) for number in re.findall(r"(\d+\.\d+) %", " ".join(re.findall(
        rf"null test, {month}: matched(.*)", text)))) for month in ("quiet month", "Ridgecrest")}

    def least(name, column):
        return min(score[column] for score in scores[name])

    reached = []
    for name, precision, recall in [("association, cost at most 36", 0.997, 0.990),
                                    ("association, every σ doubled", 0.997, 0.990),
                                    ("association, every σ halved", 0.997, 0.94), ("association, after the fit", 0.997, 0.990)]:
        reached += [goals.at_least(f"{name}: precision", least(name, 0), precision),
                    goals.at_least(f"{name}: recall", least(name, 1), recall)]
    reached += [goals.at_most("one agency an hour late: % matched, quiet month", nulls["quiet month"], 0.1),
                goals.at_most("one agency an hour late: % matched, Ridgecrest", nulls["Ridgecrest"], 1)]
    return {"scores": scores, "null test": nulls}, reached


def report(source, agency, path, seed):
    """Writes the events of a feed as an agency would report them, with its scatter."""
    seconds, degrees, magnitudes = AGENCIES[agency]
    chance = random.Random(seed)
    with open(source) as lines, open(path, "w") as out:
        next(lines)
        out.write('{"type":"FeatureCollection","features":[\n')
        for number, line in enumerate(lines):
            event = json.loads(line[:line.rindex(',"bbox"')].rstrip("]") if ',"bbox"' in line else line.rstrip(",\n"))
            properties = event["properties"]
            code = event["id"]
            event["id"] = agency + code
            properties |= {"net": agency, "code": code, "ids": f",{agency}{code},", "sources": f",{agency},"}
            properties["time"] += round(1000 * chance.gauss(0, seconds))
            if properties["mag"] is not None:
                properties["mag"] = round(properties["mag"] + chance.gauss(0, magnitudes), 1)
            place = event["geometry"]["coordinates"]
            place[0] += chance.gauss(0, degrees)
            place[1] = max(-90, min(90, place[1] + chance.gauss(0, degrees)))
            out.write((",\n" if number else "") + json.dumps(event, separators=(",", ":")))
        out.write("]}")


def measure_rebuild(cluster, options):
    feeds = []
    for seed, agency in enumerate(AGENCIES):
        feeds.append(f"{cluster.home}/{agency}.geojson")
        report(cluster.sample(options.events), agency, feeds[-1], seed)
    load = run(QUAKES, "import", "--database", cluster.url, *feeds, env=cluster.env, stdout=subprocess.DEVNULL)
    for feed in feeds:
        os.remove(feed)
    figures = {"first load": load}
    for what, arguments in [("first association", []), ("rebuild without a difference", ["--rebuild"])]:
        figures[what] = run(QUAKES, "associate", *arguments, "--database", cluster.url, env=cluster.env, stdout=subprocess.DEVNULL)
    grouped = int(cluster.sql("select count(*) from earthquake where agencies > 1"))
    assert grouped > 0.9 * options.events, f"only {grouped} of {options.events} earthquakes were found"
    return figures


def measure_latency(cluster, options):
    cluster.sql("vacuum analyze")
    codes = cluster.sql("select code from quake where net = 'gfz' order by md5(code) limit 1000").splitlines()
    arrivals = {}
    associator = subprocess.Popen([QUAKES, "associate", "--follow", "--database", cluster.url], env=cluster.env)
    follower = subprocess.Popen([QUAKES, "follow", "--format", "ndjson", "--token", f"{cluster.home}/token", "--database", cluster.url],
                                env=cluster.env, stdout=subprocess.PIPE)
    reader = threading.Thread(target=read, args=(follower.stdout, arrivals))
    reader.start()
    psql = subprocess.Popen(["psql", cluster.url, "-qX", "-v", "ON_ERROR_STOP=1"], env=cluster.env, stdin=subprocess.PIPE, text=True)
    try:
        def follows():
            revise(psql, codes[0])
            return arrivals

        wait_until("the follower reads changes", follows)
        wait_until("the associator has caught up", lambda: cluster.sql(pending) == "0")
        start = int(cluster.sql("select history.current_token()"))
        begin = time.monotonic()
        for number in range(options.revisions):
            time.sleep(max(0, begin + number / options.rate - time.monotonic()))
            revise(psql, codes[number % len(codes)])
        wait_until("all rows are grouped", lambda: cluster.sql(pending) == "0")
    finally:
        psql.stdin.close()
        psql.wait()
        for process in (associator, follower):
            process.send_signal(signal.SIGTERM)
            process.wait()
        reader.join()
    rows = [line.split("|") for line in cluster.sql(
        "select t.token, extract(epoch from t.committed_at),"
        " extract(epoch from (select min(a.committed_at) from history.transaction a"
        "                     where a.context = 'association' and a.token > t.token))"
        f" from history.transaction t where t.token > {start} and t.context is distinct from 'association'").splitlines()]
    assert len(rows) == options.revisions
    return {"to its groups' commit": percentiles(float(grouped) - float(committed) for _, committed, grouped in rows),
            "to a follower": percentiles(arrivals[int(token)] - float(committed) for token, committed, _ in rows)}


pending = ("select count(*) from history.transaction where context is distinct from 'association'"
           " and token > (select split_part(position, '_', 1)::bigint from import.association)")


def revise(psql, code):
    """Moves an event by 0.3 seconds."""
    psql.stdin.write(f"update quake set time = time + interval '300 milliseconds', updated = updated + interval '1 second'"
                     f" where code = '{code}';\n")
    psql.stdin.flush()


def read(lines, arrivals):
    for line in lines:
        now = time.time()
        change = json.loads(line)
        if "operation" in change:
            arrivals.setdefault(change["token"], now)


def percentiles(seconds):
    values = sorted(1000 * value for value in seconds)
    return {"p50": values[len(values) // 2], "p99": values[len(values) * 99 // 100], "max": values[-1]}


def wait_until(what, condition, patience=120):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"gave up after {patience} s of waiting until {what}")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
