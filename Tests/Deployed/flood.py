"""flood.py HOST PORT STREAMS CLIENTS: opens STREAMS streams from CLIENTS different addresses, which X-Forwarded-For names.

Every request must get status 200."""

import collections
import socket
import sys

host, port, streams, clients = sys.argv[1], *map(int, sys.argv[2:])
answers = collections.Counter()
opened = []
for number in range(streams):
    client = socket.create_connection((host, port), 5)
    head = f"GET /changes?after=now HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.{number % clients + 1}\r\n\r\n"
    client.sendall(head.encode())
    client.settimeout(15)
    opened.append(client)
for client in opened:
    try:
        answers[client.recv(200).split(b"\r\n")[0].decode()] += 1
    except OSError as error:
        answers[type(error).__name__] += 1
print(dict(answers))
sys.exit(answers != {"HTTP/1.1 200 OK": streams})
