#!/usr/bin/env python3
"""Measures `quakes serve`: long responses, short responses, and memory.

Long responses: 20,000 events in each format, read with curl, compared with psql's COPY TO STDOUT of the same rows and of the
columns that the format contains. CPU is the total of the programs and PostgreSQL.

Short responses, with wrk over 16 connections: 20 events as GeoJSON, for one repeated query and for queries that all differ. They
are compared with a typical service (plain_service.py: FastAPI, psycopg and orjson under uvicorn, with a worker for each core),
and with nginx serving the same bytes as a file, which is the upper limit. The repeated query is also measured with an entity tag,
which Quakes and nginx answer with 304. wrk itself needs CPU time, which makes fast servers look slower than they are. So the CPU
time per request of the server and PostgreSQL is shown as well.

Memory is the server's peak (VmHWM). It is measured with 200 concurrent clients that each read 20,000 events, half of them slowly.
It is also measured with one client that reads 1,000,000 events as GeoJSON, CSV or XML, and compared with the peak for 10,000
events.

The speed is measured in rounds, each with all programs in turn, and the memory is measured once. The figures are medians over the
rounds. Each ratio is computed within one round; the smallest and the largest are shown as well. The database is a private cluster
that exists only during the run. curl is required. Without wrk (a Debian package, like nginx), short responses are not measured;
without nginx, or without fastapi, psycopg[pool], orjson and uvicorn, the comparison that needs them is left out.

    Benchmarks/Speed/serve.py [--events N] [--many N] [--clients N] [--repeat R] [--seconds S] [--json]
"""

import argparse
import contextlib
import importlib.util
import json
import os
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

import goals
from cluster import HERE, QUAKES, Cluster, free_port, has, postgres_cpu, print_table, tree_cpu

FORMATS = {
    "geojson": "magnitude, place, time, updated, tz, url, detail, felt, cdi, mmi, alert, status, tsunami, sig, net, net_code,"
               " ids, sources, types, nst, dmin, rms, gap, magnitude_type, type, title, extra, longitude, latitude, depth,"
               " code",
    "csv": "time, latitude, longitude, depth, magnitude, magnitude_type, nst, gap, dmin, rms, net, code, updated, place,"
           " type, status",
    "xml": "code, net, time, updated, latitude, longitude, url, place, type, status, magnitude_type, depth, magnitude,"
           " nst, rms, gap, dmin",
    "text": "code, time, latitude, longitude, depth, net, magnitude_type, magnitude, place, type",
}
EVENTS = "/fdsnws/event/1/query"
SHORT = "starttime=2020-01-01&endtime=2025-12-20T00:00:00&minmagnitude=1&limit=20"
ONE, ALL = "one query", "queries that differ"
TAGGED = "304"
# Each request of this wrk script has a random end time.
DIFFERENT = """
local prefix
function init(arguments) prefix = arguments[1]; math.randomseed(os.time()) end
function request()
    local n = math.random(0, 10 * 86400)
    local time = string.format("2025-12-%02dT%02d:%02d:%02d", 10 + n / 86400, n / 3600 % 24, n / 60 % 60, n % 60)
    return wrk.format("GET", prefix .. "starttime=2020-01-01&endtime=" .. time .. "&minmagnitude=1&limit=20")
end
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="seconds of each wrk run")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Cluster() as cluster:
        cluster.load(cluster.sample(options.events))
        cluster.sql("vacuum freeze analyze quake")
        results = {"load average": os.getloadavg()[0]}
        results["long"] = measure_long(cluster, options)
        has_wrk = has("short responses", "wrk", shutil.which("wrk"))
        results["short"] = measure_short(cluster, options) if has_wrk else []
        results["peak MB"] = {f"{options.clients} clients": measure_clients(cluster, options)}
        cluster.load(cluster.sample(options.many))
        cluster.sql("vacuum freeze analyze quake")
        for form in ("geojson", "csv", "xml"):
            for count in (10_000, options.many):
                results["peak MB"][f"{count} events as {form}"] = measure_many(cluster, form, count, options)
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print_results(results, options)
    goals.tell(goals_of(results, options), prints=not options.json)


# MARK: programs

class Service:
    """A server that runs during a `with` block."""

    def __init__(self, command, port, path="/", **options):
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        end = time.monotonic() + 30
        while True:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(self.url + path).close()
                return
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(f"{command[0]} does not answer")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def cpu(self):
        """The CPU seconds of the program and its children so far."""
        return tree_cpu(self.process.pid)

    def peak(self):
        """The peak memory of the program in MB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def quakes(cluster, *arguments):
    port = free_port()
    return Service([QUAKES, "serve", "--database", cluster.url, "--listen", f"127.0.0.1:{port}", *arguments], port,
                   "/health", env=cluster.env)


def plain_service(cluster):
    port = free_port()
    return Service([sys.executable, "-m", "uvicorn", "plain_service:app", "--port", str(port), "--workers",
                    str(os.cpu_count()), "--no-access-log", "--log-level", "warning"], port, f"/query?{SHORT}", cwd=HERE,
                   env=os.environ | {"DATABASE_URL": cluster.url})


def nginx(cluster, body):
    port, folder = free_port(), f"{cluster.home}/nginx"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/short.json", "wb") as file:
        file.write(body)
    os.chmod(folder, 0o755)
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(f"""daemon off; worker_processes auto; pid {folder}/pid; error_log {folder}/error.log;
            events {{}} http {{ access_log off; keepalive_requests 1000000000; types {{ application/json json; }}
            server {{ listen 127.0.0.1:{port}; root {folder}; }} }}""")
    return Service(["nginx", "-p", folder, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"], port, "/short.json")


class Stopwatch:
    """The wall time of a block, and the CPU time of PostgreSQL and a server in it, in seconds."""

    def __init__(self, cluster, service=None):
        self.cpu = lambda: postgres_cpu(cluster.env['QUAKES_HOME']) + (service.cpu() if service else 0)

    def __enter__(self):
        self.start = time.monotonic(), self.cpu()
        return self

    def __exit__(self, *_):
        wall, cpu = self.start
        self.figures = {"wall": time.monotonic() - wall, "cpu": self.cpu() - cpu}


# MARK: measurements

def measure_long(cluster, options):
    """Measures the time to read all events in each format, relative to COPY."""
    with quakes(cluster, "--max-events", str(options.events)) as service, open(os.devnull, "wb") as nothing:
        def read(form):
            url = f"{service.url}{EVENTS}?format={form}"
            subprocess.run(["curl", "-sf", url], stdout=nothing, check=True)

        def copy(form):
            order = "order by time desc, code collate \"C\""
            subprocess.run(["psql", cluster.url, "-qXc", f"copy (select {FORMATS[form]} from quake {order}) to stdout"],
                           stdout=nothing, check=True, env=cluster.env)

        rounds = {form: [] for form in FORMATS}
        for turn in range(options.repeat + 1):
            for form, figures in rounds.items():
                each = {}
                for name, act in [("quakes", read), ("copy", copy)]:
                    with Stopwatch(cluster, service) as watch:
                        before = os.times()
                        for _ in range(5):
                            act(form)
                        after = os.times()
                    watch.figures["cpu"] += sum(after[2:4]) - sum(before[2:4])
                    each[name] = {key: value / 5 for key, value in watch.figures.items()}
                if turn:  # the first round warms up
                    figures.append(each)
    return {form: {"seconds": statistics.median(each["quakes"]["wall"] for each in figures),
                   **{key: spread(each["quakes"][key] / each["copy"][key] for each in figures)
                      for key in ("wall", "cpu")}}
            for form, figures in rounds.items()}


def measure_short(cluster, options):
    """Measures requests per second, and the CPU time of a request."""
    script = f"{cluster.home}/different.lua"
    with open(script, "w") as file:
        file.write(DIFFERENT)
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(quakes(cluster))
        short = f"{own.url}{EVENTS}?format=geojson&{SHORT}"
        body, tag = get(short)
        asked = {(ONE, "quakes"): (own, [short]), (TAGGED, "quakes"): (own, ["-H", f"If-None-Match: {tag}", short]),
                 (ALL, "quakes"): (own, ["-s", script, own.url, "--", f"{EVENTS}?format=geojson&"])}
        if has("FastAPI", "fastapi, psycopg[pool], orjson or uvicorn",
               all(map(importlib.util.find_spec, ("fastapi", "psycopg_pool", "orjson", "uvicorn")))):
            other = stack.enter_context(plain_service(cluster))
            asked[ONE, "FastAPI"] = (other, [f"{other.url}/query?{SHORT}"])
            asked[ALL, "FastAPI"] = (other, ["-s", script, other.url, "--", "/query?"])
        if has("nginx", "nginx", shutil.which("nginx")):
            other = stack.enter_context(nginx(cluster, body))
            file = f"{other.url}/short.json"
            asked[ONE, "nginx"] = (other, [file])
            asked[TAGGED, "nginx"] = (other, ["-H", f"If-None-Match: {get(file)[1]}", file])
        rounds = []
        for turn in range(options.repeat + 1):
            figures = {key: ask(cluster, service, arguments, options.seconds if turn else 1)
                       for key, (service, arguments) in asked.items()}
            if turn:
                rounds.append(figures)
    return [{"asked": what, "by": by, "bytes": len(body),
             "rate": statistics.median(each[what, by]["rate"] for each in rounds),
             "cpu": statistics.median(each[what, by]["cpu"] for each in rounds),
             "ratio": spread(each[what, "quakes"]["rate"] / each[what, by]["rate"] for each in rounds),
             "cpu ratio": spread(each[what, by]["cpu"] / each[what, "quakes"]["cpu"] for each in rounds)}
            for what, by in sorted(asked, key=lambda key: ([ONE, ALL, TAGGED].index(key[0]), key[1] != "quakes"))]


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read(), answer.headers["ETag"]


def ask(cluster, service, arguments, seconds):
    with Stopwatch(cluster, service) as watch:
        output = subprocess.check_output(["wrk", "-t1", "-c16", f"-d{seconds}", *arguments], text=True)
    if "Non-2xx" in output and "If-None-Match" not in str(arguments):
        sys.exit(f"{service.url} refuses some requests:\n{output}")
    count = int(next(line.split()[0] for line in output.splitlines() if "requests in" in line))
    return {"rate": count / seconds, "cpu": watch.figures["cpu"] / count * 1e6}


def measure_clients(cluster, options):
    """The server's peak memory while many clients read long responses at once, half of them slowly."""
    with quakes(cluster, "--max-events", str(options.events)) as service:
        host, port = service.url.removeprefix("http://").split(":")
        request = f"GET {EVENTS}?format=geojson HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        selector, slow, ends = selectors.DefaultSelector(), [], {}
        for number in range(options.clients):
            client = socket.create_connection((host, int(port)))
            client.sendall(request)
            client.setblocking(False)
            ends[client] = b""
            slow.append(client) if number % 2 else selector.register(client, selectors.EVENT_READ)
        buffer = bytearray(256 << 10)
        next_turn = time.monotonic()
        while selector.get_map() or slow:
            for key, _ in selector.select(0.05):
                if read_some(key.fileobj, memoryview(buffer), ends):
                    selector.unregister(key.fileobj)
            # Reads 128 KiB each tenth of a second, so 20,000 events take twelve seconds.
            if time.monotonic() >= next_turn:
                next_turn += 0.1
                slow = [client for client in slow if not read_some(client, memoryview(buffer)[:128 << 10], ends)]
        if set(ends.values()) != {b"0\r\n\r\n"}:
            sys.exit("some clients did not get the whole response")
        return service.peak()


def read_some(client, buffer, ends):
    """Reads the available bytes, and keeps the last five. Returns whether the response has ended."""
    try:
        count = client.recv_into(buffer)
    except BlockingIOError:
        return False
    ends[client] = (ends[client] + bytes(buffer[max(0, count - 5):count]))[-5:]
    if not count:
        client.close()
    return not count


def measure_many(cluster, form, count, options):
    """The peak memory of a new server after one response of `--many` events, or after three responses with fewer events."""
    with quakes(cluster, "--max-events", str(options.many)) as service:
        for _ in range(3 if count < options.many else 1):
            subprocess.run(["curl", "-sf", f"{service.url}{EVENTS}?format={form}&limit={count}"],
                           stdout=subprocess.DEVNULL, check=True)
        return service.peak()


# MARK: results

def spread(values):
    values = sorted(values)
    return {"median": statistics.median(values), "least": values[0], "greatest": values[-1]}


def text(spread):
    return f"{spread['median']:.2f} ({spread['least']:.2f}–{spread['greatest']:.2f})"


def print_results(results, options):
    print(f"load average before the measurements: {results['load average']:.1f}\n")
    print_table((f"{options.events} events", "ms", "wall / COPY", "CPU / COPY"),
                *((form, each["seconds"] * 1000, text(each["wall"]), text(each["cpu"]))
                  for form, each in results["long"].items()))
    if results["short"]:
        print()
        print_table(("short responses", "by", "requests/s", "rate: quakes / program", "CPU µs each",
                     "CPU: program / quakes"),
                    *((each["asked"], each["by"], round(each["rate"]), text(each["ratio"]), round(each["cpu"]),
                       text(each["cpu ratio"])) for each in results["short"]))
    print()
    print_table(("memory", "peak MB"), *results["peak MB"].items())


def goals_of(results, options):
    for form, limit in ("geojson", 1), ("csv", 1), ("xml", 1.5):
        yield goals.at_most(
            f"{options.events} events over HTTP as {form} / COPY", results["long"][form]["wall"]["median"], limit)
    for each in results["short"]:
        if each["by"] == "FastAPI":
            yield goals.at_least(f"{each['asked']}: requests/s / FastAPI's", each["ratio"]["median"],
                                 {ONE: 6, ALL: 1.5}[each["asked"]])
    peaks = results["peak MB"]
    yield goals.at_most(f"peak MB of quakes serve with {options.clients} clients", peaks[f"{options.clients} clients"], 64)
    for form in ("geojson", "csv", "xml"):
        yield goals.at_most(
            f"peak MB of {options.many} / 10000 events as {form}",
            peaks[f"{options.many} events as {form}"] / peaks[f"10000 events as {form}"], 1.1)


if __name__ == "__main__":
    main()
