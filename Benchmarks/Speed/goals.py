"""Compares measurements with goals.

A benchmark with goals prints them and whether they are met. If the environment variable GOALS names a file, the goals are also
appended to this file, each as a line of JSON. Afterwards, this command prints a table of all goals:

    Benchmarks/Speed/goals.py FILE
"""

import json
import os
import sys

from cluster import print_table


def at_most(what, measured, limit):
    """A goal that is met by the limit or a smaller value."""
    return (what, float(measured), f"≤ {limit:g}", "met" if measured <= limit else "not met")


def at_least(what, measured, limit):
    """A goal that is met by the limit or a larger value."""
    return (what, float(measured), f"≥ {limit:g}", "met" if measured >= limit else "not met")


def tell(goals, prints=True):
    """Stores the goals for the table at the end, and prints them after an empty line."""
    goals = list(goals)
    if path := os.environ.get("GOALS"):
        with open(path, "a") as file:
            file.writelines(json.dumps(goal) + "\n" for goal in goals)
    if prints and goals:
        print()
        print_goals(goals)


def print_goals(goals):
    print_table(("goal", "measured", "limit", ""), *goals)


if __name__ == "__main__":
    with open(sys.argv[1]) as lines:
        print_goals([tuple(json.loads(line)) for line in lines])
