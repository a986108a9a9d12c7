#!/usr/bin/env python3
"""Reads metrics by Prometheus's own parsers, which refuse what the formats do not allow.

    Tests/Clients/metrics.py FILE FORMAT

FORMAT is openmetrics or text. Prints how many families there are.
"""

import sys

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as text

with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
    families = {"openmetrics": openmetrics, "text": text}[sys.argv[2]].text_fd_to_metric_families(file)
    print(sum(1 for _ in families))
