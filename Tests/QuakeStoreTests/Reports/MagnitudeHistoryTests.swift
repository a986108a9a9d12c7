import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

/// Covers which magnitude of an event was known at which time.
@Suite("Magnitudes over the time since the origin")
struct MagnitudeHistoryTests {
    let server = TestServer.shared

    @Test(
        "Each magnitude has a period that ends when the magnitude is revised; other revisions begin no period"
    )
    func versions() async throws {
        try await server.withDatabase { database in
            for (updated, magnitude, status) in [
                (1000, "4.1", "automatic"), (2000, "4.1", "reviewed"), (3000, "null", "reviewed"),
                (4000, "5.3", "reviewed"),
            ] {
                try await database.importFeatures([
                    SmallFeed.feature(
                        "a", updated: updated, magnitude: magnitude, more: "\"status\":\"\(status)\""),
                    SmallFeed.feature("b"),
                ])
            }
            let commits = try await database.query(
                "select extract(epoch from committed_at)::double precision as at from history.transaction order by token"
            ).map { try $0.decode("at", as: Double.self) }
            try #require(commits.count == 4)

            let rows = try await database.query(
                "select * from report.magnitude_history where code = 'q0a' order by from_age_s")

            #expect(
                try rows.map { try $0.decodeIfPresent("magnitude", as: Double.self) } == [4.1, nil, 5.3])
            // The origin is one second after the beginning of 1970. The first version counts from the beginning of its import.
            let from = try rows.map { try $0.decode("from_age_s", as: Double.self) }
            let to = try rows.map { try $0.decodeIfPresent("to_age_s", as: Double.self) }
            #expect(abs(from[1] - commits[2] + 1) < 1e-3 && abs(from[2] - commits[3] + 1) < 1e-3)
            #expect(from[0] <= commits[0] && to[0] == from[1] && to[1] == from[2] && to[2] == nil)
            #expect(
                try rows.map { try $0.decodeIfPresent("ended", as: String.self) }
                    == ["revised", "revised", nil])
            #expect(try await database.query("select from report.magnitude_history").count == 4)
        }
    }

    /// The documentation's query for the magnitudes that were known an hour after the origin.
    private static let firstHour: Query = """
        select code, magnitude from report.magnitude_history
        where from_age_s <= 3600 and (to_age_s is null or to_age_s > 3600)
        """

    @Test("The magnitude known an hour after the origin is found, even if the event was deleted later")
    func firstHour() async throws {
        try await server.withDatabase { database in
            // The history's times are moved to 10 min, 40 min and 3 h after the origin.
            try await database.importFeatures([
                SmallFeed.feature("a", magnitude: "4.1"), SmallFeed.feature("b", magnitude: "2"),
            ])
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "5.3")])
            try await database.importFeatures([
                SmallFeed.feature("a", updated: 3000, magnitude: "4.9"),
                SmallFeed.feature("late", magnitude: "3"),
            ])
            try await database.withConnection {
                try await Deletion.delete(["q0b"], reason: "retracted by all_day", on: $0)
            }
            try await database.execute(
                """
                set session_replication_role = replica;
                update quake set imported_at = time + case code when 'q0late' then interval '3 hours' else interval '10 minutes' end;
                update history.change set before = before || '{"imported_at": "1970-01-01T00:10:01+00:00"}'
                where operation = 'delete';
                update history.transaction set committed_at = '1970-01-01 00:00:01+00'::timestamptz
                    + case token when 1 then interval '10 minutes' when 2 then interval '40 minutes' else interval '3 hours' end;
                update history.store set pruned_committed_at = '1970-01-01 00:00:01+00'
                """)
            let known = try await database.query(Self.firstHour).reduce(into: [String: Double]()) {
                $0[try $1.decode("code")] = try $1.decode("magnitude")
            }
            #expect(known == ["q0a": 5.3, "q0b": 2])
            let gone = try await database.query(
                "select * from report.magnitude_history where code = 'q0b'")
            #expect(gone.count == 1)
            #expect(try gone[0].decode("ended") == "withdrawn")
            #expect(try gone[0].decode("to_age_s") == 10_800.0)
        }
    }

    @Test(
        "After pruning, the magnitude at the horizon has no known start, and the event has no first magnitude"
    )
    func pruned() async throws {
        try await server.withDatabase { database in
            for (updated, magnitude, status) in [(1000, "5.4", "automatic"), (2000, "5.7", "reviewed")] {
                try await database.importFeatures([
                    SmallFeed.feature(
                        "a", updated: updated, magnitude: magnitude, more: "\"status\":\"\(status)\""),
                    SmallFeed.feature("gone"),
                ])
            }
            try await database.query("select history.prune('0')")
            try await database.importFeatures([
                SmallFeed.feature("a", updated: 3000, magnitude: "5.9", more: "\"status\":\"reviewed\""),
                SmallFeed.feature("new", more: "\"status\":\"reviewed\""),
            ])
            try await database.query("delete from quake where code = 'q0gone'")

            let versions = try await database.query(
                """
                select h.*, h.known_since = s.pruned_committed_at as is_since_horizon, h.known_since = h.known_at as is_since_commit
                from report.magnitude_history h, history.store s where code in ('q0a', 'q0gone') order by code, to_age_s
                """)
            #expect(
                try versions.map { try $0.decode("magnitude", as: Double.self) } == [5.7, 5.9, 1.5])
            #expect(
                try versions.map { try $0.decodeIfPresent("from_age_s", as: Double.self) == nil } == [
                    true, false, true,
                ])
            #expect(
                try versions.map { try $0.decodeIfPresent("is_since_commit", as: Bool.self) } == [
                    nil, true, nil,
                ])
            #expect(
                try versions.map { try $0.decode("is_since_horizon", as: Bool.self) } == [true, false, true])

            let revisions = try await database.query(
                """
                select r.*, r.known_since = s.pruned_committed_at as is_since_horizon
                from report.revision r, history.store s order by code
                """)
            #expect(
                try revisions.map { try $0.decodeIfPresent("first_magnitude", as: Double.self) } == [
                    nil, 1.5,
                ]
            )
            #expect(try revisions.map { try $0.decode("last_magnitude", as: Double.self) } == [5.9, 1.5])
            #expect(
                try revisions.map { try $0.decodeIfPresent("first_review_status", as: String.self) } == [
                    nil, "reviewed",
                ])
            #expect(
                try revisions.map { try $0.decodeIfPresent("review_delay_s", as: Double.self) == nil } == [
                    true, false,
                ])
            #expect(try revisions.map { try $0.decode("revisions", as: Int.self) } == [1, 0])
            #expect(
                try revisions.map { try $0.decode("is_since_horizon", as: Bool.self) } == [true, false])
        }
    }

    @Test("The first magnitude of an event that was imported before history began is unknown")
    func older() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.execute(
                """
                truncate history.change, history.transaction;
                update history.store set pruned_committed_at = now()
                """)
            let row = try await database.query(
                """
                select h.from_age_s, r.first_magnitude, r.known_since = s.pruned_committed_at as is_since_horizon
                from report.magnitude_history h, report.revision r, history.store s
                """)[0]
            #expect(try row.decodeIfPresent("from_age_s", as: Double.self) == nil)
            #expect(try row.decodeIfPresent("first_magnitude", as: Double.self) == nil)
            #expect(try row.decode("is_since_horizon") == true)
        }
    }
}
