#!/usr/bin/env python3
"""Measures what one client of `quakes serve` costs the others.

Each row is something that one curious client can do. It is done to a server of its own, while others ask for what is
short: how long they wait and how much memory and disk it takes is printed beside the goals of the design.

    filters      200 streams with 200 filters, then one commit of 20,000 rows; the same with one filter for all
    snapshots    100 snapshots of all events, which are read slowly
    catch-up     all changes with a filter, three times, while others resume
    pasts        8 clients that ask for the costliest past of all events, again and again
    silence      60 live clients, and one commit of 70,000 rows
    polling      long-polling readers behind nginx's cache, two commits a second

The figures are of one run. The server of the database is a private cluster that exists only for the run. Polling needs
nginx, and is left out without it.

    Benchmarks/fair.py [--events N] [--readers N] [--rows NAME,…] [--json]
"""

import argparse
import json
import re
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import goals
from cluster import QUAKES, Cluster

ROWS = {}


def row(function):
    """A row of the table: a function of the bench that returns goals."""
    ROWS[function.__name__.replace("_", "-")] = function
    return function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--readers", type=int, default=1000, help="long-polling readers")
    parser.add_argument("--rows", help="only these rows of the table")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    chosen = options.rows.split(",") if options.rows else list(ROWS)
    if unknown := set(chosen) - set(ROWS):
        parser.error(f"no row is called {', '.join(unknown)}: {', '.join(ROWS)}")
    reached = []
    with Cluster() as cluster:
        cluster.load(cluster.sample(options.events))
        cluster.sql("vacuum freeze analyze")
        for name in chosen:
            print(f"{name} …", file=sys.stderr)
            reached += ROWS[name](cluster, options)
    if options.json:
        print(json.dumps([dict(zip(("what", "measured", "goal", "is"), goal)) for goal in reached], indent=1))
    goals.tell(reached, prints=not options.json)


# MARK: the rows

@row
def filters(cluster, options):
    rows = min(20_000, options.events)
    figures = {}
    for kinds in (1, 200):
        with Service(cluster) as service:
            with Clients(service, [f"/changes?after=now&minmagnitude=-{number % kinds / 1000:.3f}" for number in range(200)]) \
                    as clients:
                clients.wait(lambda: all(clients.positions))
                before, others = service.memory(), Others(service, ["/health"])
                token = update(cluster, rows)
                clients.wait(lambda: min(clients.positions) >= token)
                figures[kinds] = (service.peak() - before, others.end()["/health"])
    (one, health), (many, slowest) = figures[1], figures[200]
    what = f"200 clients with 200 filters, a commit of {rows} rows"
    print(f"{what}: +{many:.0f} MB, /health {slowest:.2f} s; with one filter: +{one:.0f} MB, {health:.2f} s", file=sys.stderr)
    return [goals.at_most(f"{what}: MB more", many, 256),
            goals.at_most(f"{what}: longest /health / with one filter", slowest / health, 3)]


@row
def snapshots(cluster, options):
    with Service(cluster) as service:
        # Half of them ask for the same.
        paths = ["/changes" if number % 2 else f"/changes?minmagnitude=-{number / 100}" for number in range(100)]
        with Clients(service, paths, pace=256 << 10) as clients:
            others = Others(service, ["/health", "/metrics", "/fdsnws/event/1/count?minmagnitude={number}"])
            most, end = 0, time.monotonic() + 40
            while time.monotonic() < end:
                clients.read(0.2)
                most = max(most, service.metric("quakes_spooled_bytes"))
            figures = others.end()
    what = f"100 slow snapshots of {options.events} events"
    return [goals.at_most(f"{what}: MB in files", most / 2**20, 1024),
            goals.at_most(f"{what}: others' queries refused, of {others.count}", others.refused, 0),
            goals.at_most(f"{what}: others' slowest answer, s", max(figures.values()), 2)]


@row
def catch_up(cluster, options):
    with Service(cluster) as service:
        token = update(cluster, 20)
        spilled = temporary_bytes(cluster)
        paths = [f"/changes?after=1&minmagnitude={number}" for number in range(3)]
        with Clients(service, paths) as clients:
            heads = Heads(service, f"/changes?after={token - 1}")
            start, taken = time.monotonic(), {}
            while len(taken) < len(paths):
                clients.read(0.1)
                for index, position in enumerate(clients.positions):
                    if position >= token:
                        taken.setdefault(index, time.monotonic() - start)
            waited = heads.end()
    what = f"three filtered catch-ups of {options.events} changes"
    print(f"{what}: {', '.join(f'{seconds:.1f} s' for seconds in taken.values())}", file=sys.stderr)
    return [goals.at_most(f"{what}: the slowest, s", max(taken.values()), 60),
            goals.at_most(f"{what}: GB of temporary files in the database",
                          (temporary_bytes(cluster) - spilled) / 2**30, 1),
            goals.at_most(f"{what}: until others who resume have all, s", waited, 2)]


@row
def pasts(cluster, options):
    update(cluster, min(20_000, options.events))
    with Service(cluster) as service:
        query = "/fdsnws/event/1/query?format=csv&limit="
        costly = Others(service, [f"{query}20000&asof=1&orderby=magnitude&offset={number}" for number in range(1000, 1008)])
        time.sleep(2)
        others = Others(service, ["/health", "/metrics", f"{query}20", query + "20&minmagnitude={number}"])
        time.sleep(40)
        figures = others.end()
        answered, refused = costly.count, costly.refused
        costly.is_over = True
    what = f"8 clients that ask for the costliest past of {options.events} events"
    print(f"{what}: {answered} answers, {refused} refused; {figures}", file=sys.stderr)
    return [goals.at_most(f"{what}: others' queries refused, of {others.count}", others.refused, 0),
            goals.at_most(f"{what}: others' slowest answer, s", max(figures.values()), 2)]


@row
def silence(cluster, options):
    rows = min(70_000, options.events)
    with Service(cluster) as service:
        paths = [f"/changes?after=now{f'&minmagnitude=-{number}' if number % 3 == 0 else ''}" for number in range(60)]
        with Clients(service, paths) as clients:
            clients.wait(lambda: all(clients.positions))
            worker = threading.Thread(target=update, args=(cluster, rows))
            clients.silences()
            worker.start()
            while worker.is_alive():
                clients.read(0.2)
            token = int(cluster.sql("select history.current_token()"))
            clients.wait(lambda: min(clients.positions) >= token)
            return [goals.at_most(f"60 live clients, a commit of {rows} rows: the longest silence, s",
                                  max(clients.silences()), 21)]


@row
def polling(cluster, options):
    if not shutil.which("nginx"):
        print("without nginx, polling is left out", file=sys.stderr)
        return []
    commits = 20
    with Service(cluster) as service, Cache(cluster, service) as port:
        position = urllib.request.urlopen(f"{service.url}/changes?after=now&wait=0").read()
        codes = cluster.sql("select code from quake limit 20").splitlines()
        asked = service.metric('quakes_http_requests_total{route="changes",status="200"}')
        with Pollers(port, options.readers, word(json.loads(position))) as readers:
            readers.read(2)
            for _ in range(commits):
                update(cluster, 20, codes)
                readers.committed()
                readers.read(0.5)
            token = int(cluster.sql("select history.current_token()"))
            end = time.monotonic() + 60
            while min(readers.tokens) < token and time.monotonic() < end:
                readers.read(0.1)
            behind = sum(reached < token for reached in readers.tokens)
            latencies = sorted(readers.latencies)
        asked = service.metric('quakes_http_requests_total{route="changes",status="200"}') - asked
    what = f"{options.readers} long-polling readers behind nginx, 2 commits/s"
    print(f"{what}: from commit to reader p50 {latencies[len(latencies) // 2]:.2f} s,"
          f" p99 {latencies[len(latencies) * 99 // 100]:.2f} s; {behind} readers are behind", file=sys.stderr)
    return [goals.at_most(f"{what}: requests per commit that reach the process", asked / commits, 3)]


# MARK: the server

def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Service:
    """A `quakes serve` that runs while the block does."""

    def __init__(self, cluster):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [QUAKES, "serve", "--listen", f"127.0.0.1:{self.port}", "--database", cluster.url], env=cluster.env,
            stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{self.url}/health").close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("quakes serve does not answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def memory(self, name="VmRSS"):
        """In MB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(rf"{name}:\s+(\d+)", file.read())[1]) / 1024

    def peak(self):
        return self.memory("VmHWM")

    def metric(self, name):
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            found = re.search(rf"^{re.escape(name)} (\S+)$", answer.read().decode(), re.M)
            return float(found[1]) if found else 0


class Cache:
    """nginx, which asks the service once for all who ask for the same."""

    def __init__(self, cluster, service):
        self.port = free_port()
        path = f"{cluster.home}/cache.conf"
        with open(path, "w") as file:
            file.write(f"""
                daemon off; user root; worker_processes 1; pid {cluster.home}/cache.pid; worker_rlimit_nofile 65536;
                error_log {cluster.home}/cache.log error;
                events {{ worker_connections 30000; }}
                http {{
                    access_log off; keepalive_requests 1000000; client_body_temp_path {cluster.home}/cache-body;
                    proxy_temp_path {cluster.home}/cache-temp;
                    proxy_cache_path {cluster.home}/cache keys_zone=quakes:10m;
                    server {{
                        listen 127.0.0.1:{self.port} backlog=4096;
                        location / {{
                            proxy_pass {service.url}; proxy_cache quakes; proxy_cache_lock on; proxy_cache_lock_age 65s;
                            proxy_cache_lock_timeout 65s; proxy_read_timeout 70s;
                        }}
                    }}
                }}""")
        self.process = subprocess.Popen(["nginx", "-c", path], stderr=subprocess.DEVNULL)

    def __enter__(self):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self.port
            except OSError:
                time.sleep(0.1)
        sys.exit("nginx does not answer")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def update(cluster, rows, codes=None):
    """One commit. Returns its token."""
    chosen = "','".join(codes) if codes else None
    which = f"in ('{chosen}')" if chosen else f"in (select code from quake order by code limit {rows})"
    cluster.sql(f"update quake set magnitude = coalesce(magnitude, 0) + 0.001 where code {which}")
    return int(cluster.sql("select history.current_token()"))


def temporary_bytes(cluster):
    """What the database has written to temporary files."""
    time.sleep(1)  # it is counted now and then
    return int(cluster.sql("select temp_bytes from pg_stat_database where datname = current_database()"))


def word(position):
    return f"{position['token']}_{position['committed_at']}_{position['store']}"


# MARK: clients

class Sockets:
    """Many connections, read by one thread."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.sockets = []

    def add(self, client):
        self.selector.register(client, selectors.EVENT_READ, len(self.sockets))
        self.sockets.append(client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.sockets:
            client.close()
        self.selector.close()


class Clients(Sockets):
    """Many streams of changes."""

    TOKEN = re.compile(rb'\{"store":"[^"]*","token":(\d+)')

    def __init__(self, service, paths, pace=None):
        """:param pace: how many bytes a second each reads; None for all there is."""
        super().__init__()
        self.positions = [0] * len(paths)
        self.heard = [time.monotonic()] * len(paths)
        self.longest = [0.0] * len(paths)
        self.tails = [b""] * len(paths)
        self.pace, self.read_at = pace, time.monotonic()
        for path in paths:
            client = socket.socket()
            if pace:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
            client.connect(("127.0.0.1", service.port))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            client.setblocking(False)
            self.add(client)

    def read(self, seconds):
        """Reads for so long."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            if self.pace:
                time.sleep(0.1)
            size = 1 << 20 if self.pace is None else max(1, int(self.pace * (now - self.read_at)))
            self.read_at = now
            for key, _ in self.selector.select(max(0, end - time.monotonic())):
                self.take(key.fileobj, key.data, size)

    def take(self, client, index, size):
        try:
            data = client.recv(size)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self.selector.unregister(client)
            return
        now = time.monotonic()
        self.longest[index] = max(self.longest[index], now - self.heard[index])
        self.heard[index] = now
        text = self.tails[index] + data
        for found in self.TOKEN.finditer(text):
            self.positions[index] = int(found[1])
        self.tails[index] = text[-200:]

    def wait(self, is_so, seconds=600):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                sys.exit("the clients wait in vain")
            self.read(0.1)

    def silences(self):
        """The longest silence of each since the last call."""
        now = time.monotonic()
        longest = [max(longest, now - heard) for longest, heard in zip(self.longest, self.heard)]
        self.longest, self.heard = [0.0] * len(longest), [now] * len(longest)
        return longest


class Pollers(Sockets):
    """Readers that ask again and again, each over a connection that it keeps."""

    LENGTH = re.compile(rb"content-length: (\d+)", re.I)

    def __init__(self, port, count, position):
        super().__init__()
        self.buffers, self.tokens = [b""] * count, [0] * count
        self.commits, self.latencies = [], []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port))
            self.add(client)
            self.ask(client, position)

    @staticmethod
    def ask(client, position):
        client.sendall(f"GET /changes?after={position}&wait=20s HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def committed(self):
        self.commits.append(time.monotonic())

    def read(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for key, _ in self.selector.select(left):
                self.take(key.fileobj, key.data)

    def take(self, client, index):
        buffer = self.buffers[index] + client.recv(1 << 20)
        head, _, rest = buffer.partition(b"\r\n\r\n")
        length = self.LENGTH.search(head)
        is_whole = len(rest) >= int(length[1]) if length else rest.endswith(b"0\r\n\r\n")
        self.buffers[index] = b"" if is_whole else buffer
        if not is_whole:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            sys.exit(f"a reader was refused: {head[:100]}")
        last = rest[rest.rindex(b'{"store"'):]
        position = json.loads(last[:last.index(b"}") + 1])
        if position["token"] > self.tokens[index]:
            self.tokens[index] = position["token"]
            if self.commits:
                self.latencies.append(time.monotonic() - self.commits[-1])
        self.ask(client, word(position))


class Others:
    """Somebody who asks for short things all the time, and notes the longest wait for each."""

    def __init__(self, service, paths):
        self.service, self.paths = service, paths
        self.longest = dict.fromkeys(paths, 0.0)
        self.count = self.refused = 0
        self.is_over = False
        self.threads = [threading.Thread(target=self.ask, args=(path,), daemon=True) for path in paths]
        for thread in self.threads:
            thread.start()

    def ask(self, path):
        number = 0
        while not self.is_over:
            number += 1
            start = time.monotonic()
            try:
                urllib.request.urlopen(self.service.url + path.format(number=number / 1000), timeout=300).read()
            except (urllib.error.URLError, OSError):
                self.refused += 1
            self.count += 1
            self.longest[path] = max(self.longest[path], time.monotonic() - start)
            time.sleep(0.02)

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()
        return self.longest


class Heads:
    """Somebody who resumes again and again, until there is a position."""

    def __init__(self, service, path):
        self.service, self.path = service, path
        self.longest, self.is_over = 0.0, False
        self.thread = threading.Thread(target=self.resume, daemon=True)
        self.thread.start()

    def resume(self):
        while not self.is_over:
            start = time.monotonic()
            with socket.create_connection(("127.0.0.1", self.service.port)) as client:
                client.sendall(f"GET {self.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                text = b""
                while not Clients.TOKEN.search(text) and (piece := client.recv(1 << 20)):
                    text += piece
            self.longest = max(self.longest, time.monotonic() - start)
            time.sleep(0.2)

    def end(self):
        self.is_over = True
        self.thread.join()
        return self.longest


if __name__ == "__main__":
    main()
