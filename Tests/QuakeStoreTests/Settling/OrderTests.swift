import Foundation
import PostgreSQL
import QuakeStore
import SampleFeed
import TestSupport
import Testing

/// The final table is the same for any order of documents and for any number of workers.
@Suite("Documents in any order")
struct OrderTests {
    let server = TestServer.shared

    @Test("Real hourly documents in any order end with the same table", .needsRealFeeds)
    func replay() async throws {
        var random = seededRandom("replay")
        let paths = rounds(20, of: 120).map { number in
            let name = String("00\(number - 1)".suffix(3)) + ".geojson.gz"
            return RealFeeds.folder.appending(path: "replay-all_day/\(name)").path
        }
        try await server.withDatabase { database in
            for path in paths { #expect(try await database.importFile(path).failure == nil) }
            let expected = try await database.catalogue()
            for workers in [1, 6] {
                try await database.forgetAll()
                try await sideBySide(workers, paths.shuffled(using: &random)) { path in
                    let summary = try await database.importFile(path)
                    #expect(summary.failure == nil)
                }
                #expect(
                    try await database.catalogue().differences(from: expected) == [],
                    "\(workers) side by side")
            }
        }
    }

    @Test("If two versions have the same revision time, the one in the later document stays, in either order")
    func tie() async throws {
        try await server.withDatabase { database in
            let documents = [
                Feed("2.5_day", at: 60, [Event("us1", felt: 1)]),
                Feed("2.5_day", at: 61, [Event("us1", felt: 2)]),
            ]
            for isReversed in [false, true] {
                for document in isReversed ? documents.reversed() : documents {
                    try await database.settle(document)
                }

                #expect(try await database.column("felt") == ["us1": "2"], "reversed: \(isReversed)")
                try await database.forgetAll()
            }
        }
    }

    /// For hours, documents of one feed may alternate between two revisions. Two feeds may also be made at the same moment.
    @Test(
        "If a newer or equally old document lists an earlier revision of an event, the later revision stays, in either order"
    )
    func twoRevisions() async throws {
        try await server.withDatabase { database in
            for (feed, minute) in [("all_hour", 60), ("2.5_day", 60), ("2.5_day", 80), ("all_week", 80)] {
                let documents = [
                    Feed(feed, at: minute, [Event("us1", time: 30, updated: 50, felt: 2)]),
                    Feed("all_hour", at: 80, [Event("us1", time: 29, updated: 40, felt: 1)]),
                ]
                for isReversed in [false, true] {
                    let order = "\(feed)@\(minute), reversed: \(isReversed)"
                    for document in isReversed ? documents.reversed() : documents {
                        let summary = try await database.settle(document)
                        #expect(summary.counts.retracted == 0, "\(order)")
                    }

                    #expect(try await database.column("felt") == ["us1": "2"], "\(order)")
                    try await database.forgetAll()
                }
            }
        }
    }

    /// Four documents are imported in 6 of their 24 orders; with THOROUGH=1, in all of them.
    @Test("Every order of a few documents ends with the same table")
    func permutations() async throws {
        try await server.withDatabase { database in
            var random = seededRandom()
            for situation in Situation.all {
                for order in situation.documents.permutations.shuffled(using: &random).prefix(
                    rounds(6, of: 24).count)
                {
                    for document in order { try await database.settle(document.feed, retraction: .force) }
                    let names = order.map { "\($0.name)@\($0.minute)" }
                    #expect(try await database.codes() == situation.codes, "\(situation.name): \(names)")
                    try await database.forgetAll()
                }
            }
        }
    }
}

/// A few documents, and the codes that they leave in the table.
struct Situation: Sendable {
    let name: String
    let documents: [Document]
    let codes: Set<String>

    init(_ name: String, _ codes: Set<String>, _ documents: Document...) {
        (self.name, self.documents, self.codes) = (name, documents, codes)
    }

    static let all = [
        Situation(
            "the window of a late document ends before a newer document's window", ["us2", "us9"],
            Document(
                "all_hour", 60, [Event("us1", time: 30, updated: 31), Event("us2", time: 30, updated: 31)]),
            Document("all_hour", 80, [Event("us2", time: 30, updated: 31)]),
            Document("all_hour", 1000, [Event("us9", time: 990, updated: 991)])),
        Situation(
            "an event is withdrawn, listed again and withdrawn again", ["us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 120, [Event("us2")]),
            Document("all_day", 180, [Event("us1"), Event("us2")]),
            Document("all_day", 240, [Event("us2")])),
        Situation(
            "a feed with only some of the events lists an event again", ["us1", "us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 120, [Event("us2")]),
            Document("2.5_day", 180, [Event("us1")]),
            Document("2.5_day", 200, [Event("us2")])),
        Situation(
            "a revision moves an event out of a window", ["us1", "us2"],
            Document(
                "all_hour", 70, [Event("us1", time: 50, updated: 51), Event("us2", time: 60, updated: 61)]),
            Document("2.5_day", 90, [Event("us1", time: 10, updated: 80)]),
            Document("all_hour", 105, [Event("us2", time: 60, updated: 61)])),
        Situation(
            "a revision moves an event into a window", ["us2"],
            Document(
                "all_hour", 50, [Event("us1", time: 40, updated: 41), Event("us2", time: 60, updated: 61)]),
            Document("2.5_day", 90, [Event("us1", time: 48, updated: 80)]),
            Document("all_hour", 105, [Event("us2", time: 60, updated: 61)])),
        Situation(
            "an event is revised just before a document that lacks it", ["us1", "us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 118, [Event("us1", updated: 117), Event("us2")]),
            Document("all_day", 120, [Event("us2")])),
        Situation(
            "a feed with only some of the events renames an event", ["ci1", "us2"],
            Document("2.5_day", 60, [Event("us1"), Event("us2")]),
            Document("2.5_day", 118, [Event("us1", updated: 117), Event("us2")]),
            Document("2.5_day", 120, [Event("ci1", updated: 119, ids: ["us1", "ci1"]), Event("us2")])),
        Situation(
            "an event is renamed and gets its old code back", ["us1"],
            Document("2.5_day", 60, [Event("us1")]),
            Document("2.5_day", 120, [Event("ci1", updated: 119, ids: ["us1", "ci1"])]),
            Document("2.5_day", 180, [Event("us1", updated: 179, ids: ["us1", "ci1"])])),
        Situation(
            "a newer document lists an event in an unreadable version", ["us1", "us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 120, [Event("us1", isBroken: true), Event("us2")]),
            Document("all_day", 180, [Event("us1", isBroken: true), Event("us2")])),
        Situation(
            "a revision moves an event's origin across the start of a window", ["us1", "us2"],
            Document(
                "all_hour", 70, [Event("us1", time: 12, updated: 15), Event("us2", time: 60, updated: 61)]),
            Document(
                "all_hour", 71, [Event("us1", time: 12, updated: 15), Event("us2", time: 60, updated: 61)]),
            Document("all_hour", 72, [Event("us2", time: 60, updated: 61)])),
        Situation(
            "a newer document lists an earlier revision, and only the earlier origin is in the window",
            ["us1", "us2"],
            Document(
                "all_day", 60, [Event("us1", time: 20, updated: 50), Event("us2", time: 40, updated: 41)]),
            Document("all_day", 70, [Event("us2", time: 40, updated: 41)]),
            Document(
                "all_hour", 90, [Event("us1", time: 40, updated: 45), Event("us2", time: 40, updated: 41)])),
        Situation(
            "two feeds of one moment differ", ["us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 120, [Event("us1"), Event("us2")]),
            Document("all_week", 120, [Event("us2")])),
        Situation(
            "two services have feeds of the same name and moment", ["us2"],
            Document(
                "all_day", 60,
                [Event("us1", time: 20, updated: 22), Event("us2", time: 20, updated: 22)],
                "other.example.org"),
            Document("all_day", 60, [Event("us2", time: 20, updated: 22)])),
        Situation(
            "the first version of a renamed event is far from the new one", ["ci1"],
            Document("2.5_day", 60, [Event("us1", time: 2, updated: 30)]),
            Document("2.5_day", 62, [Event("us1", time: 20, updated: 56)]),
            Document("2.5_day", 66, [Event("ci1", time: 21, updated: 65, ids: ["us1", "ci1"])])),
        Situation(
            "two feeds of one moment list versions that are older than a third feed's", ["us1", "us2"],
            Document("2.5_day", 66, [Event("us1", time: 31, updated: 58)]),
            Document(
                "all_hour", 72, [Event("us1", time: 20, updated: 22), Event("us2", time: 40, updated: 41)]),
            Document("significant_day", 72, [Event("us1", time: 2, updated: 40)])),
        Situation(
            "a feed of the same moment lists a version outside another feed's window", ["us1", "us2"],
            Document("2.5_day", 66, [Event("us1", time: 20, updated: 40)]),
            Document(
                "all_hour", 72, [Event("us1", time: 20, updated: 22), Event("us2", time: 40, updated: 41)]),
            Document("significant_day", 72, [Event("us1", time: 2, updated: 30)])),
    ]
}

struct Document: Sendable {
    let name: String
    let minute: Int
    let feed: Feed

    init(_ name: String, _ minute: Int, _ events: [Event], _ service: String = Event.host) {
        (self.name, self.minute) = (name, minute)
        feed = Feed(name, at: minute, events, host: service)
    }
}

extension TestDatabase {
    /// Every event by its code, without the time of its import.
    fileprivate func catalogue() async throws -> [String: String] {
        let rows = try await query("select code, (to_jsonb(quake) - 'imported_at')::text as value from quake")
        return try Dictionary(uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decode("value")) })
    }
}
