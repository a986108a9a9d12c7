#!/usr/bin/env python3
"""Follows the changes over HTTP while everything fails, and checks that every client ends with the table's rows.

A writer inserts, revises and deletes events at random. Clients follow `/changes` of `quakes serve`, half of them with a
filter; each keeps the rows and the id of the last position, by the rules of docs/following.md. At random moments the server
is killed or ended, the database is killed or restarted, clients are cut off, stop reading, or begin anew, and history is
pruned. At the end, each client has to hold what the table holds. It prints its seed; --seed repeats what it chooses.

    Benchmarks/live_soak.py [--minutes M] [--clients N] [--seed S]
"""

import argparse
import json
import random
import socket
import subprocess
import sys
import threading
import time

from cluster import QUAKES, Cluster

MINIMUM = 3


class Client(threading.Thread):
    """Follows until it is told the last token."""

    def __init__(self, port, number):
        super().__init__(daemon=True)
        self.port, self.has_filter, self.is_slow = port, number % 2 == 1, number % 5 == 4
        self.rows, self.id, self.token, self.goal = {}, None, -1, None
        self.socket, self.starts, self.snapshots, self.passes, self.failure = None, 0, 0, 0, None
        self.seen = []  # places of changes since the last snapshot, up to the last position

    def run(self):
        try:
            while self.goal is None or self.token < self.goal:
                try:
                    self.follow()
                except (OSError, EOFError):
                    time.sleep(0.1)
        except Exception as error:
            self.failure = repr(error)

    def follow(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=40) as self.socket:
            self.starts += 1
            query = f"?minmagnitude={MINIMUM}" if self.has_filter else ""
            last = f"Last-Event-ID: {self.id}\r\n" if self.id else ""
            self.socket.sendall(f"GET /changes{query} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n{last}\r\n".encode())
            file = self.socket.makefile("rb")
            status = file.readline().split()[1:2]
            while file.readline().strip():
                pass
            if status != [b"200"]:
                raise EOFError
            text, pending = b"", []
            while True:
                size = int(file.readline().strip() or b"0", 16)
                if size == 0:
                    raise EOFError
                text += file.read(size + 2)[:size]
                *blocks, text = text.split(b"\n\n")
                for block in blocks:
                    if self.take(block.decode(), pending):
                        return
                if self.is_slow:
                    time.sleep(random.random() / 10)

    def take(self, block, pending):
        """Takes one event. Those of a pass count once its position comes. Returns whether the goal is reached."""
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" not in fields:
            return False
        pending.append((fields["event"], json.loads(fields["data"])))
        if fields["event"] != "position":
            return False
        for kind, data in pending:
            if kind == "snapshot":
                self.rows, self.seen = {}, []
                self.snapshots += 1
            elif kind == "row":
                self.rows[data["row"]["code"]] = data["row"]
            elif kind == "change":
                self.seen.append((data["token"], data["ordinal"]))
                if data.get("selected") is False or data["operation"] == "delete" and not data["row"]:
                    self.rows.pop(data["key"], None)
                elif data["row"]:
                    self.rows[data["key"]] = data["row"]
        pending.clear()
        self.id, self.token = fields["id"], data["token"]
        self.passes += 1
        return self.goal is not None and self.token >= self.goal

    def cut(self):
        if self.socket:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def write(chance, cluster, is_over):
    """Changes a few of some 200 events in each transaction."""
    while not is_over.is_set():
        statements = []
        for _ in range(chance.randint(1, 8)):
            code = chance.randrange(200)
            if chance.random() < 0.3:
                statements.append(f"delete from quake where code = 'q0{code}'")
            else:
                magnitude, place = round(chance.random() * 6, 1), chance.choice(["a", "b\\n\\\"", "ü\U0001f30b"])
                statements.append(
                    "insert into quake (code, net, net_code, magnitude, place, time, updated, longitude, latitude)"
                    f" values ('q0{code}', 'q0', '{code}', {magnitude}, '{place}', now(), now(), 1, 2)"
                    " on conflict (code) do update set magnitude = excluded.magnitude, place = excluded.place")
        # Fails while the database is away.
        subprocess.run(["psql", cluster.url, "-qX1", "-v", "ON_ERROR_STOP=1", "-c", "; ".join(statements)], env=cluster.env,
                       stderr=subprocess.DEVNULL)
        time.sleep(chance.random() / 10)


def serve(cluster, port):
    return subprocess.Popen([QUAKES, "serve", "--listen", f"127.0.0.1:{port}", "--database", cluster.url,
                             "--log-level", "critical"], env=cluster.env, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--clients", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    # What is committed has to stay: else clients rightly begin anew.
    with Cluster(synchronous_commit="on") as cluster:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = serve(cluster, port)
        is_over = threading.Event()
        writer = threading.Thread(target=write, args=[random.Random(options.seed + 1), cluster, is_over], daemon=True)
        writer.start()
        clients = [Client(port, number) for number in range(options.clients)]
        for client in clients:
            client.start()
        counts = {}
        end = time.monotonic() + options.minutes * 60
        while time.monotonic() < end:
            time.sleep(chance.random() * 4)
            what = chance.choices(["kill the server", "end the server", "kill the database", "restart the database",
                                   "cut clients off", "end sessions", "prune"], [3, 3, 1, 1, 8, 3, 1])[0]
            counts[what] = counts.get(what, 0) + 1
            if what.endswith("the server"):
                server.kill() if what.startswith("kill") else server.terminate()
                if server.wait() not in (0, -9, -15):  # -15: it had not begun
                    sys.exit(f"the server ended with {server.returncode}")
                time.sleep(chance.random())
                server = serve(cluster, port)
            elif what.endswith("the database"):
                mode = "immediate" if what.startswith("kill") else "fast"
                stop(cluster, mode)
                cluster.quakes("database", "start")
            elif what == "cut clients off":
                for client in chance.sample(clients, len(clients) // 4):
                    client.cut()
            elif what == "end sessions":
                cluster.sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
                            " and backend_type = 'client backend'")
            else:
                cluster.sql("select history.prune('0')")
        is_over.set()
        writer.join()
        goal = int(cluster.sql("select history.current_token()"))
        for client in clients:
            client.goal = goal
        table = {row["code"]: row for row in map(json.loads, cluster.sql(
            "set timezone = 'UTC'; select to_jsonb(quake) from quake").splitlines())}
        selected = {code: row for code, row in table.items() if (row["magnitude"] or -1) >= MINIMUM}
        # Wakes those who have come that far already.
        deadline = time.monotonic() + 60
        for client in clients:
            while client.is_alive() and client.token < goal and time.monotonic() < deadline:
                time.sleep(0.1)
        wrong = [number for number, client in enumerate(clients) if client.failure or client.token < goal
                 or client.rows != (selected if client.has_filter else table) or len(set(client.seen)) != len(client.seen)]
        server.terminate()
        server.wait()
    print(", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    print(f"{len(clients)} clients connected {sum(client.starts for client in clients)} times, took"
          f" {sum(client.passes for client in clients)} passes and {sum(client.snapshots for client in clients)} snapshots;"
          f" the table has {len(table)} rows at token {goal}")
    for number in wrong:
        client = clients[number]
        print(f"client {number} is wrong: {client.failure}, token {client.token}, {len(client.rows)} rows,"
              f" {len(client.seen) - len(set(client.seen))} changes twice")
    sys.exit(1 if wrong else 0)


def stop(cluster, mode):
    """Sends the signal of pg_ctl's mode to the server, and waits for its end."""
    with open(f"{cluster.env['QUAKES_HOME']}/data/postmaster.pid") as file:
        postmaster = file.readline().strip()
    subprocess.run(["kill", "-QUIT" if mode == "immediate" else "-INT", postmaster], check=True)
    while subprocess.run(["kill", "-0", postmaster], stderr=subprocess.DEVNULL).returncode == 0:
        time.sleep(0.05)


main()
