#!/usr/bin/env python3
"""Measures how much a demanding client of `quakes serve` slows down other clients.

Each row of the table is a load that a client can cause. For each row, a server is started and put under this load while other
clients send short requests. The waits of these clients, and the memory and disk space that the load takes, are printed beside the
goals of the design.

    filters      200 streams with 200 filters, then one commit of 20,000 rows; the same with one filter for all
    snapshots    100 snapshots of all events, which are read slowly
    catch-up     three filtered streams that start at the first change, while another client resumes its stream close to
                 the end
    pasts        8 clients that repeat the most expensive query for a past state of all events
    silence      60 live clients, and one commit of 70,000 rows
    streams      2,000 streams without a filter, and one commit of 20,000 rows
    slow         10,000 connections that send a head or a body byte by byte, read a response byte by byte, or send nothing
    deletions    queries for events that never existed, after a third of all events was deleted

With --through, all clients use a proxy with the configuration in deploy/proxies. The figures are from a single run. The database
is a private cluster that exists only during the run. The proxies are Debian's (scripts/tools proxies).

--soak MINUTES runs hostile clients of several kinds at the same time for that long, while a worker commits changes and ordinary
clients send requests. The clients of each kind share no address with other clients.

    Benchmarks/Speed/fair.py [--events N] [--rows NAME,…] [--through nginx|haproxy|varnish] [--soak MINUTES] [--json]
"""

import argparse
import http.client
import json
import multiprocessing
import random
import re
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import goals
from cluster import QUAKES, Cluster, free_port
from proxies import Proxy

ROWS = {}
EVENTS = "/fdsnws/event/1/query"


def row(function):
    """Registers a function as a row of the table. The function takes the measurements, and returns them as goals."""
    ROWS[function.__name__.replace("_", "-")] = function
    return function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--rows", help="measure only these rows of the table")
    parser.add_argument("--through", choices=["nginx", "haproxy", "varnish"])
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="run hostile clients instead of the rows")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    Service.proxy = options.through
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    chosen = options.rows.split(",") if options.rows else list(ROWS)
    if unknown := set(chosen) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; the rows are {', '.join(ROWS)}")
    reached = []
    with Cluster() as cluster:
        cluster.load(cluster.sample(options.events))
        cluster.sql("vacuum freeze analyze")
        if options.soak:
            reached += soak(cluster, options)
            chosen = []
        for name in chosen:
            print(f"{name} …", file=sys.stderr)
            reached += ROWS[name](cluster, options)
    if options.json:
        print(json.dumps([dict(zip(("what", "measured", "goal", "is"), goal)) for goal in reached], indent=1))
    goals.tell(reached, prints=not options.json)


# MARK: rows of the table

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
    return [goals.at_most(f"{what}: additional MB", many, 256),
            goals.at_most(f"{what}: longest wait for /health, as a multiple of the wait with one filter", slowest / health, 3)]


@row
def snapshots(cluster, options):
    with Service(cluster) as service:
        # Half of the clients request the same snapshot.
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
            heads = Others(service, [f"/changes?after={token - 1}"], up_to_position)
            start, taken = time.monotonic(), {}
            while len(taken) < len(paths):
                clients.read(0.1)
                for index, position in enumerate(clients.positions):
                    if position >= token:
                        taken.setdefault(index, time.monotonic() - start)
            waited = max(heads.end().values())
    what = f"three filtered catch-ups of {options.events} changes"
    print(f"{what}: {', '.join(f'{seconds:.1f} s' for seconds in taken.values())}", file=sys.stderr)
    return [goals.at_most(f"{what}: the slowest, s", max(taken.values()), 60),
            goals.at_most(f"{what}: GB of temporary files in the database",
                          (temporary_bytes(cluster) - spilled) / 2**30, 1),
            goals.at_most(f"{what}: slowest resumption of another client, s", waited, 2)]


@row
def pasts(cluster, options):
    update(cluster, min(20_000, options.events))
    with Service(cluster) as service:
        query = EVENTS + "?format=csv&limit="
        costly = Others(service, [f"{query}20000&asof=1&orderby=magnitude&offset={number}" for number in range(1000, 1008)])
        time.sleep(2)
        others = Others(service, ["/health", "/metrics", f"{query}20", query + "20&minmagnitude={number}"])
        time.sleep(40)
        figures = others.end()
        costly.end()
    what = f"8 clients that repeat the costliest query for a past state of {options.events} events"
    print(f"{what}: {costly.count} responses, {costly.refused} refused; {figures}", file=sys.stderr)
    return [goals.at_most(f"{what}: others' queries refused, of {others.count}", others.refused, 0),
            goals.at_most(f"{what}: others' slowest answer, s", max(figures.values()), 2)]


@row
def silence(cluster, options):
    rows = min(70_000, options.events)
    with Service(cluster) as service:
        paths = [f"/changes?after=now{f'&minmagnitude=-{number / 10}' if number % 3 == 0 else ''}" for number in range(60)]
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
def streams(cluster, options):
    rows = min(20_000, options.events)
    with Service(cluster) as service:
        with Clients(service, ["/changes?after=now"] * 2000) as clients:
            clients.wait(lambda: all(clients.positions))
            before, others = service.memory(), Others(service, ["/health", "/metrics", EVENTS + "?format=csv&limit=20"])
            clients.silences()
            start, token = time.monotonic(), update(cluster, rows)
            clients.wait(lambda: min(clients.positions) >= token)
            taken, figures = time.monotonic() - start, others.end()
            what = f"2,000 streams, a commit of {rows} rows"
            print(f"{what}: {taken:.0f} s until all clients have all changes, {clients.bytes / 2**30 / taken:.2f} GB/s; {figures}", file=sys.stderr)
            return [goals.at_most(f"{what}: additional MB", service.peak() - before, 256),
                    goals.at_most(f"{what}: others' queries refused, of {others.count}", others.refused, 0),
                    goals.at_most(f"{what}: others' slowest answer, s", max(figures.values()), 2),
                    goals.at_most(f"{what}: the longest silence, s", max(clients.silences()), 21)]


@row
def slow(cluster, options):
    with Service(cluster, "--max-connections", "12000") as service:
        before = service.memory()
        with Slow(service, 10_000) as clients:
            others = Others(service, ["/health", "/metrics", EVENTS + "?format=csv&limit=20",
                                      EVENTS + "?format=csv&limit=20&minmagnitude={number}"])
            clients.drip(90)
            figures, held = others.end(), len(clients.sockets) - clients.closed
            what = "10,000 slow connections, 90 s"
            print(f"{what}: {clients.closed} were closed, {held} are held; {figures}", file=sys.stderr)
            return [goals.at_most(f"{what}: additional MB", service.peak() - before, 256),
                    goals.at_most(f"{what}: others' queries refused, of {others.count}", others.refused, 0),
                    goals.at_most(f"{what}: others' slowest answer, s", max(figures.values()), 2)]


@row
def deletions(cluster, options):
    path = EVENTS + "?format=csv&nodata=204&eventid=none{number}"
    with Service(cluster) as service:
        def longest():
            others = Others(service, [path])
            time.sleep(5)
            return max(others.end().values())
        before = longest()
        cluster.sql(f"delete from quake where code in (select code from quake order by code limit {options.events // 3})")
        after = longest()
    what = f"query for an event that never existed, after {options.events // 3} deletions"
    return [goals.at_most(f"{what}: s", after, 2),
            goals.at_most(f"{what}: longest wait, as a multiple of the wait before the deletions", after / before, 10)]


def soak(cluster, options):
    with Service(cluster) as service:
        time.sleep(2)
        before, files = service.memory(), service.metric("process_open_fds")
        hostile = [Hostile(service, number, body) for number, body in enumerate(
            (dripping, filtered, snapshotting, asking_for_pasts, catching_up, talking_nonsense))]
        others = Others(service, ["/health", "/metrics", EVENTS + "?format=csv&limit=20",
                                  EVENTS + "?format=geojson&limit=20&minmagnitude={number}",
                                  "/earthquakes/feed/v1.0/summary/4.5_day.geojson"])
        end, commits, chance = time.monotonic() + 60 * options.soak, 0, random.Random(1)
        with Clients(service, ["/changes?after=now"] * 20) as ordinary:
            while time.monotonic() < end:
                rows = min(options.events, chance.choice([1, 20, 20, 20, 2000, 20_000]))
                worker = threading.Thread(target=update, args=(cluster, rows))
                worker.start()
                commits += 1
                while worker.is_alive():
                    ordinary.read(0.2)
                ordinary.read(2)
            token = int(cluster.sql("select history.current_token()"))
            ordinary.wait(lambda: sum(position >= token for position in ordinary.positions) >= 20 - ordinary.closed, 120)
            silence, dropped = max(ordinary.longest), ordinary.closed
        figures = others.end()
        counts = [one.end() for one in hostile]
        peak = service.peak() - before
        time.sleep(60)
        left = service.metric("process_open_fds") - files
        spooled = service.metric("quakes_spooled_bytes")
        what = f"{options.soak:g} minutes of hostile clients, {commits} commits"
        print(f"{what}; actions of each client: {', '.join(counts)}", file=sys.stderr)
        for path, waits in others.waits.items():
            waits.sort()
            print(f"{path}: {len(waits)} answers, p50 {waits[len(waits) // 2] * 1000:.1f} ms,"
                  f" p99 {waits[len(waits) * 99 // 100] * 1000:.1f} ms, slowest {waits[-1]:.2f} s", file=sys.stderr)
        return [goals.at_most(f"{what}: others' queries refused, of {others.count}", others.refused, 0),
                goals.at_most(f"{what}: others' p99, s", max(waits[len(waits) * 99 // 100] for waits in others.waits.values()), 2),
                goals.at_most(f"{what}: others' slowest answer, s", max(figures.values()), 10),
                goals.at_most(f"{what}: the longest silence of a stream, s", silence, 21),
                goals.at_most(f"{what}: streams that were dropped, of 20", dropped, 0),
                goals.at_most(f"{what}: additional MB", peak, 512),
                goals.at_most(f"{what}: additional open files a minute later", left, 20),
                goals.at_most(f"{what}: bytes in files a minute later", spooled, 0)]


# MARK: hostile clients

class Hostile:
    """A process that repeats `body` until `end` is called. Each process passes a different source address to
    `body`. `dripping` ignores this address, because `Slow` has its own addresses."""

    def __init__(self, service, number, body):
        self.name, self.over, self.count = body.__name__, multiprocessing.Event(), multiprocessing.Value("i", 0)
        self.process = multiprocessing.Process(target=self.run, args=(service, f"127.2.0.{number + 2}", body), daemon=True)
        self.process.start()

    def run(self, service, address, body):
        while not self.over.is_set():
            try:
                body(service, address)
            except OSError:
                time.sleep(1)
            self.count.value += 1

    def end(self):
        self.over.set()
        self.process.kill()
        self.process.join()
        return f"{self.name.replace('_', ' ')} {self.count.value}"


def dripping(service, address):
    with Slow(service, 1000) as clients:
        clients.drip(60)


def filtered(service, address):
    paths = [f"/changes?after=now&minmagnitude=-{random.random():.4f}" for _ in range(200)]
    with Clients(service, paths, address=address) as clients:
        clients.read(60)


def snapshotting(service, address):
    paths = [f"/changes?minmagnitude=-{random.random():.4f}" for _ in range(50)]
    with Clients(service, paths, pace=64 << 10, address=address) as clients:
        clients.read(60)


def catching_up(service, address):
    with Clients(service, [f"/changes?after=1&minmagnitude={random.random():.4f}" for _ in range(3)], address=address) as clients:
        clients.read(30)


def asking_for_pasts(service, address):
    client = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300, source_address=(address, 0))
    try:
        client.request("GET", f"{EVENTS}?format=csv&limit=20000&asof=1&orderby=magnitude&offset={random.randint(1, 5000)}")
        client.getresponse().read()
    except http.client.HTTPException:
        pass
    finally:
        client.close()


def talking_nonsense(service, address):
    with socket.create_connection(("127.0.0.1", service.port), timeout=10, source_address=(address, 0)) as client:
        client.sendall(random.choice([
            random.randbytes(random.randint(1, 100_000)),
            b"GET /" + b"x" * random.randint(1, 100_000) + b" HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * random.randint(1, 10_000) + b"\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * random.randint(1, 5000),
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"5\r\nhello\r\n" * 1000]))
        if random.random() < 0.5:
            client.recv(1000)


# MARK: the server

class Service:
    """A `quakes serve` that runs during a `with` block, behind a proxy if `proxy` is set."""

    proxy = None

    def __init__(self, cluster, *options):
        self.own = f"http://127.0.0.1:{(port := free_port())}"
        self.process = subprocess.Popen(
            [QUAKES, "serve", "--listen", f"127.0.0.1:{port}", "--database", cluster.url, *options], env=cluster.env,
            stderr=subprocess.DEVNULL)
        wait_for(f"{self.own}/health")
        self.behind = Proxy(cluster, self.proxy, port) if self.proxy else None
        self.port = self.behind.port if self.behind else port
        self.url = f"http://127.0.0.1:{self.port}"
        wait_for(f"{self.url}/health")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [self.process] + ([self.behind.process] if self.behind else []):
            process.terminate()
            process.wait()

    def memory(self, name="VmRSS"):
        """The memory of the server process in MB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(rf"{name}:\s+(\d+)", file.read())[1]) / 1024

    def peak(self):
        return self.memory("VmHWM")

    def metric(self, name):
        with urllib.request.urlopen(f"{self.own}/metrics") as answer:
            found = re.search(rf"^{re.escape(name)} (\S+)$", answer.read().decode(), re.M)
            return float(found[1]) if found else 0


def wait_for(url):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{url} does not answer")


def update(cluster, rows, codes=None):
    """Updates rows in one commit. Returns its token."""
    chosen = "','".join(codes) if codes else None
    which = f"in ('{chosen}')" if chosen else f"in (select code from quake order by code limit {rows})"
    cluster.sql(f"update quake set magnitude = coalesce(magnitude, 0) + 0.001 where code {which}")
    return int(cluster.sql("select history.current_token()"))


def temporary_bytes(cluster):
    """The number of bytes that the database has written to temporary files."""
    time.sleep(1)  # the counter is updated only now and then
    return int(cluster.sql("select temp_bytes from pg_stat_database where datname = current_database()"))


def word(position):
    return f"{position['token']}_{position['committed_at']}_{position['nonce']}_{position['store']}"


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
    CHUNK = re.compile(rb"\r\n[0-9A-Fa-f]+\r\n")

    def __init__(self, service, paths, pace=None, address="127.0.0.1"):
        """:param pace: how many bytes a second each client reads; None for no limit."""
        super().__init__()
        self.positions = [0] * len(paths)
        self.heard = [time.monotonic()] * len(paths)
        self.longest = [0.0] * len(paths)
        self.tails = [b""] * len(paths)
        self.bytes = self.closed = 0
        self.pace, self.read_at = pace, time.monotonic()
        for path in paths:
            client = socket.socket()
            if pace:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
            client.bind((address, 0))
            client.connect(("127.0.0.1", service.port))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            client.setblocking(False)
            self.add(client)

    def read(self, seconds):
        """Reads from all clients for this many seconds."""
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
            self.closed += 1
            return
        now = time.monotonic()
        self.longest[index] = max(self.longest[index], now - self.heard[index])
        self.heard[index] = now
        self.bytes += len(data)
        # The position at the end of a pass comes after all of its changes. A proxy may begin a new chunk in the middle of the
        # position.
        tail = self.tails[index] = (self.tails[index] + data)[-300:]
        for found in self.TOKEN.finditer(self.CHUNK.sub(b"", tail)):
            self.positions[index] = int(found[1])

    def wait(self, is_so, seconds=600):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                sys.exit(f"gave up after {seconds} s of waiting for the clients")
            self.read(0.1)

    def silences(self):
        """The longest silence of each client since the last call."""
        now = time.monotonic()
        longest = [max(longest, now - heard) for longest, heard in zip(self.longest, self.heard)]
        self.longest, self.heard = [0.0] * len(longest), [now] * len(longest)
        return longest


class Slow(Sockets):
    """Many slow connections. Each is slow in one of four ways."""

    PER_ADDRESS = 400

    def __init__(self, service, count):
        super().__init__()
        self.closed = 0
        self.alive = set()
        forms = [(b"GET / HTTP/1.1\r\nHost: x\r\n", b"x: y\r\n"),
                 (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", b"x"),
                 (f"GET {EVENTS}?format=geojson&limit=20000 HTTP/1.1\r\nHost: x\r\n\r\n".encode(), None),
                 (b"", None)]
        self.pieces = []
        for number in range(count):
            client = socket.socket()
            # The small buffer keeps unread responses from being stored on the client's side.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 10)
            address = number // self.PER_ADDRESS
            client.bind((f"127.1.{address // 250}.{address % 250 + 2}", 0))
            begin, piece = forms[number % len(forms)]
            try:
                client.connect(("127.0.0.1", service.port))
                client.sendall(begin)
            except OSError:
                self.closed += 1
            client.setblocking(False)
            self.sockets.append(client)
            self.alive.add(number)
            self.pieces.append(piece)

    def drip(self, seconds):
        """Sends or reads one byte on each connection, once a second."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for number in list(self.alive):
                try:
                    if self.pieces[number] is None:
                        is_gone = self.sockets[number].recv(1) == b""
                    else:
                        is_gone = self.sockets[number].send(self.pieces[number][:1]) == 0
                except BlockingIOError:
                    continue
                except OSError:
                    is_gone = True
                if is_gone:
                    self.closed += 1
                    self.alive.remove(number)
            time.sleep(1)


def whole(url):
    urllib.request.urlopen(url, timeout=300).read()


def up_to_position(url):
    """Reads a stream of changes up to its first position."""
    with urllib.request.urlopen(url, timeout=300) as answer:
        text = b""
        while not Clients.TOKEN.search(text) and (piece := answer.read1(1 << 20)):
            text += piece


class Others:
    """A client in a separate process that repeats short requests, and records how long each took."""

    def __init__(self, service, paths, ask=whole):
        self.ask, self.url = ask, service.url
        self.over, self.results = multiprocessing.Event(), multiprocessing.SimpleQueue()
        self.process = multiprocessing.Process(target=self.run, args=(paths,), daemon=True)
        self.process.start()

    def run(self, paths):
        self.waits, self.refused = {path: [] for path in paths}, 0
        threads = [threading.Thread(target=self.repeat, args=(path,)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.results.put((self.waits, self.refused))

    def repeat(self, path):
        number = 0
        while not self.over.is_set():
            number += 1
            start = time.monotonic()
            try:
                self.ask(self.url + path.format(number=number / 1000))
            except OSError:
                self.refused += 1
            self.waits[path].append(time.monotonic() - start)
            time.sleep(0.02)

    def end(self):
        """Ends the client. Returns the longest wait for each path."""
        self.over.set()
        self.waits, self.refused = self.results.get()
        self.process.join()
        self.count = sum(map(len, self.waits.values()))
        return {path: max(waits) for path, waits in self.waits.items()}


if __name__ == "__main__":
    main()
