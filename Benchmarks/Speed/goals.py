"""What was measured, beside what it should be.

Each benchmark says how it stands to its goals. Where GOALS names a file, they are also kept there, a line of JSON each, for
a table of all of them at the end:

    Benchmarks/Speed/goals.py FILE
"""

import json
import os
import sys

from cluster import print_table


def at_most(what, measured, limit):
    """A goal that is met by the limit, and by less."""
    return (what, float(measured), f"≤ {limit:g}", "met" if measured <= limit else "not met")


def at_least(what, measured, limit):
    """A goal that is met by the limit, and by more."""
    return (what, float(measured), f"≥ {limit:g}", "met" if measured >= limit else "not met")


def tell(goals, prints=True):
    """Keeps the goals for the table at the end, and prints them after an empty line."""
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
