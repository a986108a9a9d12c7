#!/usr/bin/env python3
"""Measures how long text and QuakeML of 20,000 events take to read, beside ObsPy's read_events, and how much memory.

The documents are synthetic: events with one origin and one magnitude, as an event service answers. Quakes reads by
`import --dry-run`, which scans, decodes, and compares with an empty table, and writes nothing. A dry run of a document without
events is taken off, so that the start and the connection do not count. ObsPy reads in a process of its own, and importing
ObsPy does not count. Figures are CPU times, so that other work on the machine matters less, and medians of the rounds.

    Benchmarks/agencies.py [--events N] [--rounds R] [--json]

It takes obspy: scripts/tools clients installs it, or run this with a Python that has it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

import goals
from cluster import QUAKES, Cluster, print_table

OBSPY = """
import sys, time
from obspy import read_events
start = time.process_time()
events = read_events(sys.argv[1], format=sys.argv[2])
print(len(events), time.process_time() - start)
"""
HEADER = ("#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor"
          "|EventLocationName|EventType\n")
HEAD = ('<?xml version="1.0" encoding="UTF-8"?>\n<q:quakeml xmlns:q="http://quakeml.org/xmlns/quakeml/1.2" '
        'xmlns="http://quakeml.org/xmlns/bed/1.2">\n<eventParameters publicID="smi:example.org/all">\n')
TAIL = "</eventParameters>\n</q:quakeml>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    python = obspy_python()
    figures, met = {}, []
    with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        for name, write, kind in ("text", write_text, "EVENTTXT"), ("QuakeML", write_quakeml, "QUAKEML"):
            paths = {count: f"{folder}/{name}-{count}" for count in (0, options.events, 10 * options.events)}
            for count, path in paths.items():
                write(path, count)
            ours = statistics.median(reading(cluster, paths[options.events])[0] - reading(cluster, paths[0])[0]
                                     for _ in range(options.rounds))
            theirs = statistics.median(obspy_reading(python, paths[options.events], kind) for _ in range(options.rounds))
            memory = [reading(cluster, paths[count])[1] for count in (options.events, 10 * options.events)]
            figures[name] = {"quakes_s": ours, "obspy_s": theirs, "ratio": theirs / ours, "peak_mb": memory}
            met.append(goals.at_least(f"{options.events:,} events of {name}, times as fast as ObsPy", theirs / ours, 50))
            met.append(goals.at_most(f"peak memory for ten times the {name}, ratio", memory[1] / memory[0], 1.1))
    if options.json:
        print(json.dumps(figures))
    else:
        print_table(("", "quakes, CPU s", "ObsPy, CPU s", "ratio", "peak MB", "peak MB, ten times as many"),
                    *((name, each["quakes_s"], each["obspy_s"], each["ratio"], *each["peak_mb"])
                      for name, each in figures.items()))
    goals.tell(met, prints=not options.json)


def obspy_python():
    for python in (sys.executable, ".build/clients/bin/python"):
        if subprocess.run([python, "-c", "import obspy"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    sys.exit("Benchmarks/agencies.py: there is no ObsPy here; run scripts/tools clients, or pip install obspy")


def reading(cluster, path):
    """CPU seconds and peak MB of a dry run."""
    command = [sys.executable, "-c", MEASURE, QUAKES, "import", "--dry-run", "--database", cluster.url, path]
    seconds, peak = json.loads(subprocess.check_output(command, env=cluster.env, text=True, stderr=subprocess.PIPE)
                               .splitlines()[-1])
    return seconds, peak


MEASURE = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([use.ru_utime + use.ru_stime, use.ru_maxrss / 1024]))
"""


def obspy_reading(python, path, kind):
    output = subprocess.check_output([python, "-W", "ignore", "-c", OBSPY, path, kind], text=True)
    count, seconds = output.split()
    assert int(count) > 0
    return float(seconds)


def event(number):
    minute, second = divmod(number % 86_400, 60)
    hour, minute = divmod(minute, 60)
    day = 1 + number // 86_400 % 28
    letters = "".join(chr(97 + number // 26 ** place % 26) for place in range(4))
    return {
        "id": f"gfz{2000 + number // 456_976 % 100}{letters}",
        "time": f"2026-10-{day:02}T{hour:02}:{minute:02}:{second:02}.{number % 1_000_000:06}",
        "latitude": f"{number % 1800 / 10 - 90:.3f}", "longitude": f"{number % 3600 / 10 - 180:.3f}",
        "depth": f"{number % 700}.{number % 10}", "magnitude": f"{number % 90 / 10:.2f}",
        "place": f"{number % 90} km NW of Somewhere, Region {number % 50}",
    }


def write_text(path, count):
    with open(path, "w") as file:
        file.write(HEADER)
        for number in range(count):
            file.write("{id}|{time}|{latitude}|{longitude}|{depth}|author||GFZ|{id}|mb|{magnitude}|author|{place}|earthquake\n"
                       .format(**event(number)))


def write_quakeml(path, count):
    with open(path, "w") as file:
        file.write(HEAD)
        for number in range(count):
            file.write("""<event publicID="smi:org.gfz-potsdam.de/geofon/{id}">
<preferredOriginID>smi:example.org/{id}/o</preferredOriginID><preferredMagnitudeID>smi:example.org/{id}/m</preferredMagnitudeID>
<type>earthquake</type><description><text>{place}</text><type>region name</type></description>
<creationInfo><agencyID>GFZ</agencyID><creationTime>2026-11-01T00:00:00Z</creationTime></creationInfo>
<origin publicID="smi:example.org/{id}/o"><time><value>{time}Z</value></time><latitude><value>{latitude}</value></latitude>
<longitude><value>{longitude}</value></longitude><depth><value>{depth}e3</value></depth>
<quality><usedStationCount>12</usedStationCount><standardError>0.5</standardError></quality>
<evaluationMode>automatic</evaluationMode></origin>
<magnitude publicID="smi:example.org/{id}/m"><mag><value>{magnitude}</value></mag><type>mb</type>
<originID>smi:example.org/{id}/o</originID></magnitude></event>
""".format(**event(number)))
        file.write(TAIL)


if __name__ == "__main__":
    main()
