import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("A document from the future")
struct FutureDocumentTests {
    let server = TestServer.shared
    private let now = Int(Date().timeIntervalSince1970) / 60
    private var events: [Event] { (1...8).map { Event("us\($0)", time: now - 60, updated: now - 60) } }

    @Test("A document from the future is imported, but settles nothing, and has no effect on later documents")
    func settlesNothing() async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("all_day", at: now - 30, events))
            let log = RecordedLog()
            let document = Feed(
                "all_day", at: now + 23 * 60,
                [Event("ci2", time: now - 60, updated: now, ids: ["us2"])] + events.dropFirst(2)
            ).json

            let summary = try await SmallFeed.withFile(document) { path in
                try await database.withConnection { connection in
                    try await Importer(connection, logger: log.logger).run(.file(path))
                }
            }

            #expect(summary.outcome == .done)
            #expect(summary.counts.inserted == 1)
            #expect(summary.counts.retracted + summary.counts.superseded == 0)
            let warning = try #require(summary.warning)
            #expect(warning.contains("more than 5 minutes in the future"))
            #expect(log.lines.contains { $0.hasPrefix("warning: ") && $0.hasSuffix(warning) })
            let run = try await database.query(
                "select outcome, error from import.run order by id desc limit 1")[0]
            #expect(try run.decode("outcome") == "done")
            #expect(try run.decode("error") == warning)
            #expect(try await database.count("import.settled") == 1)
            #expect(try await database.count("import.withdrawn") == 0)

            let genuine = try await database.settle(
                Feed("all_day", at: now, events.dropFirst() + [Event("us9", time: now - 5, updated: now - 5)])
            )
            #expect(genuine.warning == nil)
            #expect(genuine.counts.inserted == 1 && genuine.counts.stale == 0)
            // The last document lacks us1, so us1 was deleted. It also lacks ci2, which is deleted only if its revision is old
            // enough.
            #expect(try await database.codes().subtracting(["ci2"]) == Set((2...9).map { "us\($0)" }))
        }
    }

    @Test("An event whose revision is dated in the future is replaced by any version, and can be withdrawn")
    func futureRevision() async throws {
        try await server.withDatabase { database in
            let others = events.dropFirst()
            let wrong = Event("us1", time: now - 60, updated: now + 60 * 24 * 365)
            try await database.settle(Feed("all_day", at: now - 30, [wrong] + others))
            let right = Event("us1", time: now - 60, updated: now - 25)
            let corrected = try await database.settle(Feed("all_day", at: now - 20, [right] + others))
            #expect(corrected.counts.updated == 1 && corrected.counts.stale == 0)
            try await database.settle(Feed("all_day", at: now - 15, [wrong] + others))
            #expect(
                try await database.settle(Feed("all_day", at: now - 10, Array(others))).counts.retracted == 1)
            // The service states the deletion, or gives the event another code.
            try await database.settle(Feed("all_day", at: now - 8, [wrong] + others))
            let deleted = SmallFeed.document([
                #"{"type":"Feature","properties":{"updated":\#((now - 7) * 60_000),"status":"deleted","url":"https://\#(Event.host)/e"},"geometry":null,"id":"us1"}"#
            ])
            #expect(try await database.importDocument(deleted).counts.retracted == 1)
            try await database.settle(Feed("all_day", at: now - 5, [wrong] + others))
            let renamed = Event("ci1", time: now - 60, updated: now - 4, ids: ["us1", "ci1"])
            #expect(
                try await database.settle(Feed("all_day", at: now - 3, [renamed] + others)).counts.superseded
                    == 1)
        }
    }

    @Test("A clock that is a few minutes fast is accepted")
    func fastClock() async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("all_day", at: now - 30, events))
            let summary = try await database.settle(Feed("all_day", at: now + 3, Array(events.dropFirst())))
            #expect(summary.counts.retracted == 1)
            #expect(summary.warning == nil)
        }
    }

    @Test("The time of a document from the future is not kept, and the document is fetched again")
    func isFetchedAgain() async throws {
        try await server.withDatabase { database in
            let document = Feed("all_day", at: now + 23 * 60, events).json
            try await TestFeedServer.run(answering: { _ in
                .whole(.ok, Array(document.utf8), headers: ["etag": "\"one\""])
            }) { server in
                for _ in 0..<2 {
                    let summary = try await database.withConnection { connection in
                        try await Importer(connection, logger: .quiet).run(
                            .url(server.url("/all_day.geojson")))
                    }
                    #expect(summary.warning != nil)
                }
                #expect(try await database.count("import.feed") == 0)
                #expect(server.requests.allSatisfy { $0.headers["if-none-match"].isEmpty })
            }
        }
    }

    @Test(
        "Long documents from the future settle nothing, neither in a batch nor at the end", arguments: [1, 2])
    func long(batchSize: Int) async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("all_day", at: now - 30, events))
            let summary = try await database.settle(
                Feed("all_day", at: now + 23 * 60, Array(events.dropFirst())), batchSize)
            #expect(summary.warning != nil)
            #expect(try await database.codes().count == 8)
        }
    }
}
