#!/usr/bin/env python3
"""Computes the reports' figures from the feed with numpy, and compares them with the reports.

    Tests/ridgecrest.py FEED URL [PSQL]

FEED is the month feed of 2019-07-19 with the Ridgecrest sequence, and URL is a database that contains only this feed. The script
exits with 1 if the numbers of rows differ, or if a relative difference is 1e-9 or more.

Where possible, the methods differ from those of the reports: bins are computed with decimal numbers, means and deviations with
numpy's sums, and distances from angles between vectors.
"""

import csv
import io
import json
import math
import subprocess
import sys
from collections import Counter
from datetime import datetime, timezone
from decimal import ROUND_FLOOR, Decimal

import numpy as np

MAINSHOCK = "ci38457511"
RADIUS = 50.0
FIT = ("completeness, earthquakes, mean_magnitude, b_value, b_standard_error, a_value, goodness_percent, ks_distance, "
       "largest_deviation, good_from")


def main():
    feed, url, *psql = sys.argv[1:]
    quakes = [quake for quake in read(feed) if quake["type"] in (None, "earthquake")]
    check = Check(url, *psql)
    for name, where, chosen in [
        ("whole feed", "", quakes),
        ("Ridgecrest", f"latitude => 35.7695, longitude => -117.5993333, radius_km => {RADIUS}",
         [q for q in quakes if distance((35.7695, -117.5993333), (q["latitude"], q["longitude"])) <= RADIUS]),
    ]:
        fit = gutenberg_richter([q["bin"] for q in chosen if q["bin"] is not None])
        check.compare(f"{name}: Mc, n, mean M, b, its error, a, goodness, KS, deviation, good from", fit,
                      f"select {FIT} from report.gutenberg_richter({where})")
    for month in ["2019-06", "2019-07"]:
        bins = [q["bin"] for q in quakes if q["bin"] is not None and day(q).startswith(month)]
        check.compare(f"{month}: Mc, n, mean M, b, its error, a, goodness, KS, deviation, good from", gutenberg_richter(bins),
                      f"select {FIT} from report.monthly_gutenberg_richter where month = '{month}-01 00:00+00'")
    bins = Counter(q["bin"] for q in quakes if q["bin"] is not None)
    check.compare("magnitude–frequency", [[b / 10, bins[b], sum(n for c, n in bins.items() if c >= b)]
                                          for b in sorted(bins)], "select * from report.magnitude_frequency()")
    days = sorted({day(q) for q in quakes})
    energy = [[d, len(m), float(np.sum(10.0 ** (np.array([x for x in m if x is not None]) * 1.5 + 4.8)))]
              for d in days for m in [[q["magnitude"] for q in quakes if day(q) == d]]]
    check.compare("earthquakes and energy a day", energy,
                  "select (day at time zone 'UTC')::date, earthquakes, energy_joule from report.daily_energy order by day")
    check.compare("earthquakes a day, summed over regions and classes", [row[:2] for row in energy],
                  "select (day at time zone 'UTC')::date, sum(earthquakes) from report.daily_activity group by day order by day")
    largest = sorted((q for q in quakes if q["magnitude"] is not None), key=lambda q: (-q["magnitude"], -q["time"]))[:100]
    check.compare("100 largest", [[1 + sum(o["magnitude"] > q["magnitude"] for o in quakes if o["magnitude"] is not None),
                                   q["code"], q["magnitude"]] for q in largest],
                  "select rank, code, magnitude from report.largest_event")
    with open(feed) as file:
        aftershocks(check, quakes, json.load(file)["metadata"]["generated"])
    sys.exit(1 if check.failed else 0)


def read(feed):
    with open(feed) as file:
        features = json.load(file)["features"]
    for feature in features:
        properties = feature["properties"]
        longitude, latitude = feature["geometry"]["coordinates"][:2]
        magnitude = properties["mag"]
        tenths = None if magnitude is None else int(
            (Decimal(repr(magnitude)) * 10 + Decimal("0.5")).to_integral_value(ROUND_FLOOR))
        yield {"code": feature["id"], "type": properties["type"], "time": properties["time"], "latitude": latitude,
               "longitude": longitude, "magnitude": magnitude, "bin": tenths}


def day(quake):
    return datetime.fromtimestamp(quake["time"] // 1000, timezone.utc).date().isoformat()


def gutenberg_richter(bins):
    """The fit from the completeness (by maximum curvature), and the first magnitude from which a fit is good."""
    counts = Counter(bins)
    completeness = max(counts, key=lambda tenths: (counts[tenths], tenths))
    good = next(tenths for tenths in sorted(counts) if tenths >= completeness and is_good(fit(bins, tenths)))
    return [[*fit(bins, completeness), good / 10]]


def is_good(figures):
    n, goodness, distance, deviation = figures[1], *figures[6:9]
    return n >= 50 and goodness >= 90 and distance <= 1.36 / math.sqrt(n) and deviation <= 3


def fit(bins, tenths):
    """The fit of the Gutenberg–Richter relation to magnitudes from `tenths` on, and its quality.

    b is computed after Aki and Utsu, the error of b after Shi and Bolt, and the goodness after Wiemer and Wyss. The last two
    figures are the Kolmogorov–Smirnov distance, and the largest difference between observed and expected numbers, in standard
    deviations.
    """
    completeness = tenths / 10
    magnitudes = np.array([bin / 10 for bin in bins if bin >= tenths])
    n, mean = len(magnitudes), magnitudes.mean()
    b = math.log10(math.e) / (mean - (completeness - 0.1 / 2))
    error = math.log(10) * b**2 * math.sqrt(((magnitudes - mean) ** 2).sum() / (n * (n - 1)))
    grid = np.arange(tenths, max(bins) + 1) / 10
    observed = np.array([(magnitudes > magnitude - 0.05).sum() for magnitude in grid])
    expected = n * 10 ** (-b * (grid - completeness))
    goodness = 100 * (1 - np.abs(observed - expected).sum() / observed.sum())
    return [completeness, n, mean, b, error, math.log10(n) + b * completeness, goodness,
            np.abs(observed - expected).max() / n,
            (2 * np.sqrt(n) * np.abs(np.arcsin(np.sqrt(observed / n)) - np.arcsin(np.sqrt(expected / n)))).max()]


def distance(one, other):
    """The distance in km, from the angle between the two directions from the centre of the Earth."""
    def direction(place):
        latitude, longitude = np.radians(place)
        return np.array([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])
    one, other = direction(one), direction(other)
    return 6371 * float(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other))


def aftershocks(check, quakes, generated):
    main = next(quake for quake in quakes if quake["code"] == MAINSHOCK)
    place = main["latitude"], main["longitude"]
    after = sorted([(q["time"] - main["time"]) / 86_400_000, q["code"], distance(place, (q["latitude"], q["longitude"]))]
                   for q in quakes if q["time"] > main["time"]
                   and distance(place, (q["latitude"], q["longitude"])) <= RADIUS)
    check.compare("aftershocks: days after, code, km", after, "select days_after, code, distance_km"
                  f" from report.aftershocks('{MAINSHOCK}', {RADIUS}) order by days_after, code")
    # The feed was generated this many days after the main shock.
    end = (generated - main["time"]) / 86_400_000
    edges = [0.0] + [10 ** (k / 5) for k in range(-15, 30) if 10 ** (k / 5) < end] + [end]
    days = np.array([days for days, _, _ in after])
    counts = [int(((days > low) & (days <= high)).sum()) for low, high in zip(edges, edges[1:])]
    check.compare("decay: bin, aftershocks, aftershocks a day, cumulative number",
                  [[low, high, n, n / (high - low), sum(counts[:i + 1])]
                   for i, (low, high, n) in enumerate(zip(edges, edges[1:], counts))],
                  f"select * from report.aftershock_rate('{MAINSHOCK}', {RADIUS})")
    magnitude = 3.5
    above = {q["code"] for q in quakes if q["magnitude"] is not None and q["magnitude"] >= magnitude}
    query = (f"select days_after from report.aftershocks('{MAINSHOCK}', {RADIUS}, minimum_magnitude => {magnitude})"
             " order by days_after")
    mine, theirs = [d for d, code, _ in after if code in above], [float(row[0]) for row in check.query(query)]
    check.compare("Omori–Utsu from M 3.5: n, K, c, p", [[len(mine), *omori(mine, end)]],
                  rows=[[len(theirs), *omori(theirs, end)]])


def omori(days, end):
    """K, c and p of K / (t + c)^p by maximum likelihood (Ogata 1983), on a grid that is refined twice."""
    days = np.array(days)
    c_low, c_high, p_low, p_high = -4.0, 0.5, 0.6, 2.0
    for _ in range(3):
        grid = []
        for c in 10 ** np.linspace(c_low, c_high, 41):
            for p in np.linspace(p_low, p_high, 41) + 1e-9:  # never exactly 1, because the integral divides by 1 - p
                integral = ((end + c) ** (1 - p) - c ** (1 - p)) / (1 - p)
                k = len(days) / integral
                grid.append((len(days) * math.log(k) - p * np.log(days + c).sum() - len(days), k, c, p))
        _, k, c, p = max(grid)
        width_c, width_p = (c_high - c_low) / 20, (p_high - p_low) / 20
        c_low, c_high = math.log10(c) - width_c, math.log10(c) + width_c
        p_low, p_high = p - width_p, p + width_p
    return [k, c, p]


class Check:
    def __init__(self, url, psql="psql"):
        self.url, self.psql, self.failed = url, psql, False

    def query(self, statement):
        text = subprocess.check_output([self.psql, "-qX", "--csv", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url,
                                        "-c", "set timezone = 'UTC'", "-c", statement], text=True)
        return list(csv.reader(io.StringIO(text)))

    def compare(self, what, expected, statement=None, rows=None):
        rows = self.query(statement) if rows is None else rows
        difference = max((difference_of(a, b) for mine, theirs in zip(expected, rows) for a, b in zip(mine, theirs)),
                         default=0.0)
        good = len(rows) == len(expected) > 0 and all(map(lambda m, t: len(m) == len(t), expected, rows)) and difference < 1e-9
        self.failed |= not good
        print(f"{'same' if good else 'DIFFERENT':9}  {what}: {len(expected)} rows, relative difference {difference:.0e}")
        if len(expected) == 1:
            print(f"           numpy   {'  '.join(f'{value:.12g}' for value in expected[0])}")
            print(f"           report  {'  '.join(f'{float(value):.12g}' for value in rows[0])}" if rows else "")


def difference_of(mine, theirs):
    if isinstance(mine, str):
        return 0.0 if mine == theirs else math.inf
    return abs(mine - float(theirs)) / max(abs(mine), 1e-3) if theirs != "" else math.inf


if __name__ == "__main__":
    main()
