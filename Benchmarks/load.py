#!/usr/bin/env python3
"""First load and reload of a synthetic feed, beside psql's \\copy of the same rows into the same indexed table.

All figures of one run come from one machine and one server; only their ratios mean anything. Needs python3 and the
release executable (`make bench` builds it). The server is a private cluster of the run's own.

    Benchmarks/load.py [--events N] [--repeat R] [--json]
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

COPY = "psql \\copy"
QUAKES = os.path.abspath(".build/release/quakes")


def run(*arguments, stdin=None, env=None):
    """Runs a program to its end: wall seconds, CPU seconds, peak memory in MB, standard output."""
    read, write = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(read)
        output = tempfile.TemporaryFile()
        process = subprocess.run(arguments, stdin=stdin, stdout=output, env=env)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        output.seek(0)
        text = output.read().decode()
        with os.fdopen(write, "w") as pipe:
            json.dump([process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text], pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        status, cpu, memory, text = json.load(pipe)
    os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"{' '.join(arguments)} ended with {status}")
    return {"wall": time.monotonic() - start, "cpu": cpu, "memory": memory, "output": text}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    home = tempfile.mkdtemp(prefix="quakes-bench-")
    os.chmod(home, 0o755)  # root's server runs as another user
    env = dict(os.environ, QUAKES_HOME=f"{home}/cluster", QUAKES_LOCAL="1")
    for name in list(env):
        if name == "DATABASE_URL" or name.startswith("PG"):
            del env[name]
    try:
        measure(options, home, env)
    finally:
        subprocess.run([QUAKES, "database", "stop"], env=env, stdout=subprocess.DEVNULL)
        shutil.rmtree(home)


def measure(options, home, env):
    url = subprocess.check_output([QUAKES, "database", "url"], env=env, text=True).strip()
    subprocess.run([QUAKES, "database", "start"], env=env, check=True, stdout=sys.stderr)

    def sql(statement):
        return subprocess.check_output(["psql", url, "-qAtXc", statement], env=env, text=True).strip()

    def wal():
        return int(sql("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))

    for setting in ["shared_buffers = '1GB'", "max_wal_size = '8GB'", "checkpoint_timeout = '1h'"]:
        sql(f"alter system set {setting}")
    subprocess.run([QUAKES, "database", "stop"], env=env, check=True, stdout=sys.stderr)
    subprocess.run([QUAKES, "database", "start"], env=env, check=True, stdout=sys.stderr)
    sizes = sorted({10_000, options.events})
    for size in sizes:
        with open(f"{home}/{size}.geojson", "wb") as feed:
            subprocess.run([QUAKES, "sample", "--count", str(size)], stdout=feed, check=True)
    subprocess.run([QUAKES, "migrate"], env=env, check=True, stdout=sys.stderr)

    results = {}
    for size in sizes:
        rounds = {"first load": [], "reload": [], COPY: []}
        for _ in range(options.repeat):
            for table in ["quake", "history.change", "history.transaction"]:
                sql(f"delete from {table}")
                sql(f"vacuum full {table}")
            sql("checkpoint")
            for name in ["first load", "reload"]:
                if name == "reload":
                    # The first reader after a load sets hint bits; not what is measured here.
                    sql("vacuum freeze quake")
                    sql("checkpoint")
                before = wal()
                transactions = int(sql("select count(*) from history.transaction"))
                figures = run(QUAKES, "import", "--format", "json", f"{home}/{size}.geojson", env=env)
                figures["wal"] = wal() - before
                figures["tokens"] = int(sql("select count(*) from history.transaction")) - transactions
                rounds[name].append(figures)
            subprocess.run(
                ["psql", url, "-qXc", f"\\copy quake to '{home}/rows.csv' csv"], env=env, check=True)
            sql("drop table if exists copied")
            sql("create table copied (like quake including all)")
            sql("checkpoint")
            before = wal()
            figures = run("psql", url, "-qXc", f"\\copy copied from '{home}/rows.csv' csv", env=env)
            figures["wal"] = wal() - before
            figures["tokens"] = 0
            rounds[COPY].append(figures)
            sql("drop table copied")
        results[size] = {
            name: {key: statistics.median(figures[key] for figures in all_figures)
                   for key in ["wall", "cpu", "memory", "wal", "tokens"]}
            for name, all_figures in rounds.items()
        }
    if options.json:
        print(json.dumps(results, indent=1))
        return
    print(f"{'events':>9}  {'what':<11} {'wall ratio':>12} {'wall s':>8} {'client CPU s':>12} "
          f"{'peak MB':>8} {'WAL MB':>8} {'tokens':>7}")
    for size, by_name in results.items():
        for name, figures in by_name.items():
            ratio = figures["wall"] / by_name[COPY]["wall"]
            print(f"{size:>9}  {name:<11} {ratio:>12.2f} {figures['wall']:>8.2f} {figures['cpu']:>12.2f} "
                  f"{figures['memory']:>8.1f} {figures['wal'] / 1e6:>8.2f} {figures['tokens']:>7.0f}")
    peaks = [by_name["first load"]["memory"] for by_name in results.values()]
    print(f"peak memory at {sizes[-1]} events is {peaks[-1] / peaks[0]:.2f} times that at {sizes[0]}")


main()
