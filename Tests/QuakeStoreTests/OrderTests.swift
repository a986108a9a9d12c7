import Foundation
import PostgreSQL
import QuakeStore
import SampleFeed
import TestSupport
import Testing

/// Whatever the order of documents, and however many workers import them, the table is the same in the end.
@Suite("Documents in any order")
struct OrderTests {
    let server = TestServer.shared

    @Test("120 real hours end with the same table in any order", .needsRealFeeds)
    func replay() async throws {
        var random = seededRandom("replay")
        let paths = (0..<120).map { number in
            let name = String(repeating: "0", count: 3 - "\(number)".count) + "\(number).geojson.gz"
            return RealFeeds.folder.appending(path: "replay-all_day/\(name)").path
        }
        try await server.withDatabase { database in
            for path in paths { #expect(try await database.importFile(path).failure == nil) }
            let expected = try await database.catalogue()
            for workers in [1, 6] {
                try await database.clear()
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

    @Test("Every order of a few documents ends with the same table", arguments: Situation.all)
    func permutations(_ situation: Situation) async throws {
        try await server.withDatabase { database in
            for order in situation.documents.permutations {
                for document in order { try await database.settle(document.feed, retraction: .force) }
                let names = order.map { "\($0.name)@\($0.minute)" }
                #expect(try await database.codes() == situation.codes, "\(names)")
                try await database.clear()
            }
        }
    }

    /// Feeds of several kinds from a world in which events are found, revised, moved, renamed and withdrawn, and come
    /// back.
    @Test(
        "A made-up world's documents end with the same table in any order",
        arguments: zip(1...4, [1, 1, 6, 6]))
    func world(number: Int, workers: Int) async throws {
        var random = seededRandom("world \(number), \(workers) side by side")
        var world = World(random: SplitMix64(seed: random.next()))
        let documents = world.documents(40)
        try await server.withDatabase { database in
            for document in documents.sorted(by: { $0.minute < $1.minute }) {
                let summary = try await database.settle(document.feed, retraction: .force)
                #expect(summary.failure == nil)
            }
            let expected = try await database.catalogue()
            for _ in 0..<2 {
                try await database.clear()
                let shuffled = documents.shuffled(using: &random)
                try await sideBySide(workers, shuffled) { document in
                    let summary = try await database.settle(document.feed, retraction: .force)
                    #expect(summary.failure == nil)
                }
                #expect(try await database.catalogue().differences(from: expected) == [])
            }
        }
    }

    /// Hands out the elements in order to workers that each take the next as soon as they are ready.
    private func sideBySide<Element: Sendable>(
        _ workers: Int, _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, element) in elements.enumerated() {
                if index >= workers { try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }
}

/// A few documents, and what they leave in the table.
struct Situation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let documents: [Document]
    let codes: Set<String>

    init(_ name: String, _ codes: Set<String>, _ documents: Document...) {
        (testDescription, self.documents, self.codes) = (name, documents, codes)
    }

    static let all = [
        Situation(
            "a late document's window is a newer one's past", ["us2", "us9"],
            Document(
                "all_hour", 60, [Event("us1", time: 30, updated: 31), Event("us2", time: 30, updated: 31)]),
            Document("all_hour", 80, [Event("us2", time: 30, updated: 31)]),
            Document("all_hour", 1000, [Event("us9", time: 990, updated: 991)])),
        Situation(
            "an event is withdrawn, comes back and goes again", ["us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 120, [Event("us2")]),
            Document("all_day", 180, [Event("us1"), Event("us2")]),
            Document("all_day", 240, [Event("us2")])),
        Situation(
            "an event comes back in a feed that has only some", ["us1", "us2"],
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
            Document("2.5_day", 90, [Event("us1", time: 46, updated: 80)]),
            Document("all_hour", 105, [Event("us2", time: 60, updated: 61)])),
        Situation(
            "an event is revised just before a document that lacks it", ["us1", "us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 118, [Event("us1", updated: 117), Event("us2")]),
            Document("all_day", 120, [Event("us2")])),
        Situation(
            "an event is renamed in a feed that has only some", ["ci1", "us2"],
            Document("2.5_day", 60, [Event("us1"), Event("us2")]),
            Document("2.5_day", 118, [Event("us1", updated: 117), Event("us2")]),
            Document("2.5_day", 120, [Event("ci1", updated: 119, ids: ["us1", "ci1"]), Event("us2")])),
        Situation(
            "an event is renamed and gets its old code back", ["us1"],
            Document("2.5_day", 60, [Event("us1")]),
            Document("2.5_day", 120, [Event("ci1", updated: 119, ids: ["us1", "ci1"])]),
            Document("2.5_day", 180, [Event("us1", updated: 179, ids: ["us1", "ci1"])])),
        Situation(
            "two feeds of one moment differ", ["us2"],
            Document("all_day", 60, [Event("us1"), Event("us2")]),
            Document("all_day", 120, [Event("us1"), Event("us2")]),
            Document("all_week", 120, [Event("us2")])),
    ]
}

struct Document: Sendable {
    let name: String
    let minute: Int
    let feed: Feed

    init(_ name: String, _ minute: Int, _ events: [Event]) {
        (self.name, self.minute, feed) = (name, minute, Feed(name, at: minute, events))
    }
}

/// Events that are found, revised, moved, renamed and withdrawn, and come back.
private struct World {
    var random: SplitMix64
    private var minute = 10_000
    private var events: [Event] = []
    private var hidden: [Event] = []
    private var found = 0

    init(random: SplitMix64) { self.random = random }

    /// Documents of several feeds, in the order in which they were made.
    mutating func documents(_ count: Int) -> [Document] {
        (0..<count).map { _ in
            pass(1 + random.below(25))
            let (name, period) = [("all_hour", 60), ("all_hour", 60), ("all_day", 1440), ("2.5_day", 1440)][
                random.below(4)]
            let has = events.filter {
                $0.time >= minute - period && $0.time <= minute
                    && (name != "2.5_day" || $0.code.hasSuffix("0"))
            }
            return Document(name, minute, has)
        }
    }

    private mutating func pass(_ minutes: Int) {
        for _ in 0..<minutes {
            minute += 1
            if random.below(4) == 0 {
                found += 1
                events.append(Event("us\(found)", time: minute, updated: minute))
            }
            guard !events.isEmpty else { continue }
            let index = max(0, events.count - 1 - random.below(12))
            let event = events[index]
            switch random.below(16) {
            case 0: events[index] = Event(event.code, time: event.time, updated: minute, ids: event.ids)
            case 1:
                let time = min(minute, event.time - 3 + random.below(7))
                events[index] = Event(event.code, time: time, updated: minute, ids: event.ids)
            case 2:
                found += 1
                let code = "ci\(found)"
                events[index] = Event(code, time: event.time, updated: minute, ids: event.ids + [code])
            case 3: hidden.append(events.remove(at: index))
            case 4 where !hidden.isEmpty: events.append(hidden.remove(at: random.below(hidden.count)))
            default: break
            }
        }
    }
}

extension Array {
    /// All orders of the elements.
    fileprivate var permutations: [[Element]] {
        if isEmpty { return [[]] }
        return indices.flatMap { index in
            var rest = self
            let element = rest.remove(at: index)
            return rest.permutations.map { [element] + $0 }
        }
    }
}

extension [String: String] {
    /// What only one of the two has, or both in other words.
    fileprivate func differences(from other: Self) -> [String] {
        Set(keys).union(other.keys).sorted().filter { self[$0] != other[$0] }
            .map { "\($0): \(self[$0] ?? "absent") instead of \(other[$0] ?? "absent")" }
    }
}

extension TestDatabase {
    /// Every event, by its code, without the time when it was imported.
    fileprivate func catalogue() async throws -> [String: String] {
        let rows = try await query("select code, (to_jsonb(quake) - 'imported_at')::text as value from quake")
        return try Dictionary(uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decode("value")) })
    }

    /// Forgets all events and documents.
    fileprivate func clear() async throws {
        for table in ["quake", "import.settled", "import.withdrawn"] {
            try await query("delete from \(unescaped: table)")
        }
    }
}
