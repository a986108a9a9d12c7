#!/usr/bin/env python3
"""Reads a catalogue page by page, with the function in docs/obspy.md: Tests/Clients/pages.py URL

The script prints the number of events. It fails if an event appears twice.
"""

import re
import sys
from pathlib import Path

from obspy import UTCDateTime
from obspy.clients.fdsn import Client
from obspy.clients.fdsn.header import FDSNRequestTooLargeException

page = (Path(__file__).parents[2] / "docs/obspy.md").read_text(encoding="utf-8")
exec(re.search(r"```python\n(.*?)```", page, re.S).group(1))

client = Client(sys.argv[1])
try:
    client.get_events(starttime=UTCDateTime(1900, 1, 1))
    sys.exit("the service returns all events in one answer, so no pages are needed")
except FDSNRequestTooLargeException:
    pass
# The last page is full, so the function must request another one.
found = [event.resource_id.id for event in events(client, page=20, starttime=UTCDateTime(1900, 1, 1))]
assert len(found) == len(set(found)), "an event appears twice"
print(f"{len(found)} events")
