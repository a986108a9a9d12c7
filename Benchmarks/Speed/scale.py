#!/usr/bin/env python3
"""Measures whether the time per event is the same with ten million events as with one million, and the cost of a long history.

For each size, it measures a first load, an import of the same feed again, the first snapshot of a view, an import with one event
in a hundred revised, the view's catch-up with these revisions, `quakes status`, each report, and `quakes prune` of the whole
history. The baseline is psql's \\copy of the same rows as CSV into a table with the same indexes: it gets slower only because
the server has more data. The goal is that the time per event grows at most 1.3 times as much as that of \\copy, and that
memory does not grow.

The first snapshot, and a view's catch-up with the first load, should take at most 0.8 times as long as psql's COPY of the same
table piped into sqlite3's `.import`. The time until a listing shows three lines, including the start of the process, is
measured as well; with the most events it should be at most three times as long as with the fewest.

Reports run under EXPLAIN ANALYZE, which computes all of their rows but does not send them. Memory is measured for the client, and
for the server process with the most private memory. The shared buffers are not counted. The figure `-wal` is the largest
size of SQLite's log while the view was written.

The second part updates events, 20,000 in a transaction, and shows how much space each change takes in history.change and its
three indexes. Then it prunes the older half, vacuums twice, and makes as many new changes as were pruned. The new changes should
use the freed space.

Other work on the machine changes the wall times; the CPU times are then more reliable. The database is a private cluster that
exists only during the run, with shared_buffers 1GB, max_wal_size 8GB, checkpoint_timeout 1h and autovacuum off; the table is
vacuumed after the first load. 10,000,000 events take up to 45 GB in TMPDIR, which should be on a disk: a file system in memory
would leave no memory for the server's cache.

    TMPDIR=/var/tmp Benchmarks/Speed/scale.py [--events N,…] [--changes N] [--json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

import goals
from cluster import QUAKES, Cluster, finish, medians, print_table
from report import ONE_SCAN, explain, statements

COPY = "psql \\copy csv"
SQLITE = "COPY | sqlite3"
LISTINGS = ["list", "list --limit 0", "list --min-magnitude 6", "list --limit 0 --format geojson", "changes",
            "changes --format ndjson", "changes --author {author}", "changes --code {code}", "report event", "report revision",
            "rejects", "status"]
GOAL = 1.3
PER_TRANSACTION = 20_000
RELATIONS = ("history.change", "history.change_pkey", "history.change_key", "history.change_deletion")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=lambda text: [int(size) for size in text.split(",")],
                        default=[1_000_000, 10_000_000], help="the numbers of events, smallest first; 0 to skip this part")
    parser.add_argument("--changes", type=int, default=1_000_000, help="the number of changes in the history; 0 to skip this part")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Cluster(autovacuum="off", max_parallel_workers_per_gather="0") as cluster:
        sizes = {size: measure(cluster, size) for size in options.events if size}
        history = measure_history(cluster, options.changes) if options.changes else None
    if options.json:
        print(json.dumps({"sizes": sizes, "history": history}, indent=1))
    else:
        if sizes:
            print_sizes(sizes)
        if history:
            print_history(history)
    if len(sizes) > 1:
        goals.tell(goals_of(sizes), prints=not options.json)


# MARK: sizes


def measure(cluster, size):
    cluster.empty()
    cluster.sql("vacuum")
    step = Steps(cluster)
    view = f"{cluster.home}/view.sqlite"
    follow = [QUAKES, "follow", "--view", view, "--once", "--database", cluster.url, "--log-level", "warning"]
    step.run("empty view", *follow)
    feed = cluster.sample(size)
    step.run("first load", QUAKES, "import", "--database", cluster.url, feed)
    # Without the vacuum, the next step would also set the hint bits of all rows.
    cluster.sql("vacuum freeze analyze")
    step.run("reload", QUAKES, "import", "--database", cluster.url, feed)
    os.remove(feed)
    step.run("catch-up with the load", *follow, log=f"{view}-wal")
    remove_view(cluster)
    schema, columns = cluster.view_schema()
    step.run(SQLITE, "sh", "-c", """psql "$0" -qXc "copy (select $1 from quake) to stdout csv" |
                                    sqlite3 "$2" "$3" ".import --csv /dev/stdin quake" """, cluster.url, columns, view, schema)
    remove_view(cluster)
    step.run("first snapshot", *follow, log=f"{view}-wal")
    step.results["first snapshot"]["file"] = os.path.getsize(view) / 1e6
    feed = cluster.sample(size, "0.01")
    step.run("1% revised", QUAKES, "import", "--database", cluster.url, feed)
    os.remove(feed)
    step.run("catch-up with the revisions", *follow, log=f"{view}-wal")
    remove_view(cluster)
    cluster.sql("vacuum analyze")
    lines = {listing: first_lines(cluster, listing) for listing in LISTINGS}
    step.run("status", QUAKES, "status", "--database", cluster.url, ends_with=(0, 65, 69))
    for name, statement in statements(cluster).items():
        step.explain(name, statement)
    copy_rows(cluster, step, size)
    relations = cluster.sql(
        "select oid::regclass || ' ' || pg_relation_size(oid) from pg_class where oid::regclass::text in"
        " ('quake', 'history.change', 'history.transaction') or oid in (select indexrelid from pg_index"
        " where indrelid::regclass::text in ('quake', 'history.change', 'history.transaction')) order by 1").splitlines()
    step.run("prune", QUAKES, "prune", "--keep", "0s", "--database", cluster.url)
    del step.results["empty view"]
    return {"steps": step.results, "first lines": lines, "relations": {line.split()[0]: int(line.split()[1]) for line in relations}}


def remove_view(cluster):
    for name in os.listdir(cluster.home):
        if name.startswith("view.sqlite"):
            os.remove(f"{cluster.home}/{name}")


def first_lines(cluster, listing):
    """Seconds from the start of the process to the third line, as for `head -3`: the median of three runs, after a run to
    warm up."""
    command = listing.format(author=cluster.sql("select author from history.transaction order by token desc limit 1"),
                             code=cluster.sql("select code from quake order by code limit 1")).split()
    rounds = []
    for _ in range(4):
        start = time.monotonic()
        process = subprocess.Popen([QUAKES, *command, "--database", cluster.url], env=cluster.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        for _ in range(3):
            process.stdout.readline()
        rounds.append(time.monotonic() - start)
        process.stdout.close()
        # After its output is closed, the program exits with 141. SIGPIPE can also end it, because Popen restores the signal's
        # default.
        if process.wait() not in (0, 65, 69, 141, -13):
            sys.exit(f"{listing} ended with {process.returncode}")
        # Waits until the server's statement has ended, too.
        while cluster.sql("select count(*) from pg_stat_activity where backend_type = 'client backend'") != "1":
            pass
    return statistics.median(rounds[1:])


def copy_rows(cluster, step, size):
    """Measures \\copy, with which all steps are compared. A short copy may have to wait for the disk. So a table of at most
    1,000,000 rows is copied three times, and the medians count."""
    rows = f"'{cluster.home}/rows' csv"
    subprocess.run(["psql", cluster.url, "-qXc", f"\\copy quake to {rows}"], env=cluster.env, check=True)
    rounds = []
    for _ in range(3 if size <= 1_000_000 else 1):
        cluster.sql("create table copied (like quake including all)")
        step.run(COPY, "psql", cluster.url, "-qXc", f"\\copy copied from {rows}")
        rounds.append(step.results[COPY])
        cluster.sql("drop table copied")
    step.results[COPY] = medians(rounds)
    os.remove(f"{cluster.home}/rows")


class Steps:
    """Measures one step after another."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.results = {}

    def run(self, name, *command, log=None, ends_with=(0,)):
        self.cluster.sql("checkpoint")
        cpu, wal = self.cluster.server_cpu(), self.cluster.wal()
        with Peaks(self.cluster, log) as peaks:
            start = time.monotonic()
            process = subprocess.Popen(command, env=self.cluster.env, stdout=subprocess.DEVNULL)
            figures = finish(process, start, ends_with)
        # The server process ends, and its CPU time is counted, shortly after the client has ended.
        time.sleep(0.5)
        figures["server"] = self.cluster.server_cpu() - cpu
        figures["wal"] = (self.cluster.wal() - wal) / 1e6
        self.results[name] = figures | peaks.results
        self.say(name)

    def explain(self, name, statement):
        cpu = self.cluster.server_cpu()
        with Peaks(self.cluster) as peaks:
            plan = explain(self.cluster, statement)
        time.sleep(0.2)
        self.results[name] = {"wall": plan["Execution Time"] / 1000, "cpu": 0.0,
                              "server": self.cluster.server_cpu() - cpu} | peaks.results
        self.say(name)

    def say(self, name):
        print(f"{name}: {self.results[name]['wall']:.1f} s", file=sys.stderr)


class Peaks(threading.Thread):
    """Samples the largest private memory of a server process, and the size of a file, 20 times a second. The results are the
    largest values, in MB."""

    def __init__(self, cluster, log=None):
        super().__init__(daemon=True)
        self.log = log
        with open(f"{cluster.env['QUAKES_HOME']}/data/postmaster.pid") as file:
            self.postmaster = file.readline().strip()
        self.results = {"server memory": 0.0} | ({"-wal": 0.0} if log else {})
        self.has_ended = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.has_ended.set()
        self.join()

    def run(self):
        while not self.has_ended.wait(0.05):
            try:
                with open(f"/proc/{self.postmaster}/task/{self.postmaster}/children") as children:
                    self.see("server memory", max(map(own_memory, children.read().split()), default=0.0))
                if self.log:
                    self.see("-wal", os.path.getsize(self.log) / 1e6)
            except FileNotFoundError:
                pass

    def see(self, name, figure):
        self.results[name] = max(self.results[name], figure)


def own_memory(process):
    """The private memory of a process in MB; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))
    except (OSError, StopIteration):
        return 0.0


def per_event(sizes, size, name, figure):
    figures = sizes[size]["steps"][name]
    return (figures["wall"] if figure == "wall" else figures["cpu"] + figures["server"]) * 1e6 / size


def growth(sizes, name, figure="wall"):
    """The time per event with the most events, divided by the time per event with the fewest."""
    before = per_event(sizes, min(sizes), name, figure)
    return per_event(sizes, max(sizes), name, figure) / before if before else float("nan")


def beside_copy(sizes, name):
    return growth(sizes, name) / growth(sizes, COPY)


def goals_of(sizes):
    smallest, largest = min(sizes), max(sizes)
    small, large = sizes[smallest]["steps"], sizes[largest]["steps"]
    for name in large:
        if name not in (COPY, SQLITE, ONE_SCAN):
            yield goals.at_most(f"{name}: growth of the time per event from {smallest} to {largest} events / \\copy's growth",
                                beside_copy(sizes, name), GOAL)
    for name in ("first load", "reload", "first snapshot", "catch-up with the revisions"):
        yield goals.at_most(f"{name}: peak MB of {largest} / {smallest} events",
                            large[name]["memory"] / small[name]["memory"], 1.1)
    for name in ("catch-up with the load", "first snapshot"):
        yield goals.at_most(f"{name} of {smallest} events / COPY into sqlite3", small[name]["wall"] / small[SQLITE]["wall"], 0.8)
    worst = max(LISTINGS, key=lambda listing: line_ratio(sizes, listing))
    yield goals.at_most(f"first lines of {largest} / {smallest} events, worst: {worst}", line_ratio(sizes, worst), 3)


def line_ratio(sizes, listing):
    return sizes[max(sizes)]["first lines"][listing] / sizes[min(sizes)]["first lines"][listing]


def print_sizes(sizes):
    smallest, largest = min(sizes), max(sizes)
    rows = []
    for name in sizes[largest]["steps"]:
        walls = [per_event(sizes, size, name, "wall") for size in sizes]
        rows.append((name, *walls, growth(sizes, name), growth(sizes, name, "cpu"), beside_copy(sizes, name),
                     *(sizes[size]["steps"][name].get("memory", 0.0) for size in (smallest, largest)),
                     *(sizes[size]["steps"][name]["server memory"] for size in (smallest, largest))))
    print("time per event in µs")
    print_table(("what", *(f"{size:,}" for size in sizes), "growth", "CPU growth", f"growth / {COPY}",
                 "client MB, fewest", "most", "server MB, fewest", "most"), *rows)
    print()
    print_table(("the view's file", *(f"{size:,}" for size in sizes)),
                ("file, MB", *(sizes[size]["steps"]["first snapshot"]["file"] for size in sizes)),
                *((f"-wal of the {name}, MB", *(sizes[size]["steps"][name]["-wal"] for size in sizes))
                  for name in ("first snapshot", "catch-up with the revisions")))
    print()
    print_table(("first three lines, ms", *(f"{size:,}" for size in sizes), "ratio"),
                *((listing, *(sizes[size]["first lines"][listing] * 1000 for size in sizes), line_ratio(sizes, listing))
                  for listing in LISTINGS))
    print()
    print_table(("bytes per event", *(f"{size:,}" for size in sizes)),
                *((name, *(sizes[size]["relations"][name] / size for size in sizes))
                  for name in sizes[largest]["relations"]))
    print()


# MARK: history


def measure_history(cluster, changes):
    cluster.empty()
    events = max(PER_TRANSACTION, min(200_000, changes // 10) // PER_TRANSACTION * PER_TRANSACTION)
    cluster.load(cluster.sample(events))
    inserts = relation_sizes(cluster)
    cluster.sql("create sequence turn; create table turns as select code, nextval('turn') as turn from quake;"
                " create index on turns (turn); analyze turns; analyze quake")
    before = relation_sizes(cluster)
    halves = [change(cluster, changes // 2, events)]
    middle = time.monotonic()
    halves.append(change(cluster, changes // 2, events))
    made = relation_sizes(cluster)
    step = Steps(cluster)
    step.run("prune", QUAKES, "prune", "--keep", f"{time.monotonic() - middle:.0f}s", "--database", cluster.url)
    left = int(cluster.sql("select count(*) from history.change"))
    start = time.monotonic()
    cluster.sql("vacuum history.change, history.transaction")
    vacuum = time.monotonic() - start
    # Empty pages of an index are used again only after another transaction and another vacuum.
    cluster.sql("select pg_current_xact_id()")
    cluster.sql("vacuum history.change, history.transaction")
    pruned = relation_sizes(cluster)
    change(cluster, events + changes - left, events)
    return {"events": events, "changes": changes, "halves": halves, "inserts": inserts, "before": before, "made": made,
            "prune": step.results["prune"] | {"changes": events + changes - left}, "vacuum": vacuum, "pruned": pruned,
            "filled": relation_sizes(cluster)}


def change(cluster, changes, events):
    """Updates the columns that revisions usually change, in transactions as large as a batch of the importer."""
    wal, start = cluster.wal(), time.monotonic()
    for first in range(0, changes, PER_TRANSACTION):
        turn = first % events
        if not turn:
            cluster.sql("vacuum quake")
        cluster.sql("update quake set updated = updated + interval '1 minute', magnitude = magnitude + 0.01,"
                    " depth = depth + 0.01, nst = coalesce(nst, 0) + 1, rms = rms + 0.01 from turns"
                    f" where turns.code = quake.code and turn > {turn} and turn <= {turn + PER_TRANSACTION}")
    return {"wall": time.monotonic() - start, "wal": cluster.wal() - wal, "changes": changes}


def relation_sizes(cluster):
    return {name: int(cluster.sql(f"select pg_relation_size('{name}')")) for name in RELATIONS}


def print_history(history):
    changes, events, prune = history["changes"], history["events"], history["prune"]
    rows = []
    for name in RELATIONS:
        each = (history["made"][name] - history["before"][name]) / changes
        rows.append((name, history["inserts"][name] / events, each, each * 1e8 / 1e9))
    print(f"{changes:,} changes of {events:,} events")
    print_table(("bytes per change", "inserted", "updated", "GB for 100,000,000 updates"), *rows,
                ("together", *(sum(row[column] for row in rows) for column in (1, 2, 3))))
    wal = sum(half["wal"] for half in history["halves"]) / changes
    print(f"WAL per update, including the WAL of the events' table: {wal:.0f} bytes")
    print("µs per update in the first and the second half: "
          + ", ".join(f"{half['wall'] * 1e6 / half['changes']:.1f}" for half in history["halves"]))
    print()
    millions = prune["changes"] / 1e6
    print_table(("pruning", "figure"), ("changes", prune["changes"]), ("s per million", prune["wall"] / millions),
                ("CPU s per million", (prune["cpu"] + prune["server"]) / millions),
                ("WAL MB per million", prune["wal"] / millions), ("memory of the server's process, MB", prune["server memory"]),
                ("vacuum, s per million", history["vacuum"] / millions))
    print()
    print_table(("MB", "before pruning", "after pruning and vacuum", "after as many new changes as were pruned"),
                *((name, *(history[when][name] / 1e6 for when in ("made", "pruned", "filled"))) for name in RELATIONS))


if __name__ == "__main__":
    main()
