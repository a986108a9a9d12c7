import Feed
import Foundation
import Logging
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

/// Whatever documents state, and in whatever order they come: the table is what the oracle says.
@Suite("Statements in any order")
struct StatementTests {
    let server = TestServer.shared

    /// Four statements in all 24 orders, about one event for each thing that a service could say of it in all four: see
    /// `SmallWorld`. Each run draws the feeds of the four anew; over 256 choices it has had all of them.
    @Test("Every order of every four statements about an event ends as the oracle says", arguments: 0..<2)
    func smallWorlds(number: Int) async throws {
        var random = seededRandom("small world \(number)")
        let world = SmallWorld(kinds: (0..<4).map { _ in SmallWorld.kinds[random.below(4)] })
        say(
            "\(world.kinds): \(world.cases.count) events, with \(world.statements.flatMap(\.events).count) features"
        )
        let expected = StatementOracle.table(after: world.statements)
        try await server.withDatabase { database in
            for order in world.statements.permutations {
                try await database.take(order)
                let differences = try await database.rows().differences(from: expected)
                #expect(differences == [], "\(order)")
                try await database.forgetAll()
            }
        }
    }

    /// Two services in which events are found, revised, moved, renamed, withdrawn and come back, are revised without a new
    /// time, and can't be read for a while.
    @Test(
        "Any order of a made-up world's statements ends as the oracle says, with one worker or several",
        arguments: zip(1...6, [1, 1, 1, 1, 6, 6]))
    func world(number: Int, workers: Int) async throws {
        var random = seededRandom("world \(number), \(workers) side by side")
        var world = StatedWorld(random: SplitMix64(seed: random.next()))
        let statements = world.statements(40)
        let expected = StatementOracle.table(after: statements)
        try await server.withDatabase { database in
            for order in 0..<3 {
                let shuffled = order == 0 ? statements : statements.shuffled(using: &random)
                try await sideBySide(workers, shuffled) { try await database.take([$0]) }
                let differences = try await database.rows().differences(from: expected)
                #expect(differences == [], "order \(order): \(shuffled.story(of: differences.first))")
                try await database.forgetAll()
            }
        }
    }
}

extension TestDatabase {
    /// Imports what was stated, over one connection.
    fileprivate func take(_ statements: [Statement]) async throws {
        var options = Importer.Options()
        options.retraction = .force
        options.rejectLimit = .count(1_000_000)
        try await withConnection { [options] connection in
            let importer = try await Importer(connection, options: options, logger: .quiet)
            for statement in statements {
                if statement.events.isEmpty {
                    try await statement.settleDeletions(on: connection)
                } else {
                    let summary = try await SmallFeed.withFile(statement.json) {
                        try await importer.run(.file($0))
                    }
                    #expect(summary.failure == nil, "\(statement)")
                }
            }
        }
    }

    /// Every event, by its code.
    fileprivate func rows() async throws -> [String: String] {
        let rows = try await query(
            """
            select code, format('%s, %s, %s, %s', extract(epoch from updated)::bigint / 60, extract(epoch from time)::bigint / 60,
                                coalesce(felt::text, '-'), import.service_of(url)) as value
            from quake
            """)
        return try Dictionary(uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decode("value")) })
    }
}

extension Statement {
    fileprivate var json: String { QuakeStoreTests.Feed(feed, at: made, events, host: service).json }

    /// No document has deletions yet, only what settles has.
    fileprivate func settleDeletions(on connection: Connection) async throws {
        let made = Instant(milliseconds: Int64(made) * 60_000)
        var settling = Settling(made: made, feed: feed)
        settling.notesPresence = true
        settling.identity = FeedIdentity(service: service, name: feed, generated: made, window: nil)
        settling.retraction = .force
        settling.deletions = deletions.map { ($0.key, Instant(milliseconds: Int64($0.value) * 60_000)) }
        try await settling.prepare(on: connection)
        try await connection.transaction(to: "settle deletions") { [settling] in
            var counts = ImportCounts()
            try await settling.settle(&counts, before: ImportCounts(), isDryRun: false, on: connection)
        }
    }
}

extension [Statement] {
    /// What is stated of the event that a difference begins with, in this order.
    fileprivate func story(of difference: String?) -> String {
        guard let code = difference?.prefix(while: { $0 != ":" }) else { return "" }
        return compactMap { statement -> String? in
            let events = statement.events.filter { $0.code == code || $0.ids.contains(String(code)) }
                .map { "\($0.code) \($0.row)\($0.isBroken ? " broken" : "")" }
            let deleted = statement.deletions[String(code)].map { ["deleted at \($0)"] } ?? []
            return "\(statement): \((events + deleted).joined(separator: "; "))"
        }.joined(separator: "\n")
    }
}

// MARK: Small worlds

/// Four statements, and an event for each way in which they could speak of it.
///
/// An event has three versions: as it was found, with another `felt` of the same `updated`, and revised later, when its origin
/// moves to the edge of the last statement's hour. A service never goes back to an earlier version.
private struct SmallWorld {
    static let kinds = ["all_hour", "all_day", "2.5_day", "deletions"]

    /// What a document says of an event.
    enum Word: CaseIterable {
        case nothing, found, felt, revised, unreadable, renamed, deleted

        /// The version that it lists.
        var version: Int? { [.found: 0, .felt: 1, .revised: 2][self] }
    }

    private static let minutes = [10_060, 10_066, 10_072, 10_090]
    private static let revised = 10_064

    let kinds: [String]
    let cases: [[Word]]

    init(kinds: [String]) {
        self.kinds = kinds
        cases = kinds.indices.reduce([[]]) { cases, index in
            cases.flatMap { before in
                Word.allCases.filter { Self.isPossible($0, in: kinds[index], index, after: before) }.map {
                    before + [$0]
                }
            }
        }
    }

    private static func isPossible(_ word: Word, in kind: String, _ index: Int, after before: [Word]) -> Bool
    {
        if kind == "deletions" { return word == .nothing || word == .deleted }
        if word == .deleted || word == .revised && minutes[index] < revised { return false }
        guard let version = word.version else { return true }
        return before.allSatisfy { $0.version ?? 0 <= version }
    }

    var statements: [Statement] {
        kinds.enumerated().map { index, kind in
            var statement = Statement(feed: kind, made: Self.minutes[index])
            // So that no document is empty, or holds nothing that can be read.
            if kind != "deletions" { statement.events = [Event("us0", time: 10_020, updated: 10_022)] }
            for (number, words) in cases.enumerated() {
                Self.say(words[index], "x\(number)", in: &statement)
            }
            if kind == "deletions", statement.deletions.isEmpty { statement.deletions = ["us": 1] }
            return statement
        }
    }

    private static func say(_ word: Word, _ code: String, in statement: inout Statement) {
        let (event, heir) = ("us\(code)", "ci\(code)")
        switch word {
        case .nothing: break
        case .found: statement.events.append(Event(event, time: 10_020, updated: 10_022))
        case .felt: statement.events.append(Event(event, time: 10_020, updated: 10_022, felt: 1))
        case .revised: statement.events.append(Event(event, time: 10_031, updated: revised))
        case .unreadable: statement.events.append(Event(event, isBroken: true))
        case .renamed:
            statement.events.append(Event(heir, time: 10_021, updated: 10_023, ids: [event, heir]))
        case .deleted: statement.deletions[event] = 10_050
        }
    }
}
