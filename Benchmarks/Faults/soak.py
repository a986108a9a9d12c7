#!/usr/bin/env python3
"""Runs all programs of Quakes together for a long time while faults are injected, and checks that no data are lost and that no
resource grows.

A daemon imports two feeds from a flaky server. Ten followers keep views (SQLite files) or write streams; one view and one stream
use a proxy that stalls and cuts connections. History is pruned so early that followers have to start over. Programs are
killed, frozen, and run out of disk space; sessions are ended; the server is restarted and crashes; clocks jump. At the end, the
faults stop. Then every view and every stream must equal the table, and every program must end with exit code 0.

Memory, open files, connections and the size of the tables are sampled. It is also a failure if one of them grows beyond its
bound. The seed determines the order of the faults, but not their timing relative to the programs.

    Benchmarks/Faults/soak.py [--minutes M] [--seed S]
"""

import argparse
import collections
import json
import os
import random
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Speed"))
from cluster import QUAKES, Cluster, print_table, token_of
from flaky import Clock, Feeds, Proxy
from programs import KINDS, Program, Stream, fail, tail, wait_until

SAMPLES_EVERY = 2  # seconds
# The sampled values, with a factor and a constant each. The median of the last quarter of the samples may be at most the median
# of the first quarter, times the factor, plus the constant.
BOUNDS = {"daemon MB": (1.2, 4), "view MB": (1.2, 4), "stream MB": (1.2, 4), "daemon files": (1.1, 3), "view files": (1.1, 3),
          "stream files": (1.1, 3), "connections": (1.2, 4), "table, history MB": (1.5, 4),
          "import kB per run": (1.5, 2)}


class Soak:
    def __init__(self, cluster, seed, minutes):
        self.cluster, self.minutes, self.chance = cluster, minutes, random.Random(seed)
        self.feeds = Feeds(seed)
        self.socket = urllib.parse.parse_qs(urllib.parse.urlparse(cluster.url).query)["host"][0]
        os.mkdir(f"{cluster.home}/p")
        self.proxy = Proxy(f"{cluster.home}/p", self.socket)
        self.clock, self.server_clock = Clock(f"{cluster.home}/clock"), Clock(f"{cluster.home}/server-clock")
        with open(f"{cluster.env['QUAKES_HOME']}/data/postmaster.pid") as file:
            self.bin = os.path.dirname(os.readlink(f"/proc/{file.readline().strip()}/exe"))
        self.stop_server("fast")
        self.start_server()
        self.errands, self.done, self.samples = [], collections.Counter(), collections.defaultdict(list)
        self.daemon = Program("daemon", ["import", *self.feeds.sources, "--every", "1s"], cluster, cluster.url, self.clock)
        self.streams = [Stream() for _ in range(5)]
        self.views = [f"{cluster.home}/{number}.sqlite" for number in range(5)]
        self.followers = [program for number in range(5) for program in self.pair_of_followers(number)]
        self.programs = [self.daemon, *self.followers]

    def pair_of_followers(self, number):
        """A view and a stream. Pair 1 uses the proxy, pair 2 has a clock that jumps, and pairs 0 and 1 have names."""
        proxied = self.cluster.url.replace(urllib.parse.quote(self.socket, safe=""), urllib.parse.quote(self.proxy.directory, safe=""))
        shared = {"cluster": self.cluster, "url": proxied if number == 1 else self.cluster.url,
                  "clock": self.clock if number == 2 else None}
        for kind, output in [("view", ["--view", self.views[number]]),
                             ("stream", ["--format", "ndjson", "--token", f"{self.cluster.home}/{number}.token"])]:
            name = f"{kind}-{number}"
            yield Program(name, ["follow", *output, *(["--name", name] if number < 2 else [])],
                          reads=self.streams[number].read if kind == "stream" else None, **shared)

    # --- Faults ---

    def run(self):
        actions = {self.kill_follower: 6, self.kill_daemon: 1, self.freeze: 2, self.end_session: 3, self.crash_server: 1,
                   self.restart_server: 2, self.silence: 2, self.cut: 2, self.fill_disk: 2, self.prune: 5, self.write: 8,
                   **({self.jump: 2, self.jump_server: 1} if Clock.library else {})}
        begin = time.monotonic()
        until, next_action, next_sample = begin + self.minutes * 60, begin, begin
        while time.monotonic() < until:
            self.look_after()
            if time.monotonic() > next_action:
                action = self.chance.choices(list(actions), list(actions.values()))[0]
                self.done[action.__name__] += 1
                action()
                next_action = time.monotonic() + self.chance.random() * 2
            if time.monotonic() > next_sample:
                self.sample((time.monotonic() - begin) / 60)
                next_sample = time.monotonic() + SAMPLES_EVERY
            time.sleep(0.05)

    def look_after(self):
        for program in self.programs:
            program.look_after(self.chance)
        for number, stream in enumerate(self.streams):
            if stream.broken:
                fail(f"stream-{number} has a line that is not JSON: {stream.broken}")
        for errand in list(self.errands):
            if errand.poll() is not None:
                self.errands.remove(errand)
                # The exit codes 1 to 3 of psql and 69 of quakes mean that the server did not run or refused the statement. -9 is
                # the code of a prune that was killed on purpose.
                if errand.returncode not in (0, 1, 2, 3, 69, -9):
                    fail(f"{errand.args} ended with {errand.returncode}")

    def kill_follower(self):
        follower = self.chance.choice([follower for follower in self.followers if not follower.protected])
        follower.process.send_signal(self.chance.choice([signal.SIGKILL, signal.SIGTERM]))

    def kill_daemon(self):
        self.daemon.process.send_signal(self.chance.choice([signal.SIGKILL, signal.SIGTERM]))

    def freeze(self):
        self.chance.choice(self.programs).freeze(self.chance.random() * 5)

    def end_session(self):
        self.errand_sql("select pg_terminate_backend(pid) from pg_stat_activity"
                        " where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1")

    def crash_server(self):
        """Kills one of the server's processes, or all of them."""
        with open(f"{self.cluster.env['QUAKES_HOME']}/data/postmaster.pid") as file:
            postmaster = int(file.readline())
        children = subprocess.run(["pgrep", "-P", str(postmaster)], capture_output=True, text=True).stdout.split()
        if self.chance.random() < 0.5 and children:
            kill(int(self.chance.choice(children)))
            return
        kill(postmaster)
        self.start_server()

    def restart_server(self):
        self.stop_server(self.chance.choice(["fast", "immediate"]))
        time.sleep(self.chance.random() * 3)
        self.start_server()

    def silence(self):
        self.proxy.silence()

    def cut(self):
        self.proxy.cut()

    def fill_disk(self):
        """Simulates a full disk for the program of one view: no file that it writes can grow beyond half of the current size
        of the view's `-wal`."""
        number = self.chance.randrange(1, 5)
        program = next(follower for follower in self.followers if follower.name == f"view-{number}")
        try:
            limit = os.path.getsize(self.views[number] + "-wal") // 2
            resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        except OSError:
            pass  # the program has just ended, or the view has no `-wal`

    def prune(self):
        self.errand(QUAKES, "prune", "--keep", "5s", "--keep-at-most", "15s", "--database", self.cluster.url)
        if self.chance.random() < 0.2:
            time.sleep(self.chance.random() * 0.1)
            self.errands[-1].kill()

    def write(self):
        some = f"code in (select code from quake order by random() limit {self.chance.randrange(30)})"
        self.errand_sql(self.chance.choice([
            f"update quake set sig = random() * 1000 where {some}", f"delete from quake where {some}",
            f"begin; delete from quake where {some}; rollback; update quake set felt = 1 where {some}",
            f"begin; update quake set alert = 'red' where {some}; select pg_sleep(random()); commit"]))

    def jump(self):
        self.clock.set(self.chance.choice([0, self.chance.randrange(-100_000, 100_000)]))

    def jump_server(self):
        self.server_clock.set(self.chance.randrange(-20, 20))

    def errand_sql(self, statement):
        # The time limit ends sessions that wait for a row which a frozen program has locked.
        self.errand("psql", self.cluster.url, "-qAtX", "-c", "set statement_timeout = '20s'", "-c", statement)

    def errand(self, *command):
        self.errands.append(subprocess.Popen(command, env=self.cluster.env, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))

    # --- The server, whose clock can jump, too ---

    def stop_server(self, mode):
        self.pg_ctl("stop", "-m", mode)

    def start_server(self):
        # The other processes of a killed server need a moment to notice its end, and the server refuses to start before that. If
        # pg_ctl fails, the server may still start, because pg_ctl gives up too early on a busy machine.
        log = f"{self.cluster.env['QUAKES_HOME']}/log"
        wait_until("the server starts", lambda: self.pg_ctl(
            "start", "-l", log, "-o", f"-k {self.socket} -h '' -p 5432") == 0 or self.answers(), lambda: f"\n{tail(log)}")

    def answers(self):
        """Whether the server takes connections."""
        try:
            return self.sql("select 1") == "1"
        except subprocess.SubprocessError:
            return False

    def pg_ctl(self, *arguments):
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] if os.geteuid() == 0 else []
        command = self.server_clock.command(f"{self.bin}/pg_ctl", "-s", "-w", "-D", f"{self.cluster.env['QUAKES_HOME']}/data",
                                            *arguments)
        return subprocess.run([*as_user, *command], env=self.cluster.env, cwd=self.cluster.home, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode

    # --- Results ---

    def sample(self, minute):
        values = {}
        for kind in KINDS:
            # A program normally grows in its first seconds, so it is not sampled then.
            usages = [program.usage() for program in self.programs
                      if program.kind == kind and program.process.poll() is None and time.monotonic() - program.started > 20]
            usages = [usage for usage in usages if usage]
            if usages:
                values[f"{kind} MB"], values[f"{kind} files"] = map(statistics.mean, zip(*usages))
        try:
            row = self.sql("""
                select (select count(*) from pg_stat_activity where backend_type = 'client backend'),
                       (select sum(pg_total_relation_size(oid)) / 2^20 from pg_class
                        where relkind = 'r' and (relnamespace = 'history'::regnamespace or oid = 'quake'::regclass)),
                       (select sum(pg_total_relation_size(oid)) / 2^10 from pg_class
                        where relkind = 'r' and relnamespace = 'import'::regnamespace) / (select count(*) + 100 from import.run)""")
            values |= zip(["connections", "table, history MB", "import kB per run"], map(float, row.split("|")))
        except subprocess.SubprocessError:
            pass  # the server is down
        for name, value in values.items():
            self.samples[name].append((minute, value))

    def sql(self, statement):
        return subprocess.check_output(["psql", self.cluster.url, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", "set timezone = 'UTC'",
                                        "-c", statement], env=self.cluster.env, text=True, stderr=subprocess.DEVNULL).strip()

    def calm_down(self):
        """Ends all faults, and waits until every follower has all changes."""
        self.feeds.calm.set()
        for clock in [self.clock, self.server_clock]:
            clock.set(0)
        self.proxy.cut()
        for program in self.programs:
            program.thaw()
            if program.kind == "view" and not program.protected and program.process.poll() is None:
                program.process.kill()  # it may have a limit on file sizes
        self.wait_until("the errands are done", lambda: not self.errands)
        # The server may still be recovering from the crash of one of its processes.
        self.wait_until("the server takes connections", self.answers)
        begin = int(self.sql("select coalesce(max(id), 0) from import.run"))
        self.wait_until("both feeds are imported once more", lambda: self.sql(
            f"select count(distinct source) from import.run where id > {begin + 4} and outcome = 'done'") == "2",
            lambda: f"{self.sql('select id, source, outcome, error from import.run order by id desc limit 6')}\n{tail(self.daemon.log)}")
        self.daemon.end()
        self.programs.remove(self.daemon)
        now = int(self.sql("select history.current_token()"))
        self.wait_until(f"every view and every stream has token {now}", lambda: not self.behind(now), lambda: self.behind(now))
        for program in self.programs:
            program.end()

    def behind(self, token):
        tokens = {f"view-{number}": token_of(view) for number, view in enumerate(self.views)}
        tokens |= {f"stream-{number}": stream.token for number, stream in enumerate(self.streams)}
        return {name: reached for name, reached in tokens.items() if reached != token}

    def wait_until(self, what, is_so, seen=lambda: ""):
        wait_until(what, lambda: self.look_after() or is_so(), seen)

    def compare(self):
        """Compares every view and every stream with the table."""
        table = [json.loads(line) for line in self.sql("select to_jsonb(quake) from quake order by code").splitlines()]
        columns = [line.split("|") for line in self.sql(
            "select column_name, data_type from information_schema.columns where table_schema = 'public'"
            " and table_name = 'quake' order by ordinal_position").splitlines()]
        forms = {"boolean": "{}::int", "timestamp with time zone": "to_char({}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
                 "ARRAY": "to_json({})::text", "jsonb": "to_json({})::text"}
        expressions = ", ".join(forms.get(type, "{}").format(name) for name, type in columns)
        rows = [json.loads(line) for line in self.sql(
            f"select json_build_array({expressions})::jsonb from quake order by code").splitlines()]
        for number, view in enumerate(self.views):
            file = sqlite3.connect(f"file:{view}?mode=ro", uri=True)
            mine = [list(row) for row in file.execute(f"select {', '.join(name for name, _ in columns)} from quake order by code")]
            file.close()
            differ(f"view-{number}", mine, rows)
        for number, stream in enumerate(self.streams):
            differ(f"stream-{number}", [stream.rows[code] for code in sorted(stream.rows)], table)
        return len(table)

    def report(self):
        """Prints the samples. Returns whether all values stayed within their bounds."""
        rows, good = [("sampled", "first", "last", "bound", "per minute", "samples", "verdict")], True
        for name, (factor, constant) in BOUNDS.items():
            warm = [(minute, value) for minute, value in self.samples[name] if minute > self.minutes * 0.15]
            quarter = max(1, len(warm) // 4)
            if len(warm) < 8:
                rows.append((name, 0.0, 0.0, 0.0, 0.0, len(warm), "too few"))
                continue
            first = statistics.median(value for _, value in warm[:quarter])
            last = statistics.median(value for _, value in warm[-quarter:])
            bound, slope = first * factor + constant, statistics.linear_regression(*zip(*warm)).slope
            good &= last <= bound
            rows.append((name, first, last, bound, slope, len(warm), "flat" if last <= bound else "GROWS"))
        print_table(*rows)
        return good


def differ(name, mine, table):
    for one, other in zip(mine, table):
        if one != other:
            fail(f"{name} differs from the table:\n{one}\n{other}")
    if len(mine) != len(table):
        fail(f"{name} has {len(mine)} rows, the table {len(table)}")


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.minutes:g} minutes", flush=True)
    if not Clock.library:
        print("left out: clock jumps (not installed: libfaketime; apt-get install faketime)")
    leftovers = Clock.leftovers()
    with Cluster(shared_buffers="128MB", autovacuum_naptime="2s", max_wal_size="1GB", checkpoint_timeout="30s") as cluster:
        soak = Soak(cluster, options.seed, options.minutes)
        try:
            soak.run()
            soak.calm_down()
            rows = soak.compare()
            good = soak.report()
            runs = soak.sql("select string_agg(outcome || ' ' || n, ', ') from"
                            " (select coalesce(outcome, 'unfinished') as outcome, count(*) as n from import.run group by 1) as o")
            token = soak.sql("select history.current_token()")
        finally:
            for program in soak.programs:
                program.process.kill()
                program.process.wait()
    for path in Clock.leftovers() - leftovers:
        os.unlink(path)
    ends = sum((program.endings for program in [soak.daemon, *soak.followers]), collections.Counter())
    print(f"injected faults: {', '.join(f'{name} {count}' for name, count in sorted(soak.done.items()))}")
    print(f"{soak.feeds.answers} responses of the feeds; runs: {runs}; {sum(ends.values())} programs ended: "
          f"{', '.join(f'{count} with {status}' for status, count in sorted(ends.items()))}")
    print(f"seed {options.seed}: {len(soak.views)} views and {len(soak.streams)} streams equal the table of {rows} rows at token {token}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
