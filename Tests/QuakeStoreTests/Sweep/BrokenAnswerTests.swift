import Feed
import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// Covers answers with status 200 that contain text other than rows, because the service reports a failure in its answer.
@Suite("Answers that contain text other than rows")
struct BrokenAnswerTests {
    private let server = TestServer.shared
    private static let minute = 60_000
    private static let day = 86_400_000
    private static let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * minute
    private static let gfz = "http://geofon.gfz.de/fdsnws/event/1/"

    /// Keeps the first `rows` rows of an answer, and replaces the others with the lines `instead`.
    private struct Damage: Sendable {
        var rows: Int
        var instead: [String]
    }

    static let failures = [
        ["Error: MySQL server has gone away"],
        [
            "<br />",
            "<b>Warning</b>:  mysqli_query(): (HY000/2006): MySQL server has gone away in <b>/srv/q.php</b>",
            "", "</body></html>",
        ],
        ["Traceback (most recent call last):", "  File \"query.py\", line 12, in <module>", "MemoryError"],
        ["ORA-01555: snapshot too old | rollback | segment"],
        (1...30).map { "<tr><td>\($0)</td></tr>" }, [String(repeating: "x", count: 70_000)],
    ]

    /// Runs `body` with 40 events of the GFZ in the last days. The test calls `damage` to damage the answers.
    private func withEvents(
        _ body: (TestDatabase, TestCatalogue, TestFeedServer, _ damage: (Damage?) -> Void) async throws ->
            Void
    ) async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.text])
        catalogue.change { state in
            for number in 0..<40 {
                let time = Self.now - (number + 1) * Self.day / 20
                let letters =
                    "\(UnicodeScalar(UInt8(97 + number / 20)))\(UnicodeScalar(UInt8(97 + number % 20)))"
                state.add(.init("gfz2026aa\(letters)", time: time, updated: time))
            }
        }
        let damage = Mutex(nil as Damage?)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                guard case .whole(let status, let body, let headers) = catalogue.answer(request),
                    let damage = damage.withLock({ $0 }), body.first == UInt8(ascii: "#")
                else { return catalogue.answer(request) }
                let lines = String(decoding: body, as: UTF8.self).split(separator: "\n")
                let damaged = lines.prefix(1 + damage.rows) + damage.instead.map { $0[...] }
                return .whole(status, Array(damaged.map { "\($0)\n" }.joined().utf8), headers: headers)
            }) { server in
                try await body(database, catalogue, server) { value in damage.withLock { $0 = value } }
            }
        }
    }

    private func sweep(_ database: TestDatabase, _ catalogue: TestCatalogue, _ server: TestFeedServer)
        async throws -> ImportSummary
    {
        let now = Instant(milliseconds: Int64(catalogue.change { $0.now }))
        return try await database.sweep(Self.gfz, through: server) { $0.now = { now } }
    }

    @Test(
        "A sweep whose answer ends in an error imports its rows, deletes nothing and fails; the next sweep catches up",
        arguments: failures)
    func sweeps(failure: [String]) async throws {
        try await withEvents { database, catalogue, server, damage in
            #expect(try await sweep(database, catalogue, server).counts.inserted == 40)
            let cursor = try await database.cursor()
            catalogue.change { state in
                state.now += 10 * Self.minute
                state.events["gfz2026aabt"]?.magnitude = 5
                state.events["gfz2026aaab"] = nil
            }
            // The answer lists the oldest events first, so it lacks the three youngest. One of those was really deleted.
            damage(Damage(rows: 37, instead: failure))
            let second = try await sweep(database, catalogue, server)
            let text = second.failure.map { "\($0)" } ?? ""
            #expect(text.contains("FDSN text that ends with lines that are not rows"))
            #expect(second.counts.retracted == 0 && second.counts.updated == 1)
            #expect(try await database.count("quake") == 40)
            #expect(try await database.cursor() == cursor)
            let rejects: String = try await database.query(
                "select string_agg(convert_from(raw, 'UTF8'), E'\\n' order by ordinal) as lines from import.reject"
            )[0]
            .decode("lines")
            #expect(rejects.hasPrefix(String(failure[0].prefix(64 << 10))))
            damage(nil)
            catalogue.change { $0.now += 10 * Self.minute }
            let third = try await sweep(database, catalogue, server)
            #expect(third.failure == nil && third.counts.retracted == 1)
            #expect(try await database.count("quake") == 39)
        }
    }

    @Test(
        "If rows follow the error, the sweep succeeds but deletes nothing; comments and empty lines are allowed"
    )
    func middle() async throws {
        try await withEvents { database, catalogue, server, damage in
            #expect(try await sweep(database, catalogue, server).counts.inserted == 40)
            catalogue.change { state in
                state.now += 10 * Self.minute
                for code in ["gfz2026aaaa", "gfz2026aaab"] { state.events[code] = nil }
            }
            let row =
                "gfz2026aaaz|\(Instant(milliseconds: Int64(Self.now)))|1|2|3|||||mb|4.5||here|earthquake"
            damage(Damage(rows: 38, instead: ["Notice: Undefined offset: 7", row]))
            let second = try await sweep(database, catalogue, server)
            #expect(second.failure == nil && second.counts.retracted == 0 && second.counts.rejected == 1)
            #expect(try await database.count("quake") == 41)

            catalogue.change { $0.now += 10 * Self.minute }
            damage(Damage(rows: 38, instead: ["", "# Error: a comment", "  ", "#", row]))
            let third = try await sweep(database, catalogue, server)
            #expect(third.failure == nil && third.counts.retracted == 2 && third.counts.rejected == 0)
            #expect(try await database.count("quake") == 39)
        }
    }

    @Test(
        "A backfill stops at an answer that ends in an error, and its next run continues from there",
        arguments: failures.prefix(2))
    func backfill(failure: [String]) async throws {
        try await withEvents { database, catalogue, server, damage in
            #expect(try await sweep(database, catalogue, server).counts.inserted == 40)
            catalogue.change { $0.events["gfz2026aaab"] = nil }
            damage(Damage(rows: 37, instead: failure))
            var options = Backfill.Options(from: Instant(milliseconds: Int64(Self.now - 10 * Self.day)))
            options.to = Instant(milliseconds: Int64(Self.now))
            options.service = try #require(EventService(.url(Self.gfz)))
            options.pace = .zero
            func run() async throws -> Backfill.Progress {
                try await database.withConnection { [options] connection in
                    try await Backfill(
                        connection, options, imports: .through(server), logger: .quiet
                    ).run()
                }
            }
            await #expect(throws: FeedError.self) { try await run() }
            #expect(try await database.count("quake") == 40)
            #expect(try await database.count("import.backfill where finished_at is null") == 1)
            damage(nil)
            #expect(try await run().counts.retracted == 1)
            #expect(try await database.count("quake") == 39)
        }
    }

    @Test("A verification stops at an answer that ends in an error")
    func verification() async throws {
        try await withEvents { database, catalogue, server, damage in
            #expect(try await sweep(database, catalogue, server).counts.inserted == 40)
            damage(Damage(rows: 37, instead: Self.failures[0]))
            var options = Verification.Options(
                from: Instant(milliseconds: Int64(Self.now - 10 * Self.day)),
                to: Instant(milliseconds: Int64(Self.now)))
            options.service = try #require(EventService(.url(Self.gfz)))
            await #expect(throws: FeedError.self) {
                try await database.withConnection { [options] connection in
                    try await Verification(
                        connection, options, imports: .through(server), logger: .quiet
                    ).run()
                }
            }
        }
    }

    @Test(
        "A file or a query that ends in an error is bad data, but its rows are imported", arguments: failures)
    func documents(failure: [String]) async throws {
        try await withEvents { database, catalogue, server, damage in
            _ = try await sweep(database, catalogue, server)
            damage(Damage(rows: 37, instead: failure))
            let query =
                "\(Self.gfz)query?format=text&starttime=\(Instant(milliseconds: Int64(Self.now - 5 * Self.day)))&endtime=\(Instant(milliseconds: Int64(Self.now)))"
            let summary = try await database.sweep(query, through: server)
            #expect(summary.failure is FeedError && summary.counts.unchanged == 37)
            #expect(try await database.count("quake") == 40)
            #expect(try await database.count("import.feed") == 0)

            let file = try await database.importDocument(
                AgencyImportTests.text(AgencyImportTests.row("gfz2026bbbb"))
                    + failure.map { "\($0)\n" }.joined())
            #expect(file.failure is FeedError && file.counts.inserted == 1)
            #expect(try await database.count("quake") == 41)
        }
    }

    @Test("A file that ends in an error deletes nothing", .needsFieldSamples)
    func sample() async throws {
        try await server.withDatabase { database in
            let summary = try await database.importFile(FieldSamples.path("text-then-error.txt"))
            #expect(
                summary.failure is FeedError && summary.counts.inserted == 2 && summary.counts.retracted == 0)
        }
    }

    @Test(
        "After a feature without a readable id, a sweep by origin times treats no event as missing"
    )
    func unreadable() async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.count, .geojson])
        catalogue.change { state in
            for number in 1...20 {
                let time = Self.now - number * Self.day / 10
                state.add(.init("us\(1000 + number)", time: time, updated: time))
            }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                func sweep() async throws -> ImportSummary {
                    let now = Instant(milliseconds: Int64(catalogue.change { $0.now }))
                    return try await database.sweep(through: server) { $0.now = { now } }
                }
                #expect(try await sweep().counts.inserted == 20)
                catalogue.change { state in
                    state.now += 10 * Self.minute
                    state.events["us1003"] = nil
                    state.features["us1004"] = #"{"type":"Feature","id":7}"#
                }
                let second = try await sweep()
                #expect(second.failure == nil && second.counts.retracted == 0 && second.counts.rejected == 1)
                #expect(try await database.count("quake") == 20)
                catalogue.change { state in
                    state.now += 10 * Self.minute
                    state.features = [:]
                }
                #expect(try await sweep().counts.retracted == 1)
            }
        }
    }

    // MARK: Empty answers

    @Test(
        "An empty answer to a request for text counts as a list without events, and deletes nothing"
    )
    func empty() async throws {
        try await withEvents { database, catalogue, server, _ in
            _ = try await sweep(database, catalogue, server)
            try await TestFeedServer.run(answering: { _ in .whole(.ok, []) }) { silent in
                catalogue.change { $0.now += 10 * Self.minute }
                let summary = try await sweep(database, catalogue, silent)
                #expect(summary.failure == nil && summary.counts.retracted == 0)
                let query = try await database.sweep("\(Self.gfz)query?format=text", through: silent)
                #expect(query.failure == nil && query.counts.seen == 0)
                #expect(
                    try await database.sweep("http://geofon.gfz.de/x.txt", through: silent).failure
                        is FeedError)
                #expect(try await database.count("quake") == 40)
            }
        }
    }
}
