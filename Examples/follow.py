"""A reader in Python: keeps a dictionary of all earthquakes up to date. It needs psycopg (pip install 'psycopg>=3.2').

    python3 Examples/follow.py "$DATABASE_URL"
"""
import sys

import psycopg

quakes, position = {}, None
listener = psycopg.connect(sys.argv[1], autocommit=True)
listener.execute("listen quake_changes")  # first listen, then read, so that nothing is missed in between
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
        for code, row in changes:  # the last change of a code has its row; if none has, it is gone
            quakes.pop(code, None)
            quakes.update({code: row} if row else {})
        position = reader.execute("select store, token, committed_at from history.position()").fetchone()
    print(f"{len(quakes)} earthquakes at token {position[1]}", flush=True)
    list(listener.notifies(timeout=30, stop_after=1))  # wait for a hint, or look after 30 seconds
