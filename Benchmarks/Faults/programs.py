"""The programs of the soak test, and what other fault tests share with it."""

import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time

from cluster import QUAKES

PATIENCE = 180  # seconds
# The exit codes with which a program may end: success, killed, SIGTERM before its handler was installed, database unreachable,
# disk full, or another instance still running.
KINDS = {"daemon": {0, -9, -15, 75}, "view": {0, -9, -15, 69, 74, 75, -signal.SIGXFSZ}, "stream": {0, -9, -15, 69}}


class Program:
    """A program that is started again whenever it ends."""

    def __init__(self, name, arguments, cluster, url, clock=None, reads=None):
        self.name, self.kind = name, name.split("-")[0]
        self.command = [QUAKES, *arguments, "--database", url, "--log-level", "warning"]
        self.command = clock.command(*self.command) if clock else self.command
        self.env = cluster.env
        self.log = f"{cluster.home}/{name}.log"
        self.reads = reads
        self.protected = name in ("view-0", "stream-0")  # not killed, so that leaks become visible
        self.endings = collections.Counter()
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE if self.reads else subprocess.DEVNULL,
                                            stderr=log, env=self.env)
        self.started, self.due, self.thaws = time.monotonic(), None, None
        self.reader = None
        if self.reads:
            self.reader = threading.Thread(target=self.reads, args=[self.process.stdout], daemon=True)
            self.reader.start()

    def look_after(self, chance):
        now = time.monotonic()
        if self.thaws and now > self.thaws:
            self.thaw()
        status = self.process.poll()
        if status is None:
            return
        if self.due is None:
            self.endings[status] += 1
            if status not in KINDS[self.kind]:
                fail(f"{self.name} ended with {status}:\n{tail(self.log)}")
            self.due = now + chance.random() * 2
        elif now > self.due:
            if self.reader:
                self.reader.join()
            self.start()

    def freeze(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        self.thaws = time.monotonic() + seconds

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)
        self.thaws = None

    def end(self):
        """Sends SIGTERM, and expects exit code 0."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            fail(f"{self.name} did not end within {PATIENCE} s of SIGTERM")
        if status != 0:
            fail(f"{self.name} ended with {status} on SIGTERM:\n{tail(self.log)}")

    def usage(self):
        """The memory in MB and the number of open files; None if the program does not run."""
        try:
            with open(f"/proc/{self.process.pid}/statm") as statm:
                memory = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
            return memory, len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except (OSError, IndexError):
            return None


class Stream:
    """A consumer of a stream, with the rows that it has."""

    def __init__(self):
        self.rows, self.token, self.broken = {}, 0, None

    def read(self, pipe):
        with pipe:
            for line in pipe:
                if line.endswith(b"\n"):  # a killed follower may leave an incomplete line
                    try:
                        self.apply(json.loads(line))
                    except ValueError as error:
                        self.broken = f"{error}: {line.decode(errors='replace')}"
                        return

    def apply(self, line):
        if "snapshot" in line:
            self.rows = {}
        elif "store" in line:
            self.token = line["token"]
        elif line.get("row"):
            self.rows[line["row"]["code"]] = line["row"]
        elif line.get("operation") == "delete":
            self.rows.pop(line["key"], None)


def wait_until(what, is_so, seen=lambda: ""):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            fail(f"gave up after {PATIENCE} s of waiting until {what} {seen()}")
        time.sleep(0.2)


def tail(path):
    with open(path, errors="replace") as file:
        return "".join(file.readlines()[-8:])


def fail(why):
    sys.exit(f"FAILED: {why}")
