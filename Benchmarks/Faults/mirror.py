#!/usr/bin/env python3
"""Mirrors one Quakes database into another while the mirror is killed and cut off at random, and compares the tables at the end.

Revisions, new events, deletions and renames are committed to the first database. The mirror (`quakes import http://HOST/changes`)
reaches `quakes serve` through a proxy that cuts its connections. The latency of the mirror is printed beside that of `quakes
follow`, which follows the first database directly and is not disturbed.

    Benchmarks/Faults/mirror.py [--commits N] [--pause MS] [--peace] [--json]
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Speed"))
import goals
from cluster import QUAKES, Cluster, print_table
from fair import Service

COLUMNS = ("code, net, net_code, magnitude, magnitude_type, place, title, url, status, type, time, updated, felt, sig, ids, sources,"
           " longitude, latitude, depth, extra")


class CuttingProxy:
    """A proxy that forwards bytes. `cut()` closes all of its connections."""

    def __init__(self, port):
        self.target, self.open = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            self.open += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            end.close()

    def cut(self):
        for connection in self.open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.open = []


class Mirror:
    """The mirror's daemon, which is started again whenever it has been killed."""

    def __init__(self, cluster, url):
        self.command = [QUAKES, "import", url, "--every", "1s", "--database", cluster.url]
        self.environment, self.is_over, self.kills = cluster.env, False, 0
        self.start()
        threading.Thread(target=self.keep, daemon=True).start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def keep(self):
        while not self.is_over:
            self.process.wait()
            if not self.is_over:
                self.start()

    def kill(self):
        self.kills += 1
        self.process.kill()

    def end(self):
        self.is_over = True
        self.process.terminate()
        self.process.wait()


class Follower:
    """`quakes follow`, with the time at which it wrote each token."""

    def __init__(self, cluster):
        self.told = {}
        self.process = subprocess.Popen(
            [QUAKES, "follow", "--format", "ndjson", "--database", cluster.url], env=cluster.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            token = json.loads(line).get("token")
            if token is not None:
                self.told.setdefault(token, time.time())


def commits(count, chance):
    """The statements of each commit. The event q0marker counts the commits."""
    for number in range(1, count + 1):
        code = "(select code from quake where code <> 'q0marker' order by md5(code || {}) limit 1)".format(number)
        new = f"select 'q0new{number}', net, 'new{number}', magnitude, place, url, time, updated, longitude, latitude from quake where code = {code}"
        insert = f"insert into quake (code, net, net_code, magnitude, place, url, time, updated, longitude, latitude) {new}"
        kind = chance.choices(("revise", "delete", "insert", "rename"), (70, 12, 12, 6))[0]
        yield {"revise": f"update quake set magnitude = coalesce(magnitude, 0) + 0.01, updated = updated + interval '1 s' where code = {code}",
               "delete": f"set local history.reason = 'test {number}'; delete from quake where code = {code}",
               "insert": insert,
               "rename": f"update quake set code = 'q0ren{number}' where code = {code}"}[kind] + (
                   f"; update quake set felt = {number} where code = 'q0marker'")


def marks(cluster):
    """When each value of the marker was committed: (value, seconds since 1970, token)."""
    text = cluster.sql(
        "select extract(epoch from t.committed_at), t.token, c.before ->> 'felt' from history.change c join history.transaction t"
        " on t.id = c.transaction where c.key = 'q0marker' and c.operation = 'update' order by t.token")
    rows = [line.split("|") for line in text.splitlines()]
    last = int(cluster.sql("select felt from quake where code = 'q0marker'"))
    # The history keeps the value before each update, so an update's new value is in the next row.
    values = [int(row[2] or 0) for row in rows[1:]] + [last]
    return [(value, float(row[0]), int(row[1])) for value, row in zip(values, rows)]


def percentile(waits, share):
    return sorted(waits)[min(len(waits) - 1, int(len(waits) * share))] * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--pause", type=int, default=50, help="milliseconds between two commits")
    parser.add_argument("--peace", action="store_true", help="do not kill the mirror or cut its connections")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chance = random.Random(1)
    with Cluster(shared_buffers="128MB") as first, Cluster(shared_buffers="128MB") as second:
        first.load(first.sample(2000))
        first.sql("insert into quake (code, net, net_code, time, updated, longitude, latitude, felt)"
                  " values ('q0marker', 'q0', 'marker', now(), date_trunc('milliseconds', now()), 0, 0, 0);"
                  "update quake set time = date_trunc('milliseconds', time) where code = 'q0marker'")
        with Service(first) as service:
            proxy = CuttingProxy(service.port)
            mirror, follower = Mirror(second, f"http://127.0.0.1:{proxy.port}/changes"), Follower(first)
            while second.sql("select count(*) from quake") != first.sql("select count(*) from quake"):
                time.sleep(0.2)
            writer = subprocess.Popen(["psql", first.url, "-qAtX", "-v", "ON_ERROR_STOP=1"], env=first.env, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            cuts = 0
            for statement in commits(options.commits, chance):
                writer.stdin.write(f"begin; {statement}; commit;\n")
                writer.stdin.flush()
                time.sleep(options.pause / 1000)
                if not options.peace and chance.random() < 0.02:
                    mirror.kill()
                if not options.peace and chance.random() < 0.03:
                    proxy.cut()
                    cuts += 1
            writer.stdin.close()
            if writer.wait():
                sys.exit("the writer failed")
            end = time.monotonic() + 120
            token = first.sql("select history.current_token()")
            while time.monotonic() < end and not second.sql("select position from import.mirror").startswith(token):
                time.sleep(0.2)
            tables = [set(cluster.sql(f"select ({COLUMNS})::text from quake").splitlines()) for cluster in (first, second)]
            mirror.end()
            follower.process.terminate()
        made, seen = marks(first), marks(second)
        waits, index = [], 0
        for value, at, _ in made:
            while index < len(seen) and seen[index][0] < value:
                index += 1
            if index < len(seen):
                waits.append(seen[index][1] - at)
        told = [follower.told[token] - at for _, at, token in made if token in follower.told]
    differing = len(tables[0] ^ tables[1])
    figures = {"commits": options.commits, "kills": mirror.kills, "cuts": cuts, "rows": len(tables[0]), "rows that differ": differing,
               "mirror p50 ms": percentile(waits, 0.5), "mirror p99 ms": percentile(waits, 0.99),
               "follower p50 ms": percentile(told, 0.5), "follower p99 ms": percentile(told, 0.99)}
    if options.json:
        print(json.dumps(figures))
    else:
        print_table(("", "p50 ms", "p99 ms"), ("mirror", figures["mirror p50 ms"], figures["mirror p99 ms"]),
                    ("follower of the first database", figures["follower p50 ms"], figures["follower p99 ms"]))
        print(f"{options.commits} commits, the mirror killed {mirror.kills} times and cut off {cuts} times; {len(tables[0])} rows")
    goals.tell([goals.at_most("mirror: rows that differ at the end", differing, 0)], prints=not options.json)


if __name__ == "__main__":
    main()
