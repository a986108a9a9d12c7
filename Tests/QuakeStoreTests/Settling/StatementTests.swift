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

    /// Four statements in all 24 orders, about one event for each thing that a service could say of it in all four, and
    /// about three that it may take for one: see `SmallWorld`. Each run draws the kinds of the four anew; of 625 choices.
    @Test("Every order of every four statements about an event ends as the oracle says", arguments: 0..<2)
    func smallWorlds(number: Int) async throws {
        var random = seededRandom("small world \(number)")
        let world = SmallWorld(families: 300, using: &random)
        say(
            """
            \(world.kinds): \(world.cases.count) events and \(world.families.count) families, with \
            \(world.statements.flatMap(\.events).count) features
            """)
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
        let answer = { @Sendable (request: TestRequest) -> TestFeedServer.Answer in
            statements.first { request.uri.hasPrefix($0.url) }?.answer(request) ?? .whole(.notFound, [])
        }
        try await TestFeedServer.run(answering: answer) { server in
            var options = Importer.Options.through(server)
            options.retraction = .force
            options.rejectLimit = .count(1_000_000)
            try await withConnection { [options] connection in
                let importer = try await Importer(connection, options: options, logger: .quiet)
                for statement in statements {
                    let summary = try await statement.take(by: importer)
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

    /// A service of its own for each statement, so that several may be swept side by side.
    fileprivate var url: String { "http://\(service)/\(feed)/\(made)/" }

    fileprivate func take(by importer: Importer) async throws -> ImportSummary {
        switch feed {
        case "sweep": return try await importer.run(.url("\(url)fdsnws/event/1/"))
        case "backfill":
            let (start, end) = (Int64(made - 600) * 60_000, Int64(made) * 60_000 + 1)
            return try await importer.run(
                .url("\(url)query"),
                window: ImportWindow(
                    name: url, range: Instant(milliseconds: start)..<Instant(milliseconds: end),
                    isPartial: false, count: events.count, limit: 20_000))
        default: return try await SmallFeed.withFile(json) { try await importer.run(.file($0)) }
        }
    }

    fileprivate func answer(_ request: TestRequest) -> TestFeedServer.Answer {
        if request.uri.contains("/count?") { return .whole(.ok, Array("\(events.count)".utf8)) }
        let isOfDeletions = request.uri.contains("includedeleted=only")
        return .whole(.ok, Array((isOfDeletions ? deletionsJSON : json).utf8))
    }

    private var deletionsJSON: String {
        let features = deletions.map { code, minute in
            """
            {"type":"Feature","properties":{"updated":\(minute * 60_000),"status":"deleted"},"geometry":null,"id":"\(code)"}
            """
        }.joined(separator: ",")
        return QuakeStoreTests.Feed(
            feed, at: made, [], more: features.isEmpty ? nil : features, host: service
        ).json
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
///
/// Beside them, families of three events: each statement lists some, and any of these may name any of the others among its
/// `ids`. The first and the last are too far apart to be one event.
private struct SmallWorld {
    static let kinds = ["all_hour", "all_day", "2.5_day", "backfill", "sweep"]

    /// What a document says of an event.
    enum Word: CaseIterable {
        case nothing, found, felt, revised, unreadable, renamed, deleted

        /// The version that it lists.
        var version: Int? { [.found: 0, .felt: 1, .revised: 2][self] }
    }

    /// What a document says of one of a family.
    enum Mention {
        case absent, deleted
        /// Listed, and which others it names.
        case listed(naming: [Int])
    }

    private static let minutes = [10_060, 10_066, 10_072, 10_090]
    private static let revised = 10_064
    private static let family = [("us", 10_020), ("ci", 10_023), ("nc", 10_026)]

    let kinds: [String]
    let cases: [[Word]]
    /// For each family, for each statement, for each of its events.
    let families: [[[Mention]]]

    init(families count: Int, using random: inout SplitMix64) {
        let kinds = (0..<4).map { _ in Self.kinds[random.below(Self.kinds.count)] }
        self.kinds = kinds
        families = (0..<count).map { _ in kinds.map { Self.mentions(in: $0, using: &random) } }
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
        if word == .deleted { return kind == "sweep" }
        if word == .revised && minutes[index] < revised { return false }
        guard let version = word.version else { return true }
        return before.allSatisfy { $0.version ?? 0 <= version }
    }

    private static func mentions(in kind: String, using random: inout SplitMix64) -> [Mention] {
        let isListed = family.map { _ in random.below(2) == 0 }
        return isListed.map { isListed in
            guard isListed else { return kind == "sweep" && random.below(4) == 0 ? .deleted : .absent }
            return .listed(naming: family.indices.filter { _ in random.below(2) == 0 })
        }
    }

    var statements: [Statement] {
        kinds.enumerated().map { index, kind in
            var statement = Statement(feed: kind, made: Self.minutes[index])
            // So that no document is empty, or holds nothing that can be read.
            statement.events = [Event("us0", time: 10_020, updated: 10_022)]
            for (number, words) in cases.enumerated() {
                Self.say(words[index], "x\(number)", in: &statement)
            }
            for (number, mentions) in families.enumerated() {
                Self.say(mentions[index], "y\(number)", in: &statement)
            }
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

    private static func say(_ mentions: [Mention], _ code: String, in statement: inout Statement) {
        let codes = family.map { "\($0.0)\(code)" }
        for ((member, mention), (_, time)) in zip(zip(codes, mentions), family) {
            switch mention {
            case .absent: break
            case .deleted: statement.deletions[member] = 10_050
            case .listed(let others):
                let ids = [member] + others.map { codes[$0] }.filter { $0 != member }
                statement.events.append(Event(member, time: time, updated: time + 2, ids: ids))
            }
        }
    }
}
