"""The unreliable environment of the soak test: a server of two feeds that often fails, a proxy in front of the database that
stalls and cuts connections, and a clock that jumps.
"""

import glob
import http.server
import json
import os
import random
import select
import socket
import subprocess
import threading
import time

POOL = 300  # events that a feed chooses from
SHARED = 60  # the number of these events that the other feed has, too


class Feeds(http.server.ThreadingHTTPServer):
    """A server of two feeds. The document at /summary/all_hour.geojson names its summary feed, so an import deletes events that
    the document no longer lists. The document at /other names no feed, so an import of it deletes nothing.

    In each response, some events are revised, new or missing. Until `calm` is set, about every third response is a fault.
    """

    daemon_threads = True

    def __init__(self, seed):
        super().__init__(("127.0.0.1", 0), Answer)
        self.calm = threading.Event()
        self.lock = threading.Lock()
        self.chance = random.Random(seed)
        self.updated = {}
        self.answers = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.sources = [f"http://127.0.0.1:{self.server_port}{path}" for path in ["/summary/all_hour.geojson", "/other"]]

    def document(self, path):
        """The current document of the feed at `path`. After `calm` was set, its events no longer change."""
        now = int(time.time() * 1000)
        with self.lock:
            settles = path.startswith("/summary/")
            first = 0 if settles else POOL - SHARED
            codes = range(first, first + POOL)
            if not self.calm.is_set():
                for code in self.chance.sample(codes, POOL // 10):
                    # An import does not delete an event that was revised less than 5 minutes before the document was made.
                    self.updated[code] = now - 600_000
                codes = [code for code in codes if self.chance.random() < 0.98]
            # The feeds are different services, so one may have events that the other lacks.
            host = "127.0.0.1" if settles else "other.example"
            features = [self.feature(code, host, now) for code in codes]
            document = {"type": "FeatureCollection", "features": features}
            if settles:
                document["metadata"] = {"generated": now, "url": self.sources[0], "title": "USGS All Earthquakes, Past Hour"}
            return json.dumps(document).encode()

    def feature(self, code, host, now):
        updated = self.updated.setdefault(code, now - 600_000)
        return {"type": "Feature", "id": f"q0{code}",
                "geometry": {"type": "Point", "coordinates": [code % 360 - 180, code % 180 - 90, updated % 70_000 / 100]},
                "properties": {"mag": updated % 83 / 10, "place": f"{updated % 500} km from “here”",
                               "time": updated - 600_000, "updated": updated, "net": "q0", "code": str(code), "ids": f",q0{code},", "tsunami": code % 2,
                               "url": f"http://{host}/event/q0{code}", "sig": updated % 1000, "title": "M", "type": "earthquake",
                               "novel": {"of": [updated, None, "\\ \" \t"]}}}

    def fault(self):
        """The fault of the next response, or None."""
        with self.lock:
            self.answers += 1
            if self.calm.is_set() or self.chance.random() < 0.65:
                return None
            return self.chance.choice(["busy", "error", "gone", "cut", "reset", "stalled", "slow", "broken", "html"])


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        fault, body = self.server.fault(), self.server.document(self.path)
        status, headers = 200, {}
        if fault == "busy":
            status, headers, body = 503, {"retry-after": "1"}, b""
        elif fault == "error":
            status, body = 500, b"oops"
        elif fault == "gone":
            status, body = 404, b"not here"
        elif fault == "broken":
            body = body[:len(body) // 2] + b"}]" + body[len(body) // 2:]
        elif fault == "html":
            body = b"<html>Under maintenance</html>"
        elif fault == "reset":
            # With a linger time of 0, closing the connection resets it.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if fault in ("cut", "stalled"):
            self.wfile.write(body[:len(body) // 2])
            time.sleep(8 if fault == "stalled" else 0)
            self.close_connection = True
        elif fault == "slow":
            for start in range(0, len(body), 8192):
                self.wfile.write(body[start:start + 8192])
                time.sleep(0.05)
        else:
            self.wfile.write(body)

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the client was killed

    def log_message(self, *_):
        pass


class Proxy:
    """Listens on a Unix socket, and relays connections to the server's socket. The proxy can cut the connections, or silence
    them, which neither side notices."""

    def __init__(self, directory, server):
        self.directory, self.server = directory, f"{server}/.s.PGSQL.5432"
        self.silent = set()
        self.pairs = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{directory}/.s.PGSQL.5432")
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def silence(self):
        """Drops all further data on the open connections. New connections work."""
        self.silent.update(self.pairs)

    def cut(self):
        for pair in list(self.pairs):
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the connection has ended

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.server)
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            threading.Thread(target=self.relay, args=[(client, server)], daemon=True).start()

    def relay(self, pair):
        other = {pair[0]: pair[1], pair[1]: pair[0]}
        try:
            while True:
                for end in select.select(pair, [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    if pair not in self.silent:
                        other[end].sendall(data)
        except OSError:
            pass
        finally:
            self.pairs.remove(pair)
            self.silent.discard(pair)
            for end in pair:
                end.close()


class Clock:
    """A clock for some programs, which can jump. It needs libfaketime (Debian: apt-get install faketime)."""

    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)

    def __init__(self, path):
        self.path = path
        if self.library:
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "true_timers.c")
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", f"{path}.so", source], check=True)
        self.set(0)

    def set(self, seconds):
        """Sets how many seconds the clock is ahead of the true time."""
        with open(f"{self.path}.new", "w") as file:
            file.write(f"{seconds:+d}\n")
        os.chmod(f"{self.path}.new", 0o644)
        os.replace(f"{self.path}.new", self.path)

    def command(self, *command):
        """The command that runs a program with this clock. Only the time of day jumps; a monotonic clock never does.

        A shell starts the program, because the library changes the environment of the first program that loads it. A Swift
        program would then not find its arguments.
        """
        if not self.library:
            return [*command]
        return ["env", f"LD_PRELOAD={self.path}.so:{self.library}", f"FAKETIME_TIMESTAMP_FILE={self.path}", "FAKETIME_NO_CACHE=1",
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "sh", "-c", 'exec "$0" "$@"', *command]

    @staticmethod
    def leftovers():
        """The files that the library leaves behind if a program is killed."""
        return set(glob.glob("/dev/shm/*faketime_*"))
