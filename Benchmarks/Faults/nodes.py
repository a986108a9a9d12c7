"""Simulates three machines in network namespaces, each with etcd, Patroni and PostgreSQL, and haproxy in front of them.

It uses the configuration in deploy/patroni. It needs root, and Debian's packages patroni, etcd-server, etcd-client, haproxy,
iproute2 and postgresql-15.
"""

import contextlib
import functools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from cluster import HERE

DEPLOY = f"{HERE}/../../deploy/patroni"
NETWORK = "10.77.0"
BRIDGE = "quakes-fo"
# Patroni's settings in seconds: the length of a leader's lease, and the safety margin. If the leader does not renew its lease,
# the watchdog resets its machine SAFETY_MARGIN seconds before the lease ends.
TTL, SAFETY_MARGIN = 10, 5


class Node:
    """One machine: a network namespace and the programs in it."""

    def __init__(self, number, home, environment):
        self.number, self.home = number, f"{home}/{number}"
        self.name, self.space, self.address = f"n{number}", f"quakes-fo{number}", f"{NETWORK}.{number}"
        self.environment = {**environment, "PATRONI_NAME": self.name, "PATRONI_RESTAPI_LISTEN": f"{self.address}:8008",
                            "PATRONI_RESTAPI_CONNECT_ADDRESS": f"{self.address}:8008",
                            "PATRONI_POSTGRESQL_LISTEN": f"{self.address}:5432",
                            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": f"{self.address}:5432",
                            "PATRONI_POSTGRESQL_DATA_DIR": f"{self.home}/data",
                            "PATRONI_POSTGRESQL_PGPASS": f"{self.home}/pgpass"}
        os.mkdir(self.home)
        shutil.chown(self.home, "postgres", "postgres")
        self.link = f"quakes-fo-{number}"
        ip("netns", "add", self.space)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("link", "set", self.link, "master", BRIDGE, "up")
        ip("-n", self.space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.space, "link", "set", "eth0", "up")
        ip("-n", self.space, "link", "set", "lo", "up")
        self.etcd = self.patroni = None
        self.lock = threading.Lock()

    def start(self, *command, **environment):
        log = open(f"{self.home}/{command[0]}.log", "ab")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        process = subprocess.Popen(["ip", "netns", "exec", self.space, *as_user, *command], stdout=log, stderr=log,
                                   cwd=self.home, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **environment})
        log.close()
        return process

    def start_etcd(self):
        peers = ",".join(f"n{number}=http://{NETWORK}.{number}:2380" for number in (1, 2, 3))
        self.etcd = self.start(
            "etcd", "--name", self.name, "--data-dir", f"{self.home}/etcd", "--listen-client-urls", f"http://{self.address}:2379",
            "--advertise-client-urls", f"http://{self.address}:2379", "--listen-peer-urls", f"http://{self.address}:2380",
            "--initial-advertise-peer-urls", f"http://{self.address}:2380", "--initial-cluster", peers,
            "--heartbeat-interval", "200", "--election-timeout", "2000", "--logger", "zap", "--log-level", "warn",
            *(["--enable-v2=true"] if etcd_interface() == "ETCD" else []))

    def start_patroni(self):
        self.patroni = self.start("patroni", f"{self.home}/patroni.yml", **self.environment)

    def boot(self):
        with self.lock:
            if self.etcd.poll() is not None:
                self.start_etcd()
            if self.patroni.poll() is not None:
                self.start_patroni()

    @property
    def processes(self):
        found = subprocess.run(["ip", "netns", "pids", self.space], capture_output=True, text=True).stdout
        return [int(process) for process in found.split()]

    def send(self, number):
        """Sends a signal to all processes of the machine."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def reset(self):
        """Kills all processes at once, like a power cut."""
        while self.processes:
            self.send(signal.SIGKILL)
            time.sleep(0.1)
        for process in (self.etcd, self.patroni):
            if process:
                process.wait()

    def postmaster(self):
        with contextlib.suppress(OSError, ValueError), open(f"{self.home}/data/postmaster.pid") as file:
            return int(file.readline())

    def cut(self, is_cut):
        ip("link", "set", self.link, "down" if is_cut else "up")

    def is_stuck(self):
        """Whether Patroni is frozen or has ended."""
        try:
            with open(f"/proc/{self.patroni.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] in "TZX"
        except (OSError, AttributeError):
            return True

    def status(self, path):
        """Patroni's response; None if Patroni does not answer, or answers with an error status, as a replica does for
        `primary`."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:8008/{path}", timeout=1) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def reinitialize(self):
        """Makes Patroni rebuild the node, like patronictl reinit."""
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://{self.address}:8008/reinitialize", data=b'{"force": true}', timeout=10).close()

    def is_leader(self):
        return self.status("primary") is not None

    def is_ready(self):
        """Whether the node is the leader or a running replica."""
        return self.is_leader() or (self.status("replica") or {}).get("state") == "running"


class Nodes:
    def __init__(self, is_synchronous, has_watchdog):
        self.is_synchronous, self.has_watchdog = is_synchronous, has_watchdog
        self.passwords = {name: secrets.token_hex(8) for name in ("postgres", "replicator", "quakes")}
        self.nodes, self.haproxy, self.resets = [], None, 0
        self.broken_since, self.mended = None, 0
        self.ending = threading.Event()

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        for program in ("patroni", "etcd", "haproxy", "ip"):
            if not shutil.which(program):
                sys.exit(f"cannot find {program}: apt-get install patroni etcd-server etcd-client haproxy iproute2")
        if os.geteuid() != 0:
            sys.exit("only root can create the network namespaces: run this program as root")
        self.home = tempfile.mkdtemp(prefix="quakes-failover-")
        os.chmod(self.home, 0o755)
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        self.remove_network()
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        shared = {f"PATRONI_{etcd_interface()}_HOSTS": ",".join(f"{NETWORK}.{number}:2379" for number in (1, 2, 3)),
                  "PATRONI_SUPERUSER_USERNAME": "postgres", "PATRONI_SUPERUSER_PASSWORD": self.passwords["postgres"],
                  "PATRONI_REPLICATION_USERNAME": "replicator", "PATRONI_REPLICATION_PASSWORD": self.passwords["replicator"]}
        for number in (1, 2, 3):
            self.nodes.append(Node(number, self.home, shared))
        for node in self.nodes:
            self.configure(node)
            node.start_etcd()
        self.wait("etcd has a leader", self.etcd_leader)
        for node in self.nodes:
            node.start_patroni()
        self.wait_until_whole()
        addresses = {f"NODE_{node.number}": node.address for node in self.nodes}
        self.haproxy = subprocess.Popen(["haproxy", "-f", f"{DEPLOY}/haproxy.cfg"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, **addresses, "LISTEN": f"{NETWORK}.254"})
        if self.has_watchdog:
            threading.Thread(target=self.watch, daemon=True).start()

    def configure(self, node):
        """Writes the configuration file of deploy/patroni with two changes: the replication mode, and the directory of the
        sockets, because three servers run on one machine."""
        with open(f"{DEPLOY}/patroni.yml") as file:
            text = file.read()
        if not self.is_synchronous:
            text = text.replace("synchronous_mode: true", "synchronous_mode: false")
            text = text.replace("synchronous_mode_strict: true", "synchronous_mode_strict: false")
        text = text.replace("  use_unix_socket: true\n",
                            f"  use_unix_socket: true\n  parameters:\n    unix_socket_directories: {node.home}\n")
        with open(f"{node.home}/patroni.yml", "w") as file:
            file.write(text)

    def __exit__(self, *_):
        self.ending.set()
        if self.haproxy:
            self.haproxy.kill()
            self.haproxy.wait()
        for node in self.nodes:
            node.send(signal.SIGCONT)
            node.reset()
        self.remove_network()
        if os.environ.get("KEEP"):
            print(f"kept: {self.home}")
        else:
            shutil.rmtree(self.home, ignore_errors=True)

    def remove_network(self):
        for number in (1, 2, 3):
            subprocess.run(["ip", "netns", "del", f"quakes-fo{number}"], stderr=subprocess.DEVNULL)
            subprocess.run(["ip", "link", "del", f"quakes-fo-{number}"], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", BRIDGE], stderr=subprocess.DEVNULL)

    # --- The watchdog ---

    def watch(self):
        """Replaces a hardware watchdog: resets the last leader's machine if its Patroni has been frozen or dead for more than
        TTL - SAFETY_MARGIN seconds. Patroni itself uses /dev/watchdog, which containers do not have."""
        since = {}
        leader = None
        while not self.ending.wait(0.5):
            for node in self.nodes:
                with node.lock:
                    if not node.is_stuck():
                        since.pop(node.number, None)
                        if node.is_leader():
                            leader = node.number
                    elif node.number in since or node.number == leader:
                        is_late = time.monotonic() - since.setdefault(node.number, time.monotonic()) > TTL - SAFETY_MARGIN
                        if is_late and node.processes:
                            self.resets += 1
                            node.reset()
                        if not node.processes:
                            since.pop(node.number)
                            leader = None

    # --- State ---

    def leader(self):
        """The leader according to Patroni; None if there is none."""
        return next((node for node in self.nodes if node.is_leader()), None)

    def etcd_leader(self):
        for node in self.nodes:
            answer = subprocess.run(
                ["etcdctl", "--endpoints", f"http://{node.address}:2379", "--command-timeout", "1s", "endpoint", "status", "-w", "json"],
                capture_output=True, text=True, env={**os.environ, "ETCDCTL_API": "3"})
            with contextlib.suppress(ValueError, KeyError, IndexError):
                status = json.loads(answer.stdout)[0]["Status"]
                if status["leader"] == status["header"]["member_id"]:
                    return node
        return None

    def is_whole(self):
        """Whether there is a leader, the other nodes stream from it, and there is a synchronous standby if commits wait for one.
        If the cluster has not been whole for 40 s, each standby that does not stream is rebuilt, as an administrator would do.
        Such a standby may have received only the beginning of a record, because the old leader stopped before it sent the rest.
        The standby then waits for that rest forever, and Patroni 3.0 does not notice."""
        leader = self.leader()
        replication = (leader.status("patroni") or {}).get("replication") or [] if leader else []
        streaming = {standby["application_name"]: standby for standby in replication if standby.get("state") == "streaming"}
        has_partner = any(standby.get("sync_state") in ("sync", "quorum") for standby in streaming.values())
        if len(streaming) == len(self.nodes) - 1 and (has_partner or not self.is_synchronous) and all(
                node.is_ready() for node in self.nodes):
            self.broken_since = None
            return True
        self.broken_since = self.broken_since or time.monotonic()
        if leader and time.monotonic() - self.broken_since > 40:
            self.broken_since = None
            for node in self.nodes:
                if node is not leader and node.name not in streaming:
                    self.mended += 1
                    node.reinitialize()
        return False

    def wait_until_whole(self):
        self.wait("the cluster is whole", self.is_whole)

    def wait_for(self, what, find):
        """Waits until `find` returns a result, and returns it: on a busy machine, a node may not answer at once."""
        found = []
        self.wait(what, lambda: found.append(find()) or found[-1])
        return found[-1]

    def wait(self, what, is_so, limit=240):
        end = time.monotonic() + limit
        while not is_so():
            if time.monotonic() > end:
                states = [(node.name, node.status("patroni")) for node in self.nodes]
                sys.exit(f"FAILED: gave up waiting until {what}: {states}\n{self.tails()}")
            time.sleep(0.5)

    def tails(self):
        text = ""
        for node in self.nodes:
            with contextlib.suppress(OSError), open(f"{node.home}/patroni.log", errors="replace") as file:
                text += f"{node.name}:\n" + "".join(file.readlines()[-5:])
        return text

    def patronictl(self, *arguments):
        node = next(node for node in self.nodes if not node.is_stuck())
        return subprocess.run(["ip", "netns", "exec", node.space, "patronictl", "-c", f"{node.home}/patroni.yml", *arguments],
                              capture_output=True, text=True, env={**os.environ, **node.environment, "LC_ALL": "C.UTF-8"})

    # --- Clients ---

    def url(self, user="quakes", database="quakes", **parameters):
        """A database URL with all nodes."""
        hosts = ",".join(f"{node.address}:5432" for node in self.nodes)
        return self.url_of(hosts, user, database, **parameters)

    def url_of(self, hosts, user="quakes", database="quakes", **parameters):
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}:{self.passwords[user]}@{hosts}/{database}{'?' + query if query else ''}"


@functools.cache
def etcd_interface():
    """The version of etcd's interface that Patroni should use. Before 3.0.3, Patroni can lose confirmed transactions with version
    3 of etcd's interface: when the old leader's network returns, the old leader overwrites the key of the new leader
    (https://github.com/patroni/patroni/pull/2689)."""
    words = subprocess.run(["patroni", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return "ETCD3" if tuple(int(part) for part in words[-1].split(".")[:3]) >= (3, 0, 3) else "ETCD"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)
