import Feed
import Foundation
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

@Suite("Conditional imports")
struct ConditionalImportTests {
    let server = TestServer.shared

    @Test("An unchanged feed makes no run and no token; only the time of the check changes")
    func notModified() async throws {
        try await withFeed { database, feed, current in
            #expect(try await database.run(feed).counts.inserted == 1)
            let before = try await database.state()

            let summary = try await database.run(feed)

            #expect(summary.outcome == .notModified)
            #expect(summary.run == nil && summary.failure == nil)
            let after = try await database.state()
            #expect(after.runs == before.runs && after.token == before.token)
            #expect(after.checkedAt > before.checkedAt)

            current.value.withLock {
                $0 = .init(tag: "two", document: SmallFeed.document([SmallFeed.feature("b")]))
            }
            #expect(try await database.run(feed).counts.inserted == 1)
        }
    }

    @Test("The date of the newest document stays if the server then sends an older one")
    func olderDocument() async throws {
        try await withFeed { database, feed, current in
            for made in [2000, 1000] {
                let document = """
                    {"type":"FeatureCollection","metadata":{"generated":\(made)},"features":[\(SmallFeed.feature("a"))]}
                    """
                current.value.withLock { $0 = .init(tag: "\(made)", document: document) }
                #expect(try await database.run(feed).failure == nil)
            }
            let generated: Instant = try await database.query("select generated from import.feed")[0].decode(
                "generated")
            #expect(generated == Instant(milliseconds: 2000))
        }
    }

    @Test("An unchanged feed creates no temporary table")
    func notModifiedIsCheap() async throws {
        try await withFeed { database, feed, _ in
            #expect(try await database.run(feed).counts.inserted == 1)
            try await database.withConnection { connection in
                let importer = try await Importer(connection, logger: .quiet)
                #expect(try await importer.run(.url(feed)).outcome == .notModified)
                let tables = try await connection.query(
                    "select relname from pg_class where pg_is_other_temp_schema(relnamespace) = false and relpersistence = 't'",
                    to: "look for temporary tables")
                #expect(tables.isEmpty)
            }
        }
    }

    @Test("A feed that was not imported successfully is not treated as unchanged")
    func failedRun() async throws {
        try await withFeed { database, feed, current in
            let whole = current.value.withLock { $0.document }
            current.value.withLock { $0.document = String(whole.dropLast(2)) }
            let broken = try await database.run(feed)
            #expect(broken.failure != nil)
            #expect(try await database.count("import.feed") == 0)

            // This document has the same ETag as the broken one.
            current.value.withLock { $0.document = whole }
            #expect(try await database.run(feed).counts.inserted == 1)
        }
    }

    @Test("A feed that was fetched while the database's clock was ahead is fetched again")
    func clockAhead() async throws {
        try await withFeed { database, feed, _ in
            #expect(try await database.run(feed).counts.inserted == 1)
            try await database.query("update import.feed set fetched_at = now() + interval '2 days'")
            try await database.query("delete from quake")
            #expect(try await database.run(feed).counts.inserted == 1)
            #expect(try await database.run(feed).outcome == .notModified)
        }
    }

    @Test("A feed whose deletions the brake held back does not count as imported")
    func braked() async throws {
        try await withFeed { database, feed, current in
            func document(_ minute: Int, _ codes: ClosedRange<Int>) -> String {
                Feed("all_day", at: minute, codes.map { Event("us\($0)") }).json
            }
            current.value.withLock { $0 = .init(tag: "one", document: document(60, 1...30)) }
            let first = try await database.run(feed)
            #expect(first.failure == nil)
            current.value.withLock { $0 = .init(tag: "two", document: document(120, 20...30)) }
            for _ in 0..<2 {
                #expect(try await database.run(feed).failure is BrakeHeld)
            }
        }
    }

    @Test("A feed that was not settled is not treated as unchanged", arguments: ["never", "unreadable"])
    func unsettled(_ reason: String) async throws {
        try await withFeed { database, feed, current in
            let events = (1...40).map { Event("us\($0)") }
            current.value.withLock { $0 = .init(tag: "one", document: Feed("all_day", at: 60, events).json) }
            #expect(try await database.run(feed).failure == nil)
            let rest = Feed(
                "all_day", at: 120, Array(events[..<30]),
                more: reason == "unreadable" ? "{\"type\":\"Feature\",\"id\":7}" : nil)
            current.value.withLock { $0 = .init(tag: "two", document: rest.json) }
            if reason == "never" {
                #expect(try await database.run(feed).failure is BrakeHeld)
                #expect(try await database.run(feed, .never).failure == nil)
            } else {
                #expect(try await database.run(feed).failure == nil)
                // The server has repaired the document, but kept its ETag.
                current.value.withLock { $0.document = Feed("all_day", at: 120, Array(events[..<30])).json }
            }

            let forced = try await database.run(feed, .force)

            #expect(forced.outcome == .done)
            #expect(try await database.count("quake") == 30)
            #expect(try await database.run(feed).outcome == .notModified)
        }
    }

    @Test(
        "An event that a person deletes comes back, even if the feed is unchanged and a newer document was settled"
    )
    func deleted() async throws {
        try await withFeed { database, feed, current in
            let events = (1...8).map { Event("us\($0)") }
            current.value.withLock { $0 = .init(tag: "one", document: Feed("all_day", at: 60, events).json) }
            #expect(try await database.run(feed).failure == nil)
            try await database.settle(Feed("all_week", at: 70, events))
            #expect(try await database.run(feed).outcome == .notModified)
            try await database.withConnection { try await Deletion.delete(["us1"], reason: nil, on: $0) }
            try await database.query("delete from quake where code = 'us2'")
            try await database.query("update quake set code = 'mine' where code = 'us3'")

            let back = try await database.run(feed)

            #expect(back.outcome == .done)
            #expect(try await database.codes() == Set(events.map(\.code) + ["mine"]))
            #expect(try await database.run(feed).outcome == .notModified)
        }
    }

    /// person                       worker
    ///
    /// deletes us1
    ///                              imports the feed with us1, which the table still contains
    /// commits
    ///                              imports the feed again
    @Test("An event that a person deletes comes back, even if the deletion is committed late")
    func deletedMeanwhile() async throws {
        try await withFeed { database, feed, current in
            let events = (1...8).map { Event("us\($0)") }
            current.value.withLock { $0 = .init(tag: "one", document: Feed("all_day", at: 60, events).json) }
            #expect(try await database.run(feed).failure == nil)
            try await database.withConnection { person in
                try await person.execute(
                    script: "begin; delete from quake where code = 'us1'", to: "delete an event")
                current.value.withLock { $0.tag = "two" }
                #expect(try await database.run(feed).figures == [0, 0, 8, 0, 0])
                try await person.execute(script: "commit", to: "commit")
            }

            #expect(try await database.run(feed).counts.inserted == 1)
            #expect(try await database.run(feed).outcome == .notModified)
        }
    }

    @Test("An event that a person deletes stays deleted if a later document lacks it")
    func deletedForGood() async throws {
        try await server.withDatabase { database in
            let events = (1...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))
            try await database.query("delete from quake where code = 'us1'")
            try await database.settle(Feed("all_day", at: 120, Array(events.dropFirst())))

            let late = try await database.settle(Feed("all_week", at: 70, events))

            #expect(late.counts.stale == 1)
            #expect(try await database.count("quake") == 7)
        }
    }

    private struct Content {
        var tag: String
        var document: String
    }

    /// Runs `body` with a feed server that answers 304 to requests with the current ETag.
    private func withFeed(
        _ body: (TestDatabase, String, Shared) async throws -> Void
    ) async throws {
        let content = Shared(Content(tag: "one", document: SmallFeed.document([SmallFeed.feature("a")])))
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                content.value.withLock { content in
                    request.headers["if-none-match"].first == content.tag
                        ? .whole(.notModified, [])
                        : .whole(.ok, Array(content.document.utf8), headers: ["etag": content.tag])
                }
            }) { server in
                try await body(database, server.url("/feed"), content)
            }
        }
    }

    private final class Shared: Sendable {
        let value: Mutex<Content>
        init(_ content: Content) { value = Mutex(content) }
    }
}

extension TestDatabase {
    fileprivate func run(
        _ url: String, _ retraction: Importer.Retraction = .auto
    ) async throws -> ImportSummary {
        var options = Importer.Options()
        options.retraction = retraction
        return try await withConnection { [options] connection in
            try await Importer(connection, options: options, logger: .quiet).run(.url(url))
        }
    }

    fileprivate func state() async throws -> (runs: Int, token: Int, checkedAt: String) {
        let row = try await query(
            """
            select (select count(*) from import.run) as runs, history.current_token() as token,
                   (select checked_at::text from import.feed) as checked_at
            """)[0]
        return try (row.decode("runs"), row.decode("token"), row.decode("checked_at"))
    }
}
