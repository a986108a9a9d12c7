import Feed
import Logging
import PostgreSQL
import QuakeServer
import QuakeStore
import SampleFeed
import TestSupport
import Testing

/// A second Quakes that takes in what a first one serves.
@Suite("A mirror of another Quakes")
struct MirrorTests {
    private let server = TestServer.shared

    @Test("It ends with the same table whenever it looks: inserted, changed, deleted, renamed and back")
    func sameTable() async throws {
        try await withPair { first, second, site in
            var writer = RandomWriter(seededRandom())
            for _ in 0..<12 {
                try await writer.write(1 + writer.random.below(4), to: first)
                let summary = try await second.mirror(site)
                #expect(summary.failure == nil)
                #expect(try await second.rows() == first.rows())
            }
            // A mirror that is up to date has nothing to do, and no run.
            let runs = try await second.query("select from import.run").count
            #expect(try await second.mirror(site).outcome == .notModified)
            #expect(try await second.query("select from import.run").count == runs)
        }
    }

    @Test("A deletion is one there and here, for the same reason; the author says whose it was, and where")
    func authors() async throws {
        try await withPair(namesAuthors: true) { first, second, site in
            try await first.importDocument(DayFeed.of(20).document)
            #expect(try await second.mirror(site).counts.inserted == 20)
            try await first.withConnection { connection in
                try await connection.execute(
                    script: """
                        begin;
                        select set_config('history.author', 'alice', true),
                               set_config('history.reason', 'superseded by usc4', true);
                        delete from quake where code = 'usc3';
                        commit
                        """, to: "delete an event")
            }
            let summary = try await second.mirror(site)
            #expect(summary.counts.retracted == 1 && summary.tokens != nil)
            let row = try await second.query(
                """
                select t.author, c.reason, c.key from history.change c join history.transaction t on t.id = c.transaction
                where c.operation = 'delete'
                """)[0]
            #expect(try row.decode("author") == "alice at 127.0.0.1")
            #expect(try row.decode("reason") == "superseded by usc4")
            #expect(try row.decode("key") == "usc3")
            #expect(try await second.query("select from import.deleted").isEmpty)
        }
    }

    @Test(
        "A position that no longer holds brings all rows anew, and what they lack goes, unless too much would"
    )
    func anew() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(60).document)
            try await second.mirror(site)
            try await second.query(
                "update import.mirror set position = regexp_replace(position, '_[^_]*$', '_0e2d3c00-0000-0000-0000-000000000000')"
            )
            try await first.query("delete from quake where code in ('usc1', 'usc2')")
            let summary = try await second.mirror(site)
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 2)
            #expect(try await second.rows() == first.rows())

            try await second.query("delete from import.mirror")
            try await first.query("delete from quake where code > 'usc3'")
            let held = try await second.mirror(site)
            #expect(held.failure is BrakeHeld)
            #expect(try await second.rows().count == 58)
            #expect(try await second.mirror(site) { $0.retraction = .force }.failure == nil)
            #expect(try await second.rows() == first.rows())
        }
    }

    @Test("An answer that is no stream of changes, or is cut off, changes nothing")
    func broken() async throws {
        try await server.withDatabase { database in
            let position =
                #"{"store":"0e2d3c00-0000-0000-0000-000000000000","token":7,"committed_at":"2026-11-21T09:00:00.123456Z","nonce":"3f9a01c7"}"#
            let answers: [(TestFeedServer.Answer, String)] = [
                (.whole(.ok, Array("<html>\n</html>\n".utf8)), "does not end with a position"),
                (.whole(.ok, Array("{\"snapshot\":\"x\"}\n".utf8)), "does not end with a position"),
                (.whole(.ok, Array("{\"snap\n\(position)\n".utf8)), "does not send the changes"),
                (.cutOff(Array("{\"snapshot\":\"x\"}\n\(position)\n".utf8), promised: 1000), "ended before"),
                (.whole(.serviceUnavailable, []), "503"),
            ]
            for (answer, reason) in answers {
                try await TestFeedServer.run(answering: { _ in answer }) { server in
                    let summary = try await database.mirror(server.url("/changes"))
                    #expect("\(summary.failure.map { "\($0)" } ?? "")".contains(reason))
                    #expect(try await database.query("select from import.mirror").isEmpty)
                }
            }
        }
    }

    @Test("A dry run writes nothing")
    func dryRun() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(5).document)
            let summary = try await second.mirror(site) { $0.isDryRun = true }
            #expect(summary.counts.inserted == 5)
            #expect(try await second.rows().isEmpty)
            #expect(try await second.query("select from import.mirror").isEmpty)
        }
    }

    @Test(
        "One that sweeps the first one's event service ends with the same table, deletions of any service included"
    )
    func sweeps() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(40).document)
            let service = site.url("/fdsnws/event/1/")
            func sweep() async throws -> ImportSummary {
                try await second.mirror(service) { $0.sweepsSince = Instant(milliseconds: 0) }
            }
            #expect(try await sweep().counts.inserted == 40)
            try await first.query(
                "update quake set magnitude = 7, updated = date_trunc('milliseconds', now()) where code = 'usc3'"
            )
            try await first.query("delete from quake where code in ('usc4', 'usc5')")
            let summary = try await sweep()
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 2 && summary.counts.updated == 1)
            #expect(try await second.rows() == first.rows())
            let reasons = try await second.query(
                "select distinct reason from history.change where operation = 'delete'")
            #expect(
                try reasons.map { try $0.decode("reason", as: String.self) } == [
                    "deleted by earthquake.usgs.gov"
                ])
        }
    }

    private func withPair(
        namesAuthors: Bool = false,
        _ body: @escaping @Sendable (TestDatabase, TestDatabase, TestSite) async throws -> Void
    ) async throws {
        var settings = ServerSettings.patient
        settings.namesAuthors = namesAuthors
        try await server.withDatabase { first in
            try await server.withDatabase { [settings] second in
                try await TestSite.run(of: first, settings) { site in
                    try await waitUntil { try await site.get("/health").status == 200 }
                    try await body(first, second, site)
                }
            }
        }
    }
}

extension TestDatabase {
    @discardableResult
    fileprivate func mirror(
        _ site: TestSite, _ change: (inout Importer.Options) -> Void = { _ in }
    ) async throws -> ImportSummary {
        try await mirror(site.url("/changes"), change)
    }

    @discardableResult
    fileprivate func mirror(
        _ url: String, _ change: (inout Importer.Options) -> Void = { _ in }
    ) async throws -> ImportSummary {
        var options = Importer.Options()
        options.fetch.sleep = { _ in }
        change(&options)
        return try await withConnection { [options] connection in
            try await Importer(connection, options: options, logger: .quiet).run(FeedSource(url))
        }
    }

    /// All there is, but when it came in.
    fileprivate func rows() async throws -> [String] {
        try await query("select (to_jsonb(quake) - 'imported_at')::text as row from quake order by code").map
        {
            try $0.decode("row")
        }
    }
}
