import Feed
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

/// Every value that the table accepts can be read by every reader.
@Suite("Extreme values")
struct ExtremeValueTests {
    let server = TestServer.shared

    /// Combines the smallest, the greatest and the missing values that the table accepts.
    private static let corners: Query = """
        insert into quake (code, net, net_code, magnitude, time, updated, imported_at, longitude, latitude, depth, cdi, mmi,
                           dmin, rms, gap, felt, sig, nst, tz, ids, sources, types, place, status)
        select 'c' || row_number() over (), 'q0', '', magnitude, time::timestamptz, updated::timestamptz,
               imported_at::timestamptz, longitude, latitude, depth, number, number, number, number, number, whole, whole,
               whole, whole, list, list, list, place, 'automatic'
        from unnest('{-12, 12, null, 0}'::float8[]) as magnitude,
             unnest('{0001-01-01 00:00:00+00, 9999-12-31 00:00:00+00, 9999-12-31 23:59:59.999999+00}'::text[]) as time,
             unnest('{0001-01-01 00:00:00+00, 9999-12-31 23:59:59.999999+00}'::text[]) as updated,
             unnest('{0001-01-01 00:00:00+00, 9999-12-31 23:59:59.999999+00}'::text[]) as imported_at,
             (values (-360, -90, -6400, '-1.7976931348623157e308'::float8, -2147483648, '{}'::text[], ''),
                     (360, 90, 6400, '1.7976931348623157e308', 2147483647, '{a,"b, c"}', 'a, '),
                     (0, 0, null, null, null, null, null))
             as rest (longitude, latitude, depth, number, whole, list, place)
        """

    @Test("Reports work with the smallest, the greatest and the missing values that the table accepts")
    func extremes() async throws {
        try await server.withDatabase { database in
            try await database.query(Self.corners)
            try await database.query(
                "update quake set magnitude = -magnitude, status = 'reviewed' where sig <> 0")
            try await database.query("delete from quake where code in ('c1', 'c40', 'c140')")
            let views = try await database.query(
                "select c.oid::regclass::text as name from pg_class c where relkind = 'v' and relnamespace = 'report'::regnamespace"
            )
            #expect(views.count >= 14)
            for view in views {
                let name: String = try view.decode("name")
                // The row is converted to text, so that every column is computed.
                let rows = try await database.query(
                    "select count(view::text) as count from \(unescaped: name) as view")
                #expect(try rows[0].decode("count", as: Int.self) >= 0, "\(name)")
            }
            for call in [
                "quake, report.aftershocks(code)", "quake, report.aftershock_rate(code)",
                "report.magnitude_frequency()", "report.gutenberg_richter()",
                "(select min(net) as net from quake) as any_one, report.agency_comparison(net, net)",
                "report.gutenberg_richter(completeness => -12)",
                "report.magnitude_frequency(latitude => 90, longitude => 360, radius_km => 20100)",
            ] {
                _ = try await database.query(
                    "select count(t::text) from (select * from \(unescaped: call)) as t")
            }
            let quakes = try await database.query("select count(*) as count from quake")
            #expect(try quakes[0].decode("count") == 4 * 3 * 2 * 2 * 3 - 3)
        }
    }

    /// A single infinite or absurd value would break the status, the metrics and the reports for everyone.
    @Test("The worker's tables accept no infinite time, no NaN and no absurd count")
    func absurd() async throws {
        try await server.withDatabase { database in
            try await database.query("insert into import.run (source) values ('s')")
            for values in Self.absurdValues {
                let error = await #expect(throws: PostgresError.self, "\(values)") {
                    try await database.query("insert into \(unescaped: values)")
                }
                #expect(error?.sqlState == "23514", "\(values)")
            }
        }
    }

    private static let absurdValues = [
        "import.run (source, started) values ('s', 'infinity')",
        "import.run (source, finished) values ('s', '-infinity')",
        "import.run (source, every) values ('s', '178000000 years')",
        "import.run (source, every) values ('s', '1 month')",
        "notify.outbox (receiver, message, earthquakes, follows, created_at) values ('r', '{}', '{}', '{}', '-infinity')",
        "notify.outbox (receiver, message, earthquakes, follows, next_attempt_at) values ('r', '{}', '{}', '{}', 'infinity')",
        "import.run (source, seen) values ('s', 9223372036854775807)",
        "import.run (source, retracted) values ('s', -1)",
        "import.reject (run, source, ordinal, byte_offset, reason, message, raw, size, count) values (1, '', 1, 1, '', '', '', 1, 9223372036854775807)",
        "import.reject (run, source, ordinal, byte_offset, reason, message, raw, size, last_seen) values (1, '', 1, 1, '', '', '', 1, 'infinity')",
        "import.feed (source, checked_at) values ('s', 'infinity')",
        "import.feed (source, checked_at, generated) values ('s', now(), '-infinity')",
        "import.sweep (source, cursor) values ('s', 'infinity')",
        "import.sweep (source, long_at) values ('s', 'infinity')",
        "import.backfill (service, window_start, window_end, newest_first, reached) values ('s', '-infinity', now(), false, now())",
        "import.backfill (service, window_start, window_end, newest_first, reached) values ('s', now(), 'infinity', true, 'infinity')",
        "import.backfill (service, window_start, window_end, newest_first, reached, minimum_magnitude) values ('s', now(), now(), true, now(), 'nan')",
        "import.settled (service, feed, generated) values ('s', 'f', 'infinity')",
        "import.settled (service, feed, generated, covers) values ('s', 'f', now(), '[-infinity,2020-01-01)')",
        "import.settled (service, feed, generated, covers) values ('s', 'f', now(), '(,)')",
        "import.withdrawn (code, generated, reason) values ('c', 'infinity', '')",
        "import.deleted (code, time, updated) values ('c', 'infinity', now())",
        "import.coverage (service, minimum_magnitude, periods) values ('s', 'nan', '{[2020-01-01,2020-01-02)}')",
        "import.coverage (service, south, periods) values ('s', 'nan', '{[2020-01-01,2020-01-02)}')",
        "import.coverage (service, periods) values ('s', '{[-infinity,2020-01-02)}')",
        "import.coverage (service, periods) values ('s', '{(,2020-01-02)}')",
    ]

    @Test("Features beyond the limits are rejected with their reasons, and the others are imported")
    func rejected() async throws {
        try await server.withDatabase { database in
            let summary = try await database.importFeatures([
                SmallFeed.feature("a"), SmallFeed.feature("b", magnitude: "210"),
                SmallFeed.feature("c", magnitude: "-1e308"),
                SmallFeed.feature("d", updated: 253_402_300_800_000),
            ])
            #expect(summary.counts.inserted == 1 && summary.counts.rejected == 3)
            let rejects = try await database.query("select message from import.reject order by id")
            #expect(
                try rejects.map { try $0.decode("message", as: String.self) } == [
                    "mag is beyond ±12", "mag is beyond ±12", "updated: time outside the years 1 to 9999",
                ])
        }
    }

    @Test("A feature that a constraint of the table refuses is found in its batch and rejected alone")
    func refused() async throws {
        try await server.withDatabase { database in
            // The decoder does not know this constraint.
            try await database.query("alter table quake add constraint quake_own check (code <> 'q0c')")
            let summary = try await database.importFeatures(
                ["a", "b", "c", "d", "e"].map { SmallFeed.feature($0) })
            #expect(summary.counts.inserted == 4 && summary.counts.rejected == 1)
            let reject = try await database.query("select reason, message from import.reject")[0]
            #expect(try reject.decode("reason") == "refused")
            #expect(
                try reject.decode("message")
                    == "the server refused a value: new row for relation \"quake\" violates check constraint \"quake_own\" (SQLSTATE 23514)"
            )
        }
    }
}
