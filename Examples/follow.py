"""A reader in Python: keeps a dictionary of all earthquakes up to date. It needs psycopg (Debian: python3-psycopg).

    python3 Examples/follow.py "$DATABASE_URL"

If the server restarts or the network fails, it connects again and catches up. It ends on Ctrl-C and on SIGTERM.
"""
import random
import select
import signal
import sys
import time

import psycopg

quakes, position, shape, hints = {}, None, None, []
# The keepalives detect a connection that has died silently.
options = {"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


def follow(url):
    """Follows the changes until the connection is lost."""
    with psycopg.connect(url, autocommit=True, **options) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.add_notify_handler(hints.append)
        connection.execute("listen quake_changes")  # listen before reading, so that no change is missed in between
        while True:
            hints.clear()
            catch_up(connection)
            if not hints:  # no notification arrived in the meantime
                select.select([connection], [], [], 30)  # wait for a notification, but at most 30 seconds
            connection.execute("")  # receive notifications, and detect a lost connection


def catch_up(connection):
    """Applies the changes since the position. If the position is not valid, reads all rows again."""
    global position, shape
    with connection.transaction():  # one snapshot for the check, the changes and the new position
        # Lock before the snapshot is taken. After an ALTER TABLE that rewrites the table, an older snapshot sees an empty table.
        connection.execute("lock table only quake in access share mode")
        found = connection.execute("select history.shape('quake')").fetchone()
        check = "select history.check(%s, %s, %s, %s)"
        holds = position and shape == found and connection.execute(check, position).fetchone() == ("ok",)
        if holds:
            changes = connection.execute("select key, \"row\" from history.changes(%s, 'quake')", [position[1]])
        else:
            changes = connection.execute("select code, to_jsonb(quake) from only quake")
        reached = connection.execute("select store, token, committed_at, nonce from history.position()").fetchone()
    if not holds:
        quakes.clear()
    for code, row in changes:  # only an event's last change has its row; if that has none, the event was deleted
        quakes.pop(code, None)
        quakes.update({code: row} if row else {})
    position, shape = reached, found
    print(f"{len(quakes)} earthquakes at token {position[1]}", flush=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit())
wait = 1
try:
    while True:
        before = position
        try:
            follow(sys.argv[1])
        except psycopg.OperationalError as error:  # for example, while the server restarts
            if position is None:
                sys.exit(f"follow.py: {str(error).splitlines()[0]}")  # only later failures are retried
            wait = 1 if position != before else min(2 * wait, 30)
            print(f"follow.py: {str(error).splitlines()[0]}; connecting again", file=sys.stderr)
            time.sleep(random.uniform(wait / 2, wait))
except KeyboardInterrupt:
    pass
