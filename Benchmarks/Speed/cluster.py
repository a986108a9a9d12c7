"""Shared code of the benchmarks: a private server for the run, measured programs, and tables of figures.

The environment variable QUAKES names the executable; the default is .build/release/quakes.
"""

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

QUAKES = os.path.abspath(os.environ.get("QUAKES", ".build/release/quakes"))
HERE = os.path.dirname(os.path.abspath(__file__))


class Cluster:
    """A private server with the migrated schema, in a temporary folder. The server and the folder are removed at the end.

        with Cluster(wal_level="logical") as cluster:
            cluster.sql("select 1")
    """

    def __init__(self, **settings):
        self.settings = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "1h", **settings}

    def __enter__(self):
        if not os.access(QUAKES, os.X_OK):
            sys.exit(f"cannot find {QUAKES}: build it (swift build -c release), or set QUAKES to another executable")
        # On SIGTERM, exit in the normal way, so that the cleanup runs.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.home = tempfile.mkdtemp(prefix="quakes-bench-")
        os.chmod(self.home, 0o755)  # if this script runs as root, the server runs as another user
        self.env = {name: value for name, value in os.environ.items()
                    if name != "DATABASE_URL" and not name.startswith("PG")}
        self.env.update(QUAKES_HOME=f"{self.home}/cluster", QUAKES_LOCAL="1")
        try:
            self.url = subprocess.check_output([QUAKES, "database", "url"], env=self.env, text=True).strip()
            self.quakes("database", "start")
            for name, value in self.settings.items():
                self.sql(f"alter system set {name} = '{value}'")
            self.quakes("database", "stop")
            self.quakes("database", "start")
            self.quakes("migrate")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([QUAKES, "database", "stop"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.home)

    def quakes(self, *arguments):
        """Runs quakes, and shows its output on standard error."""
        subprocess.run([QUAKES, *arguments], env=self.env, check=True, stdout=sys.stderr)

    def sql(self, statement):
        command = ["psql", self.url, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement]
        return subprocess.check_output(command, env=self.env, text=True).strip()

    def sample(self, count, revise="0"):
        """Writes a synthetic feed of `count` events. `revise` is the fraction of them that is revised, as the text of a number
        from 0 to 1 or of a percentage. Returns the path."""
        path = f"{self.home}/{count}-{revise}.geojson"
        if not os.path.exists(path):
            with open(path, "wb") as feed:
                subprocess.run(
                    [QUAKES, "sample", "--count", str(count), "--revise", revise, "--until", "2026-01-01"], stdout=feed,
                    check=True)
        return path

    def load(self, feed):
        """Imports a feed. Returns the figures of the import."""
        return run(QUAKES, "import", "--database", self.url, feed, env=self.env, stdout=subprocess.DEVNULL)

    def empty(self):
        """Removes all quakes, all history and all dead rows."""
        # The session poses as a replica, because a tracked table refuses TRUNCATE.
        self.sql("set session_replication_role = replica; truncate quake, history.change, history.transaction")

    def wal(self):
        """The number of bytes of WAL written so far."""
        return int(self.sql("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))

    def server_cpu(self):
        """CPU seconds of all server processes that have ended."""
        with open(f"{self.env['QUAKES_HOME']}/data/postmaster.pid") as file:
            postmaster = file.readline().strip()
        with open(f"/proc/{postmaster}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        # These are cutime and cstime of proc(5), counted from the field after the name.
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def compile(self, source, *libraries):
        """Compiles a C program from this folder. Returns the path of the executable."""
        program = f"{self.home}/{os.path.splitext(source)[0]}"
        include = subprocess.check_output(["pg_config", "--includedir"], text=True).strip()
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", program, f"{HERE}/{source}", f"-I{include}",
                        *(f"-l{library}" for library in libraries)], check=True)
        return program

    def view_schema(self):
        """The SQLite table of a view, and the PostgreSQL expressions for its columns."""
        types = {"boolean": "integer", "integer": "integer", "double precision": "real"}
        expressions = {"boolean": "quake.{}::int", "ARRAY": "array_to_json(quake.{})"}
        columns = [line.split("|") for line in self.sql(
            "select column_name, data_type from information_schema.columns"
            " where table_name = 'quake' order by ordinal_position").splitlines()]
        definitions = [f"{name} {types.get(type, 'text')}{' primary key not null' if name == 'code' else ''}"
                       for name, type in columns]
        return (f"create table quake ({', '.join(definitions)})",
                ", ".join(f"{expressions.get(type, 'quake.{}').format(name)} as {name}" for name, type in columns))


def tree_cpu(pid):
    """The CPU seconds of a process and its children, including those that have ended."""
    total, pids = 0, [pid]
    while pids:
        pid = pids.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/stat") as file:
                total += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                pids += map(int, file.read().split())
    return total / os.sysconf("SC_CLK_TCK")


def postgres_cpu(home):
    """The CPU seconds of all processes of the private cluster in a folder, including those that have ended."""
    with open(f"{home}/data/postmaster.pid") as file:
        return tree_cpu(int(file.readline()))


def run(*arguments, **options):
    """Runs a program to its end. Returns wall seconds, CPU seconds and peak memory in MB.

    The peak memory is never less than this script's own, because Linux also counts the time before exec, when the child still has
    the script's memory.
    """
    start = time.monotonic()
    return finish(subprocess.Popen(arguments, **options), start)


def finish(process, start, ends_with=(0,)):
    """Waits for a program to end. Returns its figures, which include those of its children."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ends_with:
        sys.exit(f"{process.args} ended with {process.returncode}")
    return {"wall": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime,
            "memory": usage.ru_maxrss / 1024}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


missing = set()


def has(name, what, found):
    """Returns `found`, which tells whether the program for a comparison is installed. Reports a missing program only once."""
    if not found and name not in missing:
        missing.add(name)
        print(f"left out: {name} (not installed: {what})", file=sys.stderr)
    return found


def medians(rounds):
    """The median of each figure over several rounds."""
    return {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}


def print_table(*rows):
    """Prints a table. The first row is the heading. Texts are aligned left, numbers right."""
    cells = [[cell if isinstance(cell, str) else f"{cell:.2f}" if isinstance(cell, float) else str(cell)
              for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        print("  ".join(cell.ljust(width) if isinstance(kind, str) else cell.rjust(width)
                        for cell, width, kind in zip(row, widths, rows[-1])).rstrip())


def token_of(path):
    """The token of a view; None if the view has no token yet."""
    try:
        file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            row = file.execute("select token from position").fetchone()
            return row and row[0]
        finally:
            file.close()
    except sqlite3.OperationalError:
        return None
