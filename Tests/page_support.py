"""The environment for the checks of the live page: server, database, proxies that disturb requests, and the page in a browser."""

import http.server
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

QUAKES, AXE = sys.argv[1:3]
DATABASE = os.environ["DATABASE_URL"]
PSQL = os.environ.get("PSQL", "psql")


class Server:
    """`quakes serve`. After a restart, it listens on the same port."""

    def __init__(self, *options):
        self.options = options
        self.port = 0
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [QUAKES, "serve", "--listen", f"127.0.0.1:{self.port}", *self.options], stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"serving http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise RuntimeError(f"quakes serve did not start: {''.join(lines)}")
        # Reads the rest of the server's log, because the server would block if the pipe were full.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class CuttableProxy:
    """A proxy in front of the server, during a `with` block. While it is cut, it loses all bytes, but its connections stay open."""

    def __init__(self, port):
        self.target = port
        self.is_cut = False
        self.over = threading.Event()
        self.silenced = set()
        self.streams = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def silence_streams(self):
        """Stops forwarding the streams that are open now, without closing them."""
        self.silenced |= self.streams

    def relay(self, client):
        # A connection that is open while the proxy is cut stays dead.
        with client:
            if self.is_cut:
                self.over.wait()
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                while not self.over.is_set():
                    ready, _, _ = select.select([client, server], [], [], 0.05)
                    if self.is_cut or client in self.silenced:
                        self.over.wait()
                        return
                    for source in ready:
                        data = source.recv(65536)
                        if source is client and b"/changes?" in data:
                            self.streams.add(client)
                        if not data:
                            return
                        (server if source is client else client).sendall(data)


class RefusingProxy:
    """A proxy in front of the server that answers 429 to the first requests for some of the page's files."""

    def __init__(self, port, names, times):
        self.left = {name: times for name in names}
        refusal = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.split("?")[0].rpartition("/")[2]
                if refusal.left.get(name, 0) > 0:
                    refusal.left[name] -= 1
                    return self.send_error(429)
                request = urllib.request.Request(f"http://127.0.0.1:{port}{self.path}")
                for field in "Accept", "Last-Event-ID":
                    if field in self.headers:
                        request.add_header(field, self.headers[field])
                with urllib.request.urlopen(request) as answer:
                    self.send_response(answer.status)
                    for field in "Content-Type", "Quakes-Position", "Content-Security-Policy":
                        if field in answer.headers:
                            self.send_header(field, answer.headers[field])
                    self.end_headers()
                    try:
                        while data := answer.read1(65536):
                            self.wfile.write(data)
                            self.wfile.flush()
                    except OSError:
                        pass  # the page has closed the connection

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()


def site(text):
    """Serves this text as the only page of another site, and returns its URL."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"


def sql(statement, **values):
    variables = [f"--set={name}={value}" for name, value in values.items()]
    result = subprocess.run(
        [PSQL, "--no-psqlrc", "-qAt", "--set=ON_ERROR_STOP=1", *variables, DATABASE], input=statement, text=True,
        capture_output=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return result.stdout.strip()


def allow_connections(are_allowed):
    """Allows connections to the database, or refuses new ones and ends the existing ones."""
    name = urllib.parse.urlparse(DATABASE).path[1:]
    elsewhere = DATABASE.replace(f"/{name}", "/postgres", 1)
    statements = [f'alter database "{name}" allow_connections {str(are_allowed).lower()}']
    if not are_allowed:
        statements.append(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
    for statement in statements:
        subprocess.run([PSQL, "--no-psqlrc", "-qAtc", statement, elsewhere], check=True, capture_output=True)


def put(code, magnitude=4.1, place="a place", minutes=5, longitude=10, latitude=20, **more):
    """Commits an event, as another program would. `more` has the values of further columns."""
    columns = "".join(f", {name}" for name in more)
    values = "".join(f", :'{name}'" for name in more)
    sql(f"""insert into quake (code, net, net_code, magnitude, place, time, updated, longitude, latitude, depth{columns})
            values (:'code', 'q9', substr(:'code', 3), :magnitude, :'place', now() - :'minutes' * interval '1 minute', now(),
                    :longitude, :latitude, 12{values})
            on conflict (code) do update set magnitude = excluded.magnitude, place = excluded.place, updated = now()""",
        code=code, magnitude=magnitude, place=place, minutes=minutes, longitude=longitude, latitude=latitude, **more)


def just_now():
    """The present time, in the format that links use."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def drop(*codes):
    """Deletes events, so that the next check starts with the original catalogue."""
    for code in codes:
        sql("delete from quake where code = :'code'", code=code)


def load(document):
    with tempfile.NamedTemporaryFile("w", suffix=".geojson") as file:
        file.write(document if isinstance(document, str) else json.dumps(document))
        file.flush()
        subprocess.run([QUAKES, "import", file.name], check=True, capture_output=True)


def without_expiring_events(document):
    """Leaves out events that may leave one of the page's periods during the checks, because counts would change. A period begins at
    a full minute, so an event that is up to 60 s too old may still be in it."""
    def leaves(feature):
        return any(-60 <= feature["properties"]["time"] / 1000 - (time.time() - days * 86400) < 7200 for days in (1, 7, 30))

    return document | {"features": [feature for feature in document["features"] if not leaves(feature)]}


def expect(condition, words):
    if not condition:
        raise AssertionError(words)


class Page:
    """The page in a browser."""

    def __init__(self, browser, server):
        self.browser = browser
        self.server = server

    def open(self, query="", port=None):
        url = f"http://127.0.0.1:{port or self.server.port}/{query}"

        def is_ready():
            if self.browser.run("return document.getElementById('state')?.dataset.state") in ("live", "late", "past", "off"):
                return True
            if self.browser.was_interrupted():
                self.browser.open(url)
            return False
        self.browser.open(url)
        try:
            self.browser.wait("the page to be ready", is_ready)
        except TimeoutError as error:
            words = [self.browser.text(part) for part in ("#state", "#warnings", "html")]
            raise TimeoutError(f"{error}: {self.browser.url} shows {[word and word[:300] for word in words]}") from None
        self.browser.wait("the list", lambda: self.browser.text("#count") != "Earthquakes")

    def state(self):
        return self.browser.run("return document.getElementById('state').dataset.state")

    def wait_for_state(self, *states):
        self.browser.wait(f"a state in {states}", lambda: self.state() in states)

    def row(self, code):
        """The text of an event's row; None if the row is not in view."""
        return self.browser.text(f".row[data-code='{code}']")

    def wait_for_row(self, code, *words):
        """Waits until the event's row contains these words."""
        return self.browser.wait(
            f"the row of {code} with {words}",
            lambda: (row := self.row(code)) is not None and all(word in row for word in words) and row)

    def count(self):
        """The number of listed events, including those that are not earthquakes."""
        return sum(int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", self.browser.text("#count").split(", the newest")[0]))

    def wait_for_count(self, number):
        self.browser.wait(f"{number} listed events", lambda: self.count() == number)

    def choose(self, name, value):
        self.browser.run("document.querySelector(`[name=${arguments[0]}][value='${arguments[1]}']`).click()", name, value)

    def query(self):
        return urllib.parse.parse_qs(urllib.parse.urlparse(self.browser.url).query)

    def wait_for_warning(self, words):
        self.browser.wait(f"a warning: {words}", lambda: words in (self.browser.text("#warnings") or ""))

    def wait_for_no_warning(self):
        self.browser.wait("no warning", lambda: self.browser.text("#warnings") == "")
