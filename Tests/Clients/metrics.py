#!/usr/bin/env python3
"""Reads metrics with Prometheus's parser, which refuses malformed metrics.

    Tests/Clients/metrics.py FILE

The script prints the number of metric families.
"""

import sys

from prometheus_client import parser

with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
    print(sum(1 for _ in parser.text_fd_to_metric_families(file)))
