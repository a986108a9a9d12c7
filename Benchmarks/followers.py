"""What the benchmarks of followers share: when views were seen to move on, and CPU time of programs that still run."""

import bisect
import subprocess
import sys
import time

PATIENCE = 60  # seconds


class Sightings:
    """Watches views (Benchmarks/view_observer.c) until the block ends: when each was seen to reach which token."""

    def __init__(self, observer, files, path):
        self.observer, self.files, self.path = observer, files, path

    def __enter__(self):
        with open(self.path, "w") as output:
            self.process = subprocess.Popen([self.observer, *self.files], stdout=output)
        time.sleep(1)  # until it watches
        return self

    def __exit__(self, *_):
        time.sleep(1)  # until it has written what it saw last
        self.process.terminate()
        self.process.wait()

    def latencies(self, commits):
        """For each view, the milliseconds from each commit to the first sighting of its token or a later one.

        :param commits: when each token was committed, in nanoseconds of CLOCK_MONOTONIC.
        """
        sightings = [[] for _ in self.files]
        with open(self.path) as lines:
            for line in lines:
                view, reached, moment = map(int, line.split())
                sightings[view].append((reached, moment))
        return [[(first(view, token) - moment) / 1e6 for token, moment in commits.items()] for view in sightings]


def first(view, token):
    place = bisect.bisect_left(view, (token, 0))
    if place == len(view):
        sys.exit(f"a view was never seen with token {token}")
    return view[place][1]


def cpu_of(process):
    """CPU seconds of a process that runs, with all its threads: to the nanosecond, unlike in /proc."""
    return time.clock_gettime(~process << 3 | 2)  # CPUCLOCK_SCHED: see clock_getcpuclockid(3)


def wait_until(what, is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(f"gave up after {PATIENCE} s of waiting until {what}")
        time.sleep(0.2)
