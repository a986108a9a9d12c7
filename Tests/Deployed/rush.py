"""rush.py PORT COUNT: opens COUNT connections at the same time, and prints how many the server accepted within half a second."""

import select
import socket
import sys
import time

port, count = map(int, sys.argv[1:])
begin = time.monotonic()
waiting = {}
poll = select.poll()
for _ in range(count):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
    poll.register(client, select.POLLOUT)
    waiting[client.fileno()] = client
made = []
clients = list(waiting.values())
while waiting and time.monotonic() < begin + 8:
    for descriptor, _ in poll.poll(200):
        client = waiting.pop(descriptor)
        poll.unregister(client)
        if client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            made.append(time.monotonic() - begin)
early = sum(time < 0.5 for time in made)
print(f"{early} of {count} within 0.5 s, {len(made)} within 8 s")
sys.exit(early < count)
