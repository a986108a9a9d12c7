"""The programs that use a cluster while its machines fail: psql and the programs of quakes, with the times at which each made
progress."""

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
import subprocess
import threading
import time

from cluster import QUAKES, token_of
from programs import Stream, fail, tail

WRITES_EVERY = 0.5  # seconds
POOL = 300  # events of the feed


class Pulse:
    """The moments at which a program made progress."""

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
        """The longest time without progress from `start` to `end`. The time that the program had already waited at `start`
        counts, too."""
        beats = [beat for beat in list(self.beats) if beat < end]
        before = [beat for beat in beats if beat <= start][-1:] or [start]
        moments = before + [beat for beat in beats if beat > start] + [end]
        return max(later - earlier for earlier, later in zip(moments, moments[1:]))


class Feed(http.server.ThreadingHTTPServer):
    """A feed that revises some events for each request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), RevisedFeed)
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


class RevisedFeed(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.document()
        with contextlib.suppress(BrokenPipeError):  # the daemon was cut off
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Known:
    """Writes one row after another with psql, each in a new process, as a person or a script would."""

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
                # Without a time limit, psql would wait for a frozen server forever.
                done = subprocess.run(["psql", self.url, "-qAtX", "-c", statement], timeout=8, capture_output=True)
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0:
                self.pulse.beat()
                # The server may warn that the commit might not have been replicated.
                self.warned += (is_warned := b"WARNING" in done.stderr)
                if not is_warned:
                    self.confirmed[f"q9w{number}"] = time.strftime("%T")


class Standby:
    """Keeps reading the current token of a standby with psql. Followers of that standby cannot be ahead of the standby."""

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
            # The connection may reach another standby that is further behind.
            if done.returncode == 0 and int(done.stdout) > self.pulse.token:
                self.pulse.reach(int(done.stdout))


class Program:
    """A quakes program that must keep running until it is ended."""

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
    """A client that follows /changes, and resumes from its last position after a lost connection."""

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
                # On an idle stream, the server sends a heartbeat after 15 to 20 s.
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
        """Takes one event. The events of a pass are applied when its position arrives."""
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
    """`quakes serve` with clients of /changes, and a client that keeps sending different queries."""

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
