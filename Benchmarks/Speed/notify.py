#!/usr/bin/env python3
"""Measures `quakes notify`.

Latency: the time from a commit to the first byte of its message at a webhook, compared with the time until `quakes follow
--format ndjson` writes the change. Each commit inserts an earthquake at a different place, which has a separate rule and
receiver, because a receiver with many messages would get digests.

Size: the time to decide a commit of 20,000 earthquakes with 1,000 rules, and the notifier's peak memory.

Absence: 10,000 messages wait for a receiver that does not run. Measures the number of attempts, the time to deliver all messages
once the receiver runs, and how many messages are lost, arrive twice, or arrive before an earlier message about the same
earthquake.

    Benchmarks/Speed/notify.py [--commits N] [--rate R] [--rules N] [--rows N] [--messages N] [--away S] [--json]
"""

import argparse
import http.server
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

import goals
from cluster import QUAKES, Cluster, finish, free_port, print_table
from writer import Writer


class Receiver(http.server.ThreadingHTTPServer):
    """A webhook that records when the first byte of each message arrived, in nanoseconds of CLOCK_MONOTONIC."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, port=0):
        self.first_bytes, self.ids = {}, []
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def handle(self):
        self.connection.recv(1, socket.MSG_PEEK)
        self.first_byte = time.monotonic_ns()
        super().handle()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.ids.append(self.headers["webhook-id"])
            for report in body["data"]["earthquakes"]:
                self.server.first_bytes.setdefault(report["code"], self.first_byte)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def places(count):
    """Points that are at least 100 km apart."""
    return [(-60 + number // 60, -180 + 6 * (number % 60)) for number in range(count)]


def rules(path, url, count):
    with open(path, "w", encoding="utf-8") as file:
        file.write("receivers:\n")
        file.writelines(f"  r{number}: {{webhook: \"{url}/{number}\"}}\n" for number in range(count))
        file.write("rules:\n")
        file.writelines(
            f"  rule{number}: {{near: \"{latitude}, {longitude}\", magnitude: 4 within 20 km, to: r{number}}}\n"
            for number, (latitude, longitude) in enumerate(places(count)))
    return path


def notifier(cluster, path):
    cluster.sql("truncate notify.seen, notify.standing")
    cluster.sql("update notify.state set decided_at = null, position = null, paces = '{}'")
    process = subprocess.Popen([QUAKES, "notify", path, "--database", cluster.url, "--log-level", "error"], env=cluster.env)
    wait_until("quakes notify has started", lambda: cluster.sql("select decided_at is not null from notify.state") == "t")
    return process


def latency(cluster, options):
    receiver = Receiver()
    process = notifier(cluster, rules(f"{cluster.home}/rules.yaml", receiver.url, options.commits))
    stream = subprocess.Popen([QUAKES, "follow", "--format", "ndjson", "--database", cluster.url, "--log-level", "error"],
                              env=cluster.env, stdout=subprocess.PIPE, text=True)
    followed = {}

    def read():
        for line in stream.stdout:
            now = time.monotonic_ns()
            if key := json.loads(line).get("key"):
                followed.setdefault(key, now)
    threading.Thread(target=read, daemon=True).start()
    time.sleep(2)
    writer, committed = Writer(cluster.url), {}
    start = time.monotonic()
    for number, (latitude, longitude) in enumerate(places(options.commits)):
        time.sleep(max(0, start + number / options.rate - time.monotonic()))
        result = writer.execute(
            "insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)"
            f" values ('n{number}', 'n', '{number}', 5, now(), now(), {longitude}, {latitude})")
        committed[f"n{number}"] = time.monotonic_ns()
        writer.libpq.PQclear(result)
    wait_until("all messages have arrived", lambda: len(receiver.first_bytes) == len(committed) == len([key for key in committed if key in followed]))
    for each in (process, stream):
        each.send_signal(signal.SIGTERM)
        each.wait()
    receiver.shutdown()

    def figures(moments):
        late = sorted((moments[code] - moment) / 1e6 for code, moment in committed.items())
        return {"p50": statistics.median(late), "p99": late[len(late) * 99 // 100], "max": late[-1]}
    return {"quakes notify": figures(receiver.first_bytes), "quakes follow": figures(followed)}


def size(cluster, options):
    receiver = Receiver()
    start = time.monotonic()
    process = notifier(cluster, rules(f"{cluster.home}/many.yaml", receiver.url, options.rules))
    before = int(cluster.sql("select revision from notify.state"))
    cluster.sql(
        "insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude) select 'm' || i, 'm', i::text,"
        f" random() * 7, now(), now(), random() * 360 - 180, random() * 120 - 60 from generate_series(1, {options.rows}) as i")
    committed = time.monotonic()
    wait_until("the commit is decided", lambda: int(cluster.sql("select revision from notify.state")) > before)
    decided = time.monotonic() - committed
    process.send_signal(signal.SIGTERM)
    memory = finish(process, start, ends_with=(0, -15))["memory"]
    receiver.shutdown()
    return {"seconds": decided, "memory": memory}


def absence(cluster, options):
    port = free_port()
    path = f"{cluster.home}/one.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"receivers: {{r: {{webhook: \"http://127.0.0.1:{port}/\"}}}}\nrules: {{all: {{magnitude: 9, to: r}}}}\n")
    cluster.sql("truncate notify.outbox")
    # There are two messages about each earthquake. The second one must wait for the first.
    cluster.sql(f"""
        insert into notify.outbox (receiver, message, earthquakes, follows)
        select 'r', jsonb_build_object('id', id, 'receiver', 'r', 'type', 'earthquake.new', 'at', '2026-01-01T00:00:00.000Z',
            'title', id, 'text', repeat('x', 1000), 'priority', 3, 'thread', id, 'earthquakes', '[]'::jsonb, 'omitted', 0),
            array['q' || i % {options.messages // 2}], '{{}}'
        from generate_series(0, {options.messages - 1}) as i, lateral (select 'm' || i) as named (id)""")
    cluster.sql(f"""
        update notify.outbox o set follows = array[e.id] from notify.outbox e
        where e.earthquakes = o.earthquakes and e.id < o.id""")
    process = notifier(cluster, path)
    time.sleep(options.away)
    attempts = int(cluster.sql("select sum(attempts) from notify.outbox"))
    # Makes all messages due at once, as if the times of their next attempts had passed.
    cluster.sql("update notify.outbox set next_attempt_at = now() where next_attempt_at is not null")
    receiver = Receiver(port)
    back = time.monotonic()
    wait_until("all messages are delivered", lambda: cluster.sql("select count(*) from notify.outbox where next_attempt_at is not null") == "0", 600)
    took = time.monotonic() - back
    process.send_signal(signal.SIGTERM)
    process.wait()
    receiver.shutdown()
    place = {number: index for index, number in enumerate(int(each[1:]) for each in receiver.ids)}
    half = options.messages // 2
    return {"attempts while away": attempts, "seconds": took, "lost": options.messages - len(place),
            "twice": len(receiver.ids) - len(place), "out of order": sum(place[n] > place[n + half] for n in range(half))}


def wait_until(what, condition, patience=120):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"gave up after {patience} s of waiting until {what}")
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--rate", type=float, default=10, help="commits per second")
    parser.add_argument("--rules", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--away", type=int, default=30, help="seconds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Cluster() as cluster:
        late = latency(cluster, options)
        large = size(cluster, options)
        away = absence(cluster, options)
    if options.json:
        print(json.dumps({"latency": late, "size": large, "absence": away}, indent=1))
    else:
        print_table(("from commit to first byte, or line", "p50 ms", "p99 ms", "max ms"),
                    *((kind, figures["p50"], figures["p99"], figures["max"]) for kind, figures in late.items()))
        print(f"\n{options.rules} rules, a commit of {options.rows} rows: decided after {large['seconds']:.2f} s,"
              f" peak memory {large['memory']:.0f} MB")
        print(f"{options.messages} messages to a receiver that is away for {options.away} s: "
              + ", ".join(f"{name} {value:g}" for name, value in away.items()))
    goals.tell([
        goals.at_most("notify: p99 from commit to the first byte / a follower's",
                      late["quakes notify"]["p99"] / late["quakes follow"]["p99"], 2),
        goals.at_most("notify: messages lost, twice or out of order", away["lost"] + away["twice"] + away["out of order"], 0),
    ], prints=not options.json)


if __name__ == "__main__":
    os.environ.pop("http_proxy", None)
    main()
