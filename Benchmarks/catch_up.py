#!/usr/bin/env python3
"""Measures how long a reader takes to catch up with a whole import, compared with PostgreSQL's own tools.

Into a view: `quakes follow --view FILE --once`, both from the position before the import and without a file (a first
snapshot). It is compared with psql's COPY TO STDOUT, piped into sqlite3's `.import` with the same table.

As a stream into a file: `quakes follow --format ndjson --token FILE --once`, in the same two ways. It is compared with
pg_recvlogical and the plugin wal2json (postgresql-15-wal2json on Debian), on a slot that was created before the import.
wal2json decodes on the server, and only the rows of quake.

CPU and memory are those of the reader alone. For psql and sqlite3, that is the CPU of both and the memory of the larger
one. The figures are medians over the rounds, and so are the ratios within each round. All figures of one run come from
one machine and one server; only their ratios mean anything. The server is a private cluster that exists only for the
run.

    Benchmarks/catch_up.py [--events N] [--repeat R] [--json]
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import goals
from cluster import QUAKES, Cluster, medians, print_table, run

COPY = "psql COPY | sqlite3 .import"
WAL2JSON = "pg_recvlogical, wal2json"
BESIDE = {
    COPY: COPY, "view, changes": COPY, "view, snapshot": COPY,
    WAL2JSON: WAL2JSON, "stream, changes": WAL2JSON, "stream, snapshot": WAL2JSON,
}
SLOT = "before"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    with Cluster(wal_level="logical") as cluster:
        readers = Readers(cluster)
        cluster.load(cluster.sample(options.events))
        # The first reader after a load sets hint bits, which is not what this measures.
        cluster.sql("vacuum freeze analyze")
        cluster.sql("checkpoint")
        rounds = [readers.measure() for _ in range(options.repeat)]
    results = {what: medians([figures[what] | ratio(figures, what) for figures in rounds]) for what in rounds[0]}
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print_results(results, options)
    goals.tell((goals.at_most(f"{what} of {options.events} events / COPY into sqlite3", results[what]["ratio"], 0.8)
                for what in results if what.startswith("view")), prints=not options.json)


def print_results(results, options):
    print(f"{options.events} events")
    print_table(("catching up", "wall ratio", "wall s", "CPU s", "peak MB"),
                *((what, figures.get("ratio", float("nan")), figures["wall"], figures["cpu"], figures["memory"])
                  for what, figures in results.items()))


def ratio(figures, what):
    beside = figures.get(BESIDE[what])
    return {"ratio": figures[what]["wall"] / beside["wall"]} if beside else {}


class Readers:
    """Readers that start on the empty table and then read what was imported."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.before = f"{cluster.home}/before"
        self.folder = f"{cluster.home}/reading"
        self.view = f"{self.folder}/view.sqlite"
        self.output = f"{self.folder}/output"
        os.mkdir(self.before)
        self.follow("--view", f"{self.before}/view.sqlite")
        self.follow("--format", "ndjson", "--token", f"{self.before}/token")
        self.program = subprocess.check_output(["pg_config", "--bindir"], text=True).strip() + "/pg_recvlogical"
        try:
            cluster.sql(f"select pg_create_logical_replication_slot('{SLOT}', 'wal2json')")
            self.has_wal2json = True
        except subprocess.CalledProcessError:
            print("without wal2json: it is not installed (apt-get install postgresql-15-wal2json)", file=sys.stderr)
            self.has_wal2json = False

    def follow(self, *arguments, output=None):
        return run(QUAKES, "follow", *arguments, "--once", "--database", self.cluster.url, "--log-level", "warning",
                   env=self.cluster.env, stdout=output or subprocess.DEVNULL)

    def measure(self):
        rows = int(self.cluster.sql("select count(*) from quake"))
        readers = {
            COPY: (self.copy, self.rows_of_view), "view, changes": (self.follow_into_view, self.rows_of_view),
            "view, snapshot": (self.snapshot_into_view, self.rows_of_view),
            WAL2JSON: (self.decode, self.rows_of_output), "stream, changes": (self.stream, self.rows_of_output),
            "stream, snapshot": (self.snapshot_stream, self.rows_of_output),
        }
        if not self.has_wal2json:
            del readers[WAL2JSON]
        results = {}
        for what, (read, count) in readers.items():
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.copytree(self.before, self.folder)
            results[what] = read()
            if count() != rows:
                sys.exit(f"{what}: {count()} of {rows} rows arrived")
        shutil.rmtree(self.folder)
        return results

    # MARK: into a view

    def copy(self):
        schema, columns = self.cluster.view_schema()
        os.remove(self.view)
        script = """psql "$0" -qXc "copy (select $1 from quake) to stdout csv" |
                    sqlite3 "$2" "$3" ".import --csv /dev/stdin quake" """
        return run("sh", "-c", script, self.cluster.url, columns, self.view, schema, env=self.cluster.env)

    def follow_into_view(self):
        return self.follow("--view", self.view)

    def snapshot_into_view(self):
        return self.follow("--view", f"{self.view}.new")

    def rows_of_view(self):
        new = f"{self.view}.new"
        file = sqlite3.connect(new if os.path.exists(new) else self.view)
        try:
            return file.execute("select count(*) from quake").fetchone()[0]
        finally:
            file.close()

    # MARK: as a stream

    def decode(self):
        self.cluster.sql(f"select pg_copy_logical_replication_slot('{SLOT}', 'this_round')")
        end = self.cluster.sql("select pg_current_wal_lsn()")
        try:
            return run(self.program, "-d", self.cluster.url, "--slot=this_round", "--start", "--no-loop",
                       f"--endpos={end}", "-o", "format-version=2", "-o", "add-tables=public.quake",
                       "-f", self.output, env=self.cluster.env)
        finally:
            self.cluster.sql("select pg_drop_replication_slot('this_round')")

    def stream(self, *, token="token"):
        with open(self.output, "wb") as output:
            return self.follow("--format", "ndjson", "--token", f"{self.folder}/{token}", output=output)

    def snapshot_stream(self):
        return self.stream(token="new")

    def rows_of_output(self):
        """The number of lines with a row. The end of a transaction or of a pass does not count."""
        with open(self.output, "rb") as lines:
            return sum(line.startswith((b'{"action":"I"', b'{"row":')) or b'"operation":"insert"' in line
                       for line in lines)


main()
