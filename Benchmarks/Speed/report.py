#!/usr/bin/env python3
"""Measures the time of reports: each view and function, compared with one sequential scan of the table. --indexes measures the
cost of each index for imports instead.

The scan reads the columns that the reports read (place, time, magnitude, coordinates, depth), which are almost at the end of each
row. A view is read with all rows and columns by EXPLAIN ANALYZE, which does not send them. The scan and the reports are measured
in turn; the figures are medians. Parallel queries are disabled, because their gain depends on the machine. All figures come from
one machine and one server; only their ratios are meaningful. The database is a private cluster that exists only during the run.

The table contains a synthetic feed. --revised is the fraction of its events that is revised; the default is one in a hundred.
--indexes measures the first load, and the load of a feed in which every tenth event is revised, with and without each index, and
with different fill factors.

    Benchmarks/Speed/report.py [--events N] [--revised P] [--repeat R] [--plans] [--indexes] [--json]
"""

import argparse
import json
import sys

from cluster import Cluster, medians, print_table

ONE_SCAN = "one scan"
SCAN = ("select count(place), count(time), count(magnitude), count(longitude), count(latitude), count(depth)"
        " from public.quake")
MAINSHOCK = "(select code from public.quake order by magnitude desc nulls last limit 1)"
# A dashboard typically queries the last week of the catalogue.
WEEK = "'2025-12-25' and '2026-01-01'"
ASKED = {
    "daily_activity, a week": f"report.daily_activity where day between {WEEK}",
    "daily_energy, a week": f"report.daily_energy where day between {WEEK}",
    "event, a week, 20 largest": f"report.event where origin_time between {WEEK} order by magnitude desc limit 20",
    "event, by code": "report.event where code = 'q0x'",
    "gutenberg_richter(a week)": "report.gutenberg_richter('2025-12-25', '2026-01-01')",
}
DAY = "date_bin('1 day', time, timestamptz '1970-01-01 00:00:00+00')"
LARGEST = "select * from report.largest_event"
ACTIVITY = f"select * from {ASKED['daily_activity, a week']}"
NEAR = "select count(*) from quake where point(longitude, latitude) <@ box(point(-118, 35), point(-117, 36))"
# Variants of the table, and the query that each one affects. The first is the table as it ships.
VARIANTS = {
    "as it ships": ("select", None),
    "without quake_day": ("drop index quake_day", ACTIVITY),
    "BRIN for quake_day": (f"drop index quake_day; create index quake_more on quake using brin ({DAY})", ACTIVITY),
    "BRIN, ranges of 16 pages": (f"drop index quake_day; create index quake_more on quake using brin ({DAY})"
                                 " with (pages_per_range = 16)", ACTIVITY),
    "btree on magnitude too": ("create index quake_more on quake (magnitude)", LARGEST),
    "GiST on the epicentre too": ("create index quake_more on quake using gist (point(longitude, latitude))", NEAR),
    "fillfactor 100": ("alter table quake set (fillfactor = 100)", None),
}
REVERT = ("drop index if exists quake_more, quake_day; alter table quake set (fillfactor = 90);"
          f" create index quake_day on quake ({DAY})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--revised", default="1%", help="the fraction of the events that is revised; empty for none")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--plans", action="store_true", 
                        help="also print the plans of the five slowest reports, except reports of a week or by code")
    parser.add_argument("--indexes", action="store_true", help="measure what each index costs an import instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Cluster(autovacuum="off", max_parallel_workers_per_gather="0") as cluster:
        (measure_indexes if options.indexes else measure_reports)(cluster, options)


def measure_reports(cluster, options):
    cluster.load(cluster.sample(options.events))
    if options.revised:
        cluster.load(cluster.sample(options.events, options.revised))
    cluster.sql("vacuum analyze")
    chosen = statements(cluster)
    rounds = [{name: explain(cluster, statement) for name, statement in chosen.items()}
              for _ in range(options.repeat)]
    times = medians([{name: plan["Execution Time"] for name, plan in plans.items()} for plans in rounds])
    plans = rounds[-1]
    rows = [(name, plans[name]["Plan"]["Actual Rows"], times[name] / times[ONE_SCAN]) for name in chosen]
    if options.json:
        print(json.dumps({"events": options.events, "times the scan": {name: ratio for name, _, ratio in rows}}, indent=1))
        return
    print(f"{options.events} events")
    print_table(("report", "rows", f"times {ONE_SCAN}"), *rows)
    if options.plans:
        for name, _, _ in sorted(rows[1:len(rows) - len(ASKED)], key=lambda row: -row[2])[:5]:
            print(f"\n{name}\n")
            print(cluster.sql(f"explain (analyze, buffers, costs off, timing off) {chosen[name]}"))


def statements(cluster):
    """The name of each measured report, and a statement that reads it."""
    names = cluster.sql("select relname from pg_class where relnamespace = 'report'::regnamespace and relkind = 'v'"
                        " order by 1").splitlines()
    # The parameters are constants, as in typical queries, so the planner can inline the functions.
    mainshock = cluster.sql(f"select quote_literal({MAINSHOCK})")
    reports = {name: f"report.{name}" for name in names} | {
        "magnitude_frequency()": "report.magnitude_frequency()",
        "gutenberg_richter()": "report.gutenberg_richter()",
        "aftershocks(the largest)": f"report.aftershocks({mainshock})",
        "aftershock_rate(the largest)": f"report.aftershock_rate({mainshock})"} | ASKED
    return {ONE_SCAN: SCAN} | {name: f"select * from {source}" for name, source in reports.items()}


def explain(cluster, statement):
    return json.loads(cluster.sql(f"explain (analyze, timing off, format json) {statement}"))[0]


def measure_indexes(cluster, options):
    first, revised = cluster.sample(options.events), cluster.sample(options.events, "10%")
    rounds = []
    for turn in range(options.repeat):
        names = list(VARIANTS)[turn % 2::2] + list(VARIANTS)[(turn + 1) % 2::2]
        rounds.append({name: load(cluster, name, first, revised) for name in names})
        print(f"round {turn + 1} of {options.repeat}", file=sys.stderr)
    figures = {name: medians([each[name] for each in rounds]) for name in VARIANTS}
    if options.json:
        print(json.dumps({"events": options.events, "variants": figures}, indent=1))
        return
    base = figures["as it ships"]
    print(f"{options.events} events, a tenth of them revised; ratios to the table as it ships")
    print_table(("variant", "first load", "WAL", "revision", "WAL", "in place %", "size", "its query"),
                *((name, *(each[key] / base[key] for key in ["load", "load wal", "revise", "revise wal"]),
                   each["hot"] * 100, each["size"] / base["size"],
                   each["query"] / base[VARIANTS[name][1]] if VARIANTS[name][1] else 1.0)
                  for name, each in figures.items()))


def load(cluster, variant, first, revised):
    """Runs both loads into an empty table. Returns the seconds and the bytes of WAL of each load, the share of updates in place
    (HOT), and the size of the table with its indexes in bytes. Also returns the time of the variant's query, or
    the times of all queries for a variant without a query (the table as it ships, and fillfactor 100)."""
    change, query = VARIANTS[variant]
    cluster.empty()
    cluster.sql(REVERT)
    cluster.sql(change)
    cluster.sql("checkpoint")
    cluster.sql("select pg_stat_reset()")
    result = {}
    for name, feed in [("load", first), ("revise", revised)]:
        wal = cluster.wal()
        result[name] = cluster.load(feed)["wall"]
        result[f"{name} wal"] = cluster.wal() - wal
        cluster.sql("analyze quake")
    # Waits until the worker's session has ended and its statistics have arrived.
    cluster.sql("select pg_sleep(1.2)")
    result["hot"] = float(cluster.sql(
        "select n_tup_hot_upd / greatest(n_tup_upd, 1)::float from pg_stat_user_tables where relname = 'quake'"))
    result["size"] = int(cluster.sql("select pg_total_relation_size('quake')"))
    cluster.sql("vacuum quake")
    for key, statement in [("query", query)] if query else [(q, q) for q in [ACTIVITY, LARGEST, NEAR]]:
        result[key] = min(explain(cluster, statement)["Execution Time"] for _ in range(3))
    return result


if __name__ == "__main__":
    main()
