#!/usr/bin/env python3
"""Runs Quakes on a PostgreSQL cluster whose machines fail one after another, and checks that no data are lost unnoticed.

The cluster has three nodes under Patroni with etcd, each in a network namespace, and haproxy in front of them, configured as in
deploy/patroni. Its clients are a daemon that imports a feed every second, ten followers (views and streams; some on the standbys,
some through haproxy), `quakes serve` with clients of /changes, and psql, which writes known rows: each row in a new process, with
connect_timeout=2. The pauses of all other programs are compared with the time in which psql cannot write.

With synchronous replication, the table must contain every confirmed row, every stream must deliver it exactly once, tokens must
never decrease, and no reader may start over. With asynchronous replication, lost rows are counted, and readers that had seen lost
rows must have reported a fresh start. In both cases, no program may end, and at the end every view, stream and client must
equal the table.

    Benchmarks/Faults/failover.py [--minutes M] [--async] [--no-watchdog] [--clients N]
"""

import argparse
import collections
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Speed"))
from cluster import QUAKES, print_table
from nodes import NETWORK, TTL, Nodes
from soak import differ
from witnesses import Daemon, Feed, Known, Site, Standby, StreamFollower, ViewFollower

OUTAGE = 20  # seconds for which a machine is frozen, cut off or down
GOAL = 3  # seconds by which a program's pause may exceed psql's pause


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

    # --- Faults: each returns a function that ends the fault, or None ---

    def kill_server(self):
        os.kill(self.nodes.wait_for("a node leads", self.nodes.leader).postmaster(), signal.SIGKILL)

    def kill_server_and_patroni(self):
        node = self.nodes.wait_for("a node leads", self.nodes.leader)
        for process in [node.patroni.pid, node.postmaster()]:
            os.kill(process, signal.SIGKILL)
        node.patroni.wait()
        return node.boot

    def kill_patroni(self):
        """Kills only Patroni. Without a watchdog, the PostgreSQL server of this node continues to behave like the leader."""
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

    def rebuild(self):
        """Rebuilds a standby from the leader."""
        standby = next(node for node in self.nodes.nodes if not node.is_leader())
        standby.reinitialize()
        time.sleep(2)
        self.nodes.wait_until_whole()

    FAULTS = {"switchover": switch_over, "server killed": kill_server, "machine lost": power_cut, "machine frozen": freeze,
              "machine cut off": cut_off, "server and Patroni killed": kill_server_and_patroni, "Patroni killed": kill_patroni,
              "etcd's leader killed": kill_etcd, "rolling restart": restart_all, "standby rebuilt": rebuild}

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
        # Waits until every program has made progress after the fault.
        undone = time.monotonic()
        pulses = [pulse for group in self.groups().values() for pulse in group]
        self.nodes.wait("everything runs again", lambda: self.check() or self.nodes.is_whole() and all(
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
        """The groups of programs whose pauses are reported together."""
        return {"psql": [self.known.pulse], "psql at a standby": [self.standby.pulse], "import": [self.daemon.pulse],
                "followers": [program.pulse for program in self.views[:2] + self.streams[:2]],
                # These programs have to wait until haproxy has found the leader.
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

    # --- Results ---

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
        """Prints the losses, and returns whether all promises were kept."""
        lost = [code for code in self.known.confirmed if code not in codes]
        starts = {program.name: program.said("taking a fresh snapshot") for program in [*self.views, *self.streams]}
        starts["clients"] = sum(client.snapshots for client in self.site.clients)
        back = sum(reader.pulse.steps_back for reader in [*self.views, *self.streams, *self.site.clients])
        doubled = sum(count > 1 for stream in self.streams for count in stream.inserts.values())
        silent = [stream.name for stream in self.streams if stream.seen & set(lost) and not starts[stream.name]]
        silent += ["a client" for client in self.site.clients if client.seen & set(lost) and not client.snapshots]
        print(f"{len(self.known.confirmed)} known rows were confirmed, {len(lost)} of them lost{self.moments(lost)}, and {self.known.warned} with a warning; {doubled} were delivered twice; tokens decreased "
              f"{back} times; {sum(starts.values())} fresh starts ({', '.join(f'{name} {count}' for name, count in starts.items() if count) or 'none'}); "
              f"the watchdog reset {self.nodes.resets} machines, and {self.nodes.mended} standbys had to be rebuilt by hand; the slowest response took {self.site.slowest:.1f} s")
        print(f"{len(self.views)} views, {len(self.streams)} streams and {len(self.site.clients)} clients equal the table of {len(codes)} rows")
        if silent:
            print(f"FAILED: these readers had seen lost rows, but reported no fresh start: {', '.join(silent)}")
        if not self.nodes.is_synchronous or not self.nodes.has_watchdog:
            return not silent
        return not (lost or doubled or back or any(starts.values()))

    def moments(self, codes):
        """The times at which these rows were confirmed, as text."""
        return f" (confirmed at {', '.join(self.known.confirmed[code] for code in codes)})" if codes else ""

    def table(self):
        """Prints the pauses in seconds: the median and the longest of each group, for each fault."""
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
    parser.add_argument("--no-watchdog", action="store_true",
                        help="run without the watchdog, so that an old leader leads for a while when it returns")
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
            print(f"token {token}: {'all promises were kept' if good else 'FAILED'}")
        finally:
            for program in failover.programs:
                program.process.kill()
                program.process.wait()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
