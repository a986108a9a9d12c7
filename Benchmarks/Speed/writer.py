"""A writer that records when each of its transactions was committed."""

import ctypes
import random
import sys
import time


def add_options(parser, rate):
    """Adds the options of benchmarks that have a writer.

    :param rate: the default number of transactions per second.
    """
    parser.add_argument("--rate", type=float, default=rate, help="transactions per second")
    parser.add_argument("--rows", type=int, default=20, help="rows that each transaction updates")
    parser.add_argument("--events", type=int, default=5000, help="events in the table")


class Writer:
    """A connection that calls libpq directly, so that the clock is read right after COMMIT."""

    def __init__(self, url):
        self.libpq = ctypes.CDLL("libpq.so.5")
        for function, result in [("PQconnectdb", ctypes.c_void_p), ("PQexec", ctypes.c_void_p),
                                 ("PQgetvalue", ctypes.c_char_p), ("PQerrorMessage", ctypes.c_char_p)]:
            getattr(self.libpq, function).restype = result
        self.connection = ctypes.c_void_p(self.libpq.PQconnectdb(url.encode()))

    def execute(self, sql):
        """Returns as soon as the server has answered. The caller reads the result afterwards."""
        return ctypes.c_void_p(self.libpq.PQexec(self.connection, sql.encode()))

    def value(self, result):
        if self.libpq.PQntuples(result) != 1:
            sys.exit(f"the writer failed: {self.libpq.PQerrorMessage(self.connection).decode()}")
        value = self.libpq.PQgetvalue(result, 0, 0)
        self.libpq.PQclear(result)
        return value.decode()

    def write(self, codes, options, count, rate):
        """Writes transactions at the given rate. Returns the commit time of each token, in nanoseconds of CLOCK_MONOTONIC.

        Afterwards, `durations` has the time of each commit in milliseconds.
        """
        chance = random.Random(1)
        commits = {}
        self.durations = []
        start = time.monotonic()
        for number in range(count):
            time.sleep(max(0, start + number / rate - time.monotonic()))
            chosen = ", ".join(f"'{code}'" for code in chance.sample(codes, options.rows))
            self.libpq.PQclear(self.execute("begin"))
            self.libpq.PQclear(self.execute(
                f"update quake set magnitude = {chance.random()}, updated = now() where code in ({chosen})"))
            asked = time.monotonic_ns()
            committed = self.execute("commit")
            moment = time.monotonic_ns()
            self.durations.append((moment - asked) / 1e6)
            self.libpq.PQclear(committed)
            # This is the token of this session's transaction, even if other sessions commit, too.
            commits[int(self.value(self.execute("select currval('history.token')")))] = moment
        self.libpq.PQfinish(self.connection)
        return commits
