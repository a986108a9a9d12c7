#!/usr/bin/env python3
"""Measures the time and memory of loads against the size of the feed. Prints a table, and draws the plot in
docs/performance.md.

The plot needs matplotlib. 3,000,000 events need about 10 GB of disk.

    Benchmarks/growth.py [--events N,…] [--repeat R] [--plot FILE.svg] [--json]
"""

import argparse
import json
from types import SimpleNamespace

from cluster import Cluster, print_table
from load import COPY, measure

SIZES = [1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000]
SERIES = [("first", "quakes"), ("reload", "quakes"), ("first", COPY)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=lambda text: [int(size) for size in text.split(",")], default=SIZES)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--plot")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    what = SimpleNamespace(only=["quakes", "copy"], repeat=options.repeat)
    with Cluster(autovacuum="off") as cluster:
        results = {size: measure(cluster, size, what) for size in options.events}
    if options.json:
        print(json.dumps([{"events": size, "load": load, "by": by, **of_size[load, by]}
                          for size, of_size in results.items() for load, by in SERIES], indent=1))
    else:
        print_table(
            ("events", "load", "by", "wall s", "µs per event", "peak MB"),
            *((size, load, by, of_size[load, by]["wall"], of_size[load, by]["wall"] * 1e6 / size,
               of_size[load, by]["memory"])
              for size, of_size in results.items() for load, by in SERIES))
    if options.plot:
        plot(results, options.plot)


def plot(results, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "quakes", "font.size": 9})
    from matplotlib import pyplot

    sizes = list(results)
    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for (load, by), style in zip(SERIES, ("o-", "s-", "^--")):
        times = [results[size][load, by]["wall"] for size in sizes]
        time.loglog(sizes, times, style, markersize=4, label=by if by == COPY else f"{by}, {load}")
        if by != COPY:
            memory.semilogx(sizes, [results[size][load, by]["memory"] for size in sizes], style, markersize=4,
                            label=f"{by}, {load}")
    time.set(title="Wall time, s", xlabel="events")
    memory.set(title="Peak memory of the worker, MB", xlabel="events", ylim=(0, 64))
    for axes in (time, memory):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})


main()
