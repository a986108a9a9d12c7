"""Measures how soon many live HTTP clients get a commit, compared with nginx and nchan. Run it with follow.py --http.

live_clients.c is a single process with all clients. The latency runs from a commit until a client gets the event with the
commit's position. It is measured for each transaction and each client. Two servers are measured in turn. One is `quakes serve`.
The other is nginx with its module nchan, a hub for Server-Sent Events; barest_publisher.c sends it the lines that `quakes serve`
would send. nginx and nchan are Debian's packages nginx and libnginx-mod-nchan; without them, only `quakes serve` is measured.

The memory per client is the growth of the servers' memory (PSS) once all clients are connected, divided by the number of clients.
"""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time

import goals
from cluster import QUAKES, Cluster, free_port, medians, print_table, tree_cpu
from writer import Writer

OURS, NCHAN = KINDS = ["quakes serve", "nginx with nchan"]
FIGURES = ["p50", "p90", "p99", "max", "cpu", "kilobytes"]
MODULE = "/usr/lib/nginx/modules/ngx_nchan_module.so"


def measure(options):
    """Measures all rounds, and prints the results."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kinds = KINDS
    if not (shutil.which("nginx") and os.path.exists(MODULE)):
        print("without nginx and nchan (apt-get install nginx libnginx-mod-nchan), there is nothing to compare with",
              file=sys.stderr)
        kinds = [OURS]

    rounds = {kind: [] for kind in kinds}
    with Cluster() as cluster:
        cluster.load(cluster.sample(options.events))
        bench = Bench(cluster, options)
        for turn in range(options.rounds):
            for kind in kinds if turn % 2 == 0 else reversed(kinds):
                rounds[kind].append(bench.measure(kind))
    results = {kind: medians(figures) for kind, figures in rounds.items()}
    if NCHAN in results:
        results["ratio"] = medians([{name: ours[name] / theirs[name] for name in FIGURES}
                                    for ours, theirs in zip(rounds[OURS], rounds[NCHAN])])
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print_results(results, options)
    if NCHAN in results:
        goals.tell([goals.at_most(
            f"{options.followers} live clients: p99 / p99 of nginx with nchan", results["ratio"]["p99"], 0.5)],
            prints=not options.json)


def print_results(results, options):
    print(f"{options.followers} clients, {options.rate:g} commits/s of {options.rows} changes")
    print_table(("from commit to event", "p50 ms", "p90 ms", "p99 ms", "max ms", "CPU s", "kB each"),
                *((kind, *(figures[name] for name in FIGURES)) for kind, figures in results.items()))


class Bench:
    def __init__(self, cluster, options):
        self.cluster = cluster
        self.options = options
        self.clients = cluster.compile("live_clients.c", "pthread")
        self.publisher = cluster.compile("barest_publisher.c", "pq")
        self.codes = cluster.sql("select code from quake").splitlines()
        Writer(cluster.url).write(self.codes, options, count=100, rate=200)
        cluster.sql("vacuum analyze")

    def measure(self, kind):
        port = free_port()
        servers = self.start(kind, port)
        try:
            wait_for(port)
            before = memory(servers)
            path = "/changes?after=now" if kind == OURS else "/sub"
            clients = subprocess.Popen([self.clients, str(port), path, str(self.options.followers)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            expect(clients, "ready")
            kilobytes = (memory(servers) - before) / self.options.followers
            clients.stdin.write("go\n")
            clients.stdin.flush()
            expect(clients, "counting")
            cpu = cpu_of(servers)
            commits = Writer(self.cluster.url).write(
                self.codes, self.options, count=int(self.options.seconds * self.options.rate), rate=self.options.rate)
            lines = "".join(f"{token} {moment}\n" for token, moment in commits.items())
            figures, _ = clients.communicate(lines + "\n", timeout=120)
            p50, p90, p99, largest, _ = map(float, figures.split())
            return {"p50": p50, "p90": p90, "p99": p99, "max": largest, "cpu": cpu_of(servers) - cpu,
                    "kilobytes": kilobytes}
        finally:
            for server in servers:
                server.terminate()
                server.wait()

    def start(self, kind, port):
        if kind == OURS:
            return [subprocess.Popen([QUAKES, "serve", "--listen", f"127.0.0.1:{port}", "--database", self.cluster.url],
                                     env=self.cluster.env, stderr=subprocess.DEVNULL)]
        with open(f"{self.cluster.home}/nginx.conf", "w") as file:
            file.write(f"""
                load_module {MODULE};
                daemon off; user root; worker_processes auto; pid {self.cluster.home}/nginx.pid;
                worker_rlimit_nofile 65536; error_log {self.cluster.home}/nginx.log error;
                events {{ worker_connections 20000; }}
                http {{
                    access_log off; client_body_temp_path {self.cluster.home}/body; client_body_buffer_size 1m;
                    client_max_body_size 16m; keepalive_requests 1000000; nchan_shared_memory_size 256m;
                    server {{
                        listen 127.0.0.1:{port} backlog=1024;
                        location = /sub {{ nchan_subscriber eventsource; nchan_channel_id changes;
                                           nchan_subscriber_first_message newest; }}
                        location = /pub {{ nchan_publisher http; nchan_channel_id changes; nchan_message_buffer_length 100; }}
                        location = /ping {{ return 204; }}
                    }}
                }}""")
        nginx = subprocess.Popen(["nginx", "-c", f"{self.cluster.home}/nginx.conf"])
        wait_for(port)
        publisher = subprocess.Popen([self.publisher, self.cluster.url, str(port), "/pub"], text=True,
                                     stdout=subprocess.PIPE)
        expect(publisher, "ready")
        return [publisher, nginx]


def expect(process, word):
    line = process.stdout.readline().strip()
    if line != word:
        sys.exit(f"{process.args[0]} printed {line!r} instead of {word!r}")


def wait_for(port):
    """Waits until the server answers."""
    for _ in range(200):
        try:
            with socket.create_connection(("127.0.0.1", port)) as probe:
                probe.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
                if probe.recv(20).split()[1:2] in ([b"200"], [b"404"]):
                    return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("the server does not answer")


def processes(servers):
    """The servers and their children."""
    found = [server.pid for server in servers]
    for pid in found:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            found += map(int, file.read().split())
    return found


def cpu_of(servers):
    """The CPU seconds of the servers so far."""
    return sum(tree_cpu(server.pid) for server in servers)


def memory(servers):
    """The memory of the servers in kB (PSS)."""
    total = 0
    for pid in processes(servers):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total

