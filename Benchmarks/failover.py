#!/usr/bin/env python3
"""Runs Quakes on a PostgreSQL cluster whose machines fail by turns, and checks that nothing is lost, or that it is said.

Three nodes under Patroni with etcd, each in a network namespace, and haproxy before them, configured as in deploy/patroni. On
them a daemon that imports a feed every second, ten followers (views and streams; some at the standbys, some through haproxy),
`quakes serve` with clients of /changes, and psql, which writes rows that are known: each one in a process of its own, with
connect_timeout=2. How long psql is kept from writing is the yardstick for all others.

With synchronous replication, every row that was confirmed has to be in the table, every stream has to bring it exactly once,
tokens never go back, and nobody starts anew. Without it, what was lost is counted, and who had seen it has to have said so. In
both cases no program may end, and at the end every view, stream and client has to equal the table.

    Benchmarks/failover.py [--minutes M] [--async] [--no-watchdog] [--clients N]
"""

import argparse
import asyncio
import collections
import contextlib
import http.client
import http.server
import json
import os
import random
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

from cluster import QUAKES, print_table, token_of
from nodes import NETWORK, TTL, Nodes
from programs import Stream, fail, tail
from soak import differ

WRITES_EVERY = 0.5  # seconds
OUTAGE = 20  # seconds that a machine is frozen, cut off or away
GOAL = 3  # seconds that anything may stand still for longer than psql
POOL = 300  # events of the feed


class Pulse:
    """When something went on."""

    def __init__(self):
        self.beats, self.token, self.steps_back = [], 0, 0

    def beat(self):
        self.beats.append(time.monotonic())

    def reach(self, token):
        if token != self.token:
            self.steps_back += token < self.token
            self.token = token
            self.beat()

    def pause(self, start, end):
        """The longest time without a beat that begins or ends between these moments."""
        beats = [beat for beat in list(self.beats) if beat < end]
        before = [beat for beat in beats if beat <= start][-1:] or [start]
        moments = before + [beat for beat in beats if beat > start] + [end]
        return max(later - earlier for earlier, later in zip(moments, moments[1:]))


class Feed(http.server.ThreadingHTTPServer):
    """A feed of which some events are revised each time."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FeedAnswer)
        self.updated = {code: int(time.time() * 1000) for code in range(POOL)}
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/feed.geojson"

    def document(self):
        now = int(time.time() * 1000)
        for code in random.sample(range(POOL), 5):
            self.updated[code] = now
        features = [{"type": "Feature", "id": f"q0{code}", "geometry": {"type": "Point", "coordinates": [code % 360 - 180, 0, 5]},
                     "properties": {"mag": updated % 83 / 10, "place": "somewhere", "time": 1_700_000_000_000, "updated": updated,
                                    "net": "q0", "code": str(code), "url": "https://example.org/", "type": "earthquake"}}
                    for code, updated in list(self.updated.items())]
        return json.dumps({"type": "FeatureCollection", "features": features}).encode()


class FeedAnswer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.document()
        self.send_response(200)
        self.send_header("Content-Length", len(body))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError): # the daemon was cut off
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Known:
    """psql, which writes one row after the other, each in a new process, as a person or a script would."""

    def __init__(self, url):
        self.url, self.pulse, self.ending = url, Pulse(), threading.Event()
        self.confirmed, self.warned = {}, 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while not self.ending.wait(WRITES_EVERY):
            number += 1
            statement = (f"insert into quake (code, net, net_code, time, updated, longitude, latitude) values"
                         f" ('q9w{number}', 'q9', 'w{number}', now(), now(), 0, 0)")
            try:
                # Without an end, psql would wait for a frozen server for ever.
                done = subprocess.run(["psql", self.url, "-qAtX", "-c", statement], timeout=8, capture_output=True)
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0:
                self.pulse.beat()
                # The server may warn that a commit is only its own.
                self.warned += (is_warned := b"WARNING" in done.stderr)
                if not is_warned:
                    self.confirmed[f"q9w{number}"] = time.strftime("%T")


class Standby:
    """psql, which looks again and again how far a standby is: followers there cannot be further."""

    def __init__(self, url):
        self.pulse = Pulse()
        threading.Thread(target=self.run, args=[url], daemon=True).start()

    def run(self, url):
        while True:
            time.sleep(WRITES_EVERY)
            try:
                done = subprocess.run(["psql", url, "-qAtX", "-c", "select history.current_token()"], timeout=8, capture_output=True, text=True)
            except subprocess.TimeoutExpired:
                continue
            # It may come to a standby that is further behind.
            if done.returncode == 0 and int(done.stdout) > self.pulse.token:
                self.pulse.reach(int(done.stdout))


class Program:
    """One of quakes, which has to run to the end."""

    def __init__(self, home, name, url, *arguments, takes=None):
        self.name, self.log, self.pulse = name, f"{home}/{name}.log", Pulse()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [QUAKES, *arguments, "--database", url], stdout=subprocess.PIPE if takes else subprocess.DEVNULL, stderr=log,
                cwd=home, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        if takes:
            threading.Thread(target=takes, args=[self.process.stdout], daemon=True).start()

    def check(self):
        if self.process.poll() is not None:
            fail(f"{self.name} ended with {self.process.returncode}:\n{tail(self.log)}")

    def said(self, words):
        with open(self.log, errors="replace") as file:
            return sum(words in line for line in file)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            fail(f"{self.name} ended with {self.process.returncode} on SIGTERM:\n{tail(self.log)}")


class Daemon(Program):
    def __init__(self, home, url, feed):
        super().__init__(home, "import", url, "import", feed, "--every", "1s", "--format", "json", takes=self.take)

    def take(self, pipe):
        for line in pipe:
            if json.loads(line)["outcome"] == "done":
                self.pulse.beat()


class ViewFollower(Program):
    def __init__(self, home, name, url):
        self.path = f"{home}/{name}.sqlite"
        super().__init__(home, name, url, "follow", "--view", self.path)
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        while True:
            token = token_of(self.path)
            if token is not None:
                self.pulse.reach(token)
            time.sleep(0.1)


class StreamFollower(Program, Stream):
    def __init__(self, home, name, url):
        Stream.__init__(self)
        self.inserts, self.seen = collections.Counter(), set()
        Program.__init__(self, home, name, url, "follow", "--format", "ndjson", "--token", f"{home}/{name}.token", takes=self.read)

    def apply(self, line):
        super().apply(line)
        if line.get("operation") == "insert" and line["key"].startswith("q9w"):
            self.inserts[line["key"]] += 1
            self.seen.add(line["key"])
        if "store" in line:
            self.pulse.reach(line["token"])


class Client(Stream):
    """Follows /changes, and comes back with its last position."""

    def __init__(self, port):
        super().__init__()
        self.port, self.id, self.pulse, self.snapshots, self.seen, self.pending = port, None, Pulse(), 0, set(), []

    async def run(self):
        while True:
            try:
                await self.follow()
            except (OSError, EOFError, asyncio.IncompleteReadError, ValueError):
                pass
            await asyncio.sleep(random.random())

    async def follow(self):
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24), 10)
        self.pending = []
        try:
            last = f"Last-Event-ID: {self.id}\r\n" if self.id else ""
            writer.write(f"GET /changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n{last}\r\n".encode())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 40)
            if b" 200 " not in head.split(b"\r\n")[0]:
                return
            text = b""
            while True:
                # A heartbeat comes every 15 s.
                size = int(await asyncio.wait_for(reader.readline(), 40), 16)
                if size == 0:
                    return
                text += (await reader.readexactly(size + 2))[:size]
                *blocks, text = text.split(b"\n\n")
                for block in blocks:
                    self.take(block.decode())
        finally:
            writer.close()

    def take(self, block):
        """Takes one event. Those of a pass count once its position comes."""
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" not in fields:
            return
        self.pending.append(json.loads(fields["data"]))
        if fields["event"] != "position":
            return
        for line in self.pending:
            if "snapshot" in line and self.id:
                self.snapshots += 1
            self.apply(line)
            if line.get("operation") == "insert" and line["key"].startswith("q9w"):
                self.seen.add(line["key"])
        self.pending, self.id = [], fields.get("id", self.id)
        self.pulse.reach(self.token)


class Site(Program):
    """quakes serve, its clients, and somebody who asks it a new question again and again."""

    def __init__(self, home, url, count):
        super().__init__(home, "serve", url, "serve", "--listen", "127.0.0.1:0")
        self.port = None
        while not self.port:
            self.check()
            with open(self.log) as file:
                match = re.search(r"serving http://127.0.0.1:(\d+)", file.read())
            self.port = match and int(match[1])
            time.sleep(0.2)
        self.clients = [Client(self.port) for _ in range(count)]
        self.slowest, self.ending = 0, threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.follow()), daemon=True).start()
        threading.Thread(target=self.ask, daemon=True).start()

    async def follow(self):
        await asyncio.gather(*(client.run() for client in self.clients))

    def ask(self):
        number = 0
        while not self.ending.wait(0.5):
            number += 1
            begin = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request("GET", f"/fdsnws/event/1/count?maxdepth={number / 1000}")
                if connection.getresponse().status == 200:
                    self.pulse.beat()
            except OSError:
                pass
            finally:
                connection.close()
            self.slowest = max(self.slowest, time.monotonic() - begin)


class Failover:
    def __init__(self, nodes, options):
        self.nodes, self.options, home = nodes, options, nodes.home
        admin = nodes.url("postgres", "postgres", target_session_attrs="read-write", connect_timeout=2)
        run = lambda statement: subprocess.run(["psql", admin, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement], check=True)
        run(f"create role quakes login password '{nodes.passwords['quakes']}'")
        run("create database quakes owner quakes")
        self.leader_url = nodes.url(target_session_attrs="read-write")
        nodes.wait("the database is migrated", lambda: subprocess.run(
            [QUAKES, "migrate", "--database", self.leader_url], stdout=subprocess.DEVNULL).returncode == 0)
        any_url, standby_url = nodes.url(target_session_attrs="any"), nodes.url(target_session_attrs="prefer-standby")
        proxy = [nodes.url_of(f"{NETWORK}.254:{port}") for port in (5000, 5001)]
        self.feed = Feed()
        self.daemon = Daemon(home, self.leader_url, self.feed.url)
        urls = [self.leader_url, self.leader_url, any_url, standby_url]
        self.views = [ViewFollower(home, f"view-{number}", url) for number, url in enumerate([*urls, proxy[0]])]
        self.streams = [StreamFollower(home, f"stream-{number}", url) for number, url in enumerate([*urls, proxy[1]])]
        self.site = Site(home, self.leader_url, options.clients)
        self.programs = [self.daemon, *self.views, *self.streams, self.site]
        self.known = Known(nodes.url(target_session_attrs="read-write", connect_timeout=2))
        self.standby = Standby(nodes.url(target_session_attrs="prefer-standby", connect_timeout=2))
        self.pauses = collections.defaultdict(lambda: collections.defaultdict(list))
        self.counts = collections.Counter()

    # --- Faults: each returns what ends it ---

    def kill_server(self):
        os.kill(self.nodes.wait_for("a node leads", self.nodes.leader).postmaster(), signal.SIGKILL)

    def kill_server_and_patroni(self):
        node = self.nodes.wait_for("a node leads", self.nodes.leader)
        for process in [node.patroni.pid, node.postmaster()]:
            os.kill(process, signal.SIGKILL)
        node.patroni.wait()
        return node.boot

    def kill_patroni(self):
        """The server is left alone. Without a watchdog, it goes on as if it were the leader."""
        node = self.nodes.wait_for("a node leads", self.nodes.leader)
        node.patroni.kill()
        node.patroni.wait()
        return node.boot

    def kill_etcd(self):
        node = self.nodes.wait_for("etcd has a leader", self.nodes.etcd_leader)
        node.etcd.kill()
        node.etcd.wait()
        return node.boot

    def freeze(self):
        node = self.nodes.wait_for("a node leads", self.nodes.leader)
        node.send(signal.SIGSTOP)
        return lambda: (node.send(signal.SIGCONT), node.boot())

    def cut_off(self):
        node = self.nodes.wait_for("a node leads", self.nodes.leader)
        node.cut(True)
        return lambda: (node.cut(False), node.boot())

    def power_cut(self):
        node = self.nodes.wait_for("a node leads", self.nodes.leader)
        node.reset()
        return node.boot

    def switch_over(self):
        done = self.nodes.patronictl("switchover", "quakes", "--force")
        if "Successfully" not in done.stdout:
            print(f"no switchover: {done.stdout}{done.stderr}", flush=True)

    def restart_all(self):
        self.nodes.patronictl("restart", "quakes", "--force")

    def build_anew(self):
        """A standby is built anew from the leader, and a switchover follows."""
        standby = next(node for node in self.nodes.nodes if not node.is_leader())
        standby.reinitialize()
        time.sleep(2)
        self.nodes.wait_until_whole()

    FAULTS = {"switchover": switch_over, "server killed": kill_server, "machine lost": power_cut, "machine frozen": freeze,
              "machine cut off": cut_off, "server and Patroni killed": kill_server_and_patroni, "Patroni killed": kill_patroni,
              "etcd's leader killed": kill_etcd, "rolling restart": restart_all, "standby built anew": build_anew}

    def run(self):
        self.let_go_on(10)
        end = time.monotonic() + self.options.minutes * 60
        while True:
            for name, fault in self.FAULTS.items():
                if time.monotonic() > end:
                    return
                self.nodes.wait("the cluster is whole", lambda: self.check() or self.nodes.is_whole())
                self.let_go_on(5)
                self.suffer(name, fault)

    def suffer(self, name, fault):
        start = time.monotonic()
        undo = fault(self)
        if undo:
            self.let_go_on(OUTAGE)
            undo()
        # Until everything has gone on.
        undone = time.monotonic()
        pulses = [pulse for group in self.groups().values() for pulse in group]
        self.nodes.wait("everything goes on", lambda: self.check() or self.nodes.is_whole() and all(
            pulse.beats and pulse.beats[-1] > undone + TTL for pulse in pulses))
        end = time.monotonic()
        said = []
        for group, pulses in self.groups().items():
            pauses = [pulse.pause(start, end) for pulse in pulses]
            self.pauses[name][group] += pauses
            said.append(f"{group} {statistics.median(pauses):.1f} {max(pauses):.1f}")
        self.counts[name] += 1
        print(f"{time.strftime('%T')} {name}: {', '.join(said)}", flush=True)

    def groups(self):
        """What stands still together."""
        return {"psql": [self.known.pulse], "psql at a standby": [self.standby.pulse], "import": [self.daemon.pulse],
                "followers": [program.pulse for program in self.views[:2] + self.streams[:2]],
                # haproxy has to find the leader first.
                "over haproxy": [program.pulse for program in self.views[4:]],
                "at standbys": [program.pulse for program in self.views[2:4] + self.streams[2:]],
                "/changes": [client.pulse for client in self.site.clients], "answers": [self.site.pulse]}

    def check(self):
        for program in self.programs:
            program.check()

    def let_go_on(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check()
            time.sleep(0.1)

    # --- What it comes to ---

    def calm_down(self):
        self.nodes.wait("the cluster is whole", lambda: self.check() or self.nodes.is_whole())
        self.let_go_on(5)
        self.known.ending.set()
        self.known.thread.join()
        self.site.ending.set()
        self.daemon.end()
        self.programs.remove(self.daemon)
        token = int(self.sql("select history.current_token()"))
        readers = [*self.views, *self.streams, *self.site.clients]
        self.nodes.wait(f"every reader has token {token}", lambda: self.check() or all(
            reader.pulse.token == token for reader in readers))
        return token

    def sql(self, statement):
        command = ["psql", self.known.url, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", "set timezone = 'UTC'", "-c", statement]
        return subprocess.check_output(command, text=True).strip()

    def compare(self):
        """Compares every reader with the table. Returns the table's codes."""
        table = [json.loads(line) for line in self.sql("select to_jsonb(quake) from quake order by code collate \"C\"").splitlines()]
        codes = [row["code"] for row in table]
        for view in self.views:
            file = sqlite3.connect(f"file:{view.path}?mode=ro", uri=True)
            mine = file.execute("select code, magnitude from quake order by code").fetchall()
            file.close()
            differ(view.name, mine, [(row["code"], row["magnitude"]) for row in table])
        for stream in [*self.streams, *self.site.clients]:
            differ(getattr(stream, "name", "a client"), [stream.rows[code] for code in sorted(stream.rows)], table)
        return set(codes)

    def judge(self, codes):
        """Prints what was lost, and returns whether all is as promised."""
        lost = [code for code in self.known.confirmed if code not in codes]
        starts = {program.name: program.said("taking a fresh snapshot") for program in [*self.views, *self.streams]}
        starts["clients"] = sum(client.snapshots for client in self.site.clients)
        back = sum(reader.pulse.steps_back for reader in [*self.views, *self.streams, *self.site.clients])
        doubled = sum(count > 1 for stream in self.streams for count in stream.inserts.values())
        silent = [stream.name for stream in self.streams if stream.seen & set(lost) and not starts[stream.name]]
        silent += ["a client" for client in self.site.clients if client.seen & set(lost) and not client.snapshots]
        print(f"{len(self.known.confirmed)} known rows were confirmed, {len(lost)} of them lost{self.moments(lost)}, and {self.known.warned} with a warning; {doubled} came twice; tokens went back "
              f"{back} times; {sum(starts.values())} fresh starts ({', '.join(f'{name} {count}' for name, count in starts.items() if count) or 'none'}); "
              f"the watchdog reset {self.nodes.resets} machines, and {self.nodes.mended} standbys had to be built anew by hand; the slowest answer took {self.site.slowest:.1f} s")
        print(f"{len(self.views)} views, {len(self.streams)} streams and {len(self.site.clients)} clients equal the table of {len(codes)} rows")
        if silent:
            print(f"FAILED: had seen what was lost, and did not say so: {', '.join(silent)}")
        if not self.nodes.is_synchronous or not self.nodes.has_watchdog:
            return not silent
        return not (lost or doubled or back or any(starts.values()))

    def moments(self, codes):
        """When these rows were confirmed."""
        return f" (confirmed at {', '.join(self.known.confirmed[code] for code in codes)})" if codes else ""

    def table(self):
        """Prints the pauses: the median and the worst of each group, in seconds, and of each fault."""
        names = list(self.groups())
        rows = [("fault", "times", *names, "beyond psql")]
        for fault, count in self.counts.items():
            worst = {name: max(self.pauses[fault][name]) for name in names}
            cells = [f"{statistics.median(self.pauses[fault][name]):.1f} {worst[name]:.1f}" for name in names]
            standby = max(worst["psql"], worst["psql at a standby"])
            beyond = max(worst[name] - (standby if name == "at standbys" else worst["psql"]) for name in names if "psql" not in name and "haproxy" not in name)
            rows.append((fault, count, *cells, f"{beyond:.1f}" + ("" if beyond <= GOAL else " over")))
        print_table(*rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--async", action="store_true", dest="is_async", help="without synchronous replication")
    parser.add_argument("--no-watchdog", action="store_true", help="an old leader that comes back goes on for a while")
    parser.add_argument("--clients", type=int, default=200)
    options = parser.parse_args()
    if not os.access(QUAKES, os.X_OK):
        sys.exit(f"cannot find {QUAKES}: build it (swift build -c release), or set QUAKES to another executable")
    print(f"{'asynchronous' if options.is_async else 'synchronous'} replication, {'no ' if options.no_watchdog else ''}watchdog, "
          f"{options.minutes:g} minutes", flush=True)
    with Nodes(not options.is_async, not options.no_watchdog) as nodes:
        failover = Failover(nodes, options)
        try:
            failover.run()
            token = failover.calm_down()
            codes = failover.compare()
            failover.table()
            good = failover.judge(codes)
            print(f"token {token}: {'all is as promised' if good else 'FAILED'}")
        finally:
            for program in failover.programs:
                program.process.kill()
                program.process.wait()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
