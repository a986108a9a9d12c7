#!/usr/bin/env python3
"""Reads metrics with Prometheus's own parser, which refuses malformed ones.

    Tests/Clients/metrics.py FILE

Prints the number of metric families.
"""

import sys

from prometheus_client import parser

with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
    print(sum(1 for _ in parser.text_fd_to_metric_families(file)))
