"""A reader in Python (pip install 'psycopg>=3.2'): keeps a dictionary of all earthquakes up to date.

    python3 Examples/follow.py "$DATABASE_URL"
"""
import sys

import psycopg

quakes, position = {}, None
listener = psycopg.connect(sys.argv[1], autocommit=True)
listener.execute("listen quake_changes")  # first listen, then read: nothing falls between
reader = psycopg.connect(sys.argv[1])
reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
while True:
    with reader.transaction():  # one snapshot: the check, the changes, and the position they lead to
        check = "select history.check(%s, %s, %s)"
        if position and reader.execute(check, position).fetchone() == ("ok",):
            changes = reader.execute("select key, \"row\" from history.changes(%s, 'quake')", [position[1]])
        else:
            quakes.clear()
            changes = reader.execute("select code, to_jsonb(quake) from quake")
        for code, row in changes:  # only the last change of a code has its row; without one it is gone
            quakes.pop(code, None)
            quakes.update({code: row} if row else {})
        position = reader.execute("select store, token, committed_at from history.position()").fetchone()
    print(f"{len(quakes)} earthquakes at token {position[1]}", flush=True)
    list(listener.notifies(timeout=30, stop_after=1))  # a hint, or time to look
