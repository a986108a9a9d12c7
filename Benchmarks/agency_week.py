#!/usr/bin/env python3
"""Sweeps other agencies over a made-up week, and says how the table differs from their catalogues, by value.

The services are stand-ins: one like a SeisComP's and one like INGV's, which give text and are asked by origin times, and one like
EMSC's, whose GeoJSON is asked for by update times. Events are found, revised, left out, listed as not existing and given other
ids. Some requests are answered by 429, or are cut off, with and without a length that tells. The time of day of quakes is that
of the week, by libfaketime (Debian: apt-get install faketime).

    Benchmarks/agency_week.py [--days N] [--step MINUTES] [--seed S] [--json]
"""

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import time
import urllib.parse

import goals
from cluster import QUAKES, Cluster, print_table
from flaky import Clock
from whole import DAY, HOUR, Answer, Catalogue, millis


class Agency(Catalogue):
    """Another agency's service. An event is [origin, magnitude, latitude, longitude, place, type, updated]."""

    hosts = {"gfz": "geofon.gfz.de", "ingv": "webservices.ingv.it", "emsc": "www.seismicportal.eu"}

    def __init__(self, name, seed):
        super().__init__()
        self.RequestHandlerClass = AgencyAnswer
        self.name, self.chance, self.found, self.fault = name, random.Random(f"{name}{seed}"), 0, None
        self.source = f"http://{self.hosts[name]}/fdsnws/event/1/"

    def pass_by(self, minutes, count):
        """Lets the time pass, in which so many events are found, and others change."""
        self.now += minutes * 60_000
        for _ in range(count):
            late = 5 * DAY if self.chance.random() < 0.05 else 2 * HOUR
            self.events[self.new_id()] = [self.now - 60_000 - self.chance.randrange(late), *self.place(), "earthquake", self.now]
        for _ in range(count):
            event = self.events[self.any()]
            event[1:5], event[0], event[6] = self.place(), event[0] + self.chance.randrange(-8000, 8000), self.now
        if self.chance.random() < 0.5:
            self.withdraw(self.any())

    def any(self):
        """Nearly always one of the latest."""
        codes = [code for code, event in self.events.items() if event[5] == "earthquake"]
        return self.chance.choice(codes if self.chance.random() < 0.1 else codes[-100:])

    def new_id(self):
        self.found += 1
        letters = "".join(chr(97 + self.found // 26 ** place % 26) for place in range(4))
        return {"gfz": f"gfz2026{letters}", "ingv": f"{46_000_000 + self.found}", "emsc": f"20261003_{self.found:07}"}[self.name]

    def place(self):
        return [self.chance.randrange(60) / 10, self.chance.randrange(900) / 10, self.chance.randrange(1800) / 10,
                f"place {self.chance.randrange(1000)}"]

    def withdraw(self, code):
        event, kind = self.events[code], self.chance.random()
        if self.name == "emsc":  # the id moves to another earthquake
            event[:5], event[6] = [event[0] - self.chance.randrange(HOUR), *self.place()], self.now
        elif self.name == "ingv" and kind < 0.5:  # a revision has an id of its own
            self.events[self.new_id()] = self.events.pop(code)
        elif self.name == "gfz" and kind < 0.5:
            event[5] = "not existing"
        else:
            del self.events[code]

    def answer(self, url):
        self.requests += 1
        values = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        start, end, after = (millis(values.get(name)) for name in ("starttime", "endtime", "updatedafter"))
        found = sorted((event[0], code, event) for code, event in self.events.items()
                       if start <= event[0] <= (end or self.now) and event[6] > (after or 0))
        if self.name != "emsc":
            return ("#EventID|Time|Latitude|Longitude|Depth/km|Magnitude|EventLocationName|EventType\n" + "".join(
                f"{code}|{iso(time)}|{latitude}|{longitude}|10|{magnitude}|{place}|{kind}\n"
                for time, code, (_, magnitude, latitude, longitude, place, kind, _) in found)).encode()
        return json.dumps({"type": "FeatureCollection", "metadata": {"count": len(found)}, "features": [
            {"type": "Feature", "id": code, "geometry": {"type": "Point", "coordinates": [longitude, latitude, -10]},
             "properties": {"unid": code, "time": iso(time), "lastupdate": iso(updated), "lat": latitude, "lon": longitude,
                            "depth": 10, "mag": magnitude, "flynn_region": place, "evtype": "ke"}}
            for time, code, (_, magnitude, latitude, longitude, place, _, updated) in found]}).encode()


class AgencyAnswer(Answer):
    def do_GET(self):
        fault, self.server.fault = self.server.fault, None
        if fault == "busy":
            self.send_response(429)
            self.send_header("retry-after", "1")
            self.send_header("content-length", "0")
            return self.end_headers()
        body = self.server.answer(self.path)
        half = body[:body.rindex(b"\n", 0, len(body) // 2) + 12] if body[:1] == b"#" else body[:len(body) // 2]
        self.send_response(200)
        self.send_header("content-length", str(len(half if fault == "truncated" else body)))
        self.end_headers()
        self.wfile.write(half if fault else body)
        self.close_connection = True


def iso(milliseconds):
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds") + "Z"


def agencies(cluster, days, step, seed):
    """Sweeps three agencies over so many days. Returns how each one's part of the table differs from its catalogue."""
    if not Clock.library:
        sys.exit("Benchmarks/agency_week.py: there is no libfaketime here (apt-get install faketime)")
    clock, chance = Clock(f"{cluster.home}/clock"), random.Random(seed)
    os.chmod(f"{cluster.home}/clock.so", 0o755)
    begin = round(time.time() * 1000) - (days + 2) * DAY
    services = [Agency(name, seed) for name in Agency.hosts]
    outcomes = {service.name: {"sweeps": 0, "faults": 0, "failed": 0} for service in services}
    for service in services:
        service.now = begin
        service.pass_by(0, 200)
    for number in range(days * 1440 // step + 1):
        is_last = number == days * 1440 // step
        for service in services:
            # The last one looks back 30 days.
            service.pass_by(1441 if is_last else step, 0 if is_last else 20)
            service.fault = chance.choice(["busy", "cut", "truncated"]) if chance.random() < 0.1 and not is_last else None
            fault = service.fault
            clock.set(round(service.now / 1000 - time.time()))
            done = subprocess.run(clock.command(QUAKES, "import", service.source, "--database", cluster.url),
                                  env={**cluster.env, "http_proxy": f"http://127.0.0.1:{service.server_port}"},
                                  capture_output=True, text=True)
            outcome = outcomes[service.name]
            outcome["sweeps"] += 1
            outcome["faults"] += fault is not None
            outcome["failed"] += done.returncode != 0
            if (done.returncode != 0) != (fault in ("cut", "truncated")):
                sys.exit(f"{service.name}, {fault}: quakes ended with {done.returncode}: {done.stderr}")
    for service in services:
        table = dict(line.split("|", 1) for line in cluster.sql(
            "select net_code, (extract(epoch from time) * 1000)::bigint, magnitude, latitude, longitude, place from quake"
            f" where net = '{service.name}'").splitlines())
        truth = {code: "|".join([str(event[0]), *(f"{value:g}" for value in event[1:4]), event[4]])
                 for code, event in service.events.items() if event[5] == "earthquake"}
        both = truth.keys() & table.keys()
        outcomes[service.name] |= {"events": len(truth), "missing": len(truth.keys() - both), "too many": len(table.keys() - both),
                                   "different": sum(table[code] != truth[code] for code in both)}
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--step", type=int, default=30, help="minutes between two sweeps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Cluster() as cluster:
        outcomes = agencies(cluster, options.days, options.step, options.seed)
    if options.json:
        print(json.dumps(outcomes))
    else:
        print_table(("agency", *next(iter(outcomes.values()))), *((name, *each.values()) for name, each in outcomes.items()))
    differences = sum(each[name] for each in outcomes.values() for name in ("missing", "too many", "different"))
    goals.tell([goals.at_most("a week of other agencies, events that differ from theirs", differences, 0)],
               prints=not options.json)


if __name__ == "__main__":
    main()
