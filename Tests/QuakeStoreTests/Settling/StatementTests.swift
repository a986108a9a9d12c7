import Feed
import Foundation
import Logging
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

/// Statements are what services say about events, each in a document. In any order of the imports, the table gets the rows that
/// `StatementOracle` computes.
@Suite("Statements in any order")
struct StatementTests {
    let server = TestServer.shared

    /// Imports four statements in 4 orders, or in all 24 with THOROUGH=1. `SmallWorld` describes the events. Each run chooses at
    /// random the kinds of the four statements, their services and the times of a revision.
    @Test(
        "Four statements about an event, in any order, leave the rows that the oracle allows",
        arguments: rounds(1, of: 2))
    func smallWorlds(number: Int) async throws {
        var random = seededRandom("small world \(number)")
        let world = SmallWorld(families: 200, using: &random)
        say(
            """
            \(world): \(world.cases.count) events and \(world.families.count) families, with \
            \(world.statements.flatMap(\.events).count) features, \(world.statements.listedEarlier) of which are outdated
            """)
        let expected = StatementOracle.table(after: world.statements)
        say(
            "\(expected.values.count { $0.count > 1 }) of \(expected.count) codes have a row that depends on the order"
        )
        try await server.withDatabase { database in
            for order in world.statements.permutations.shuffled(using: &random).prefix(
                rounds(4, of: 24).count)
            {
                try await database.take(order)
                let differences = try await database.rows().differences(from: expected)
                #expect(differences == [], "\(order.story(of: differences.first))")
                try await database.forgetAll()
            }
        }
    }

    /// The events of three services are found, revised, moved, renamed and withdrawn. Some are listed again, change without a new
    /// revision time, or can't be read for a while. One of the services also has the others' events and some of unknown owners.
    /// Some of a service's servers still list earlier revisions.
    @Test(
        "The statements of a made-up world, in any order, leave the rows that the oracle allows, with one worker or several",
        arguments: rounds(2, of: 6))
    func world(number: Int) async throws {
        let workers = number % 3 == 1 ? 6 : 1
        var random = seededRandom("world \(number), \(workers) side by side")
        var world = StatedWorld(random: SplitMix64(seed: random.next()))
        let statements = world.statements(40)
        let expected = StatementOracle.table(after: statements)
        say(
            """
            \(statements.count) statements list \(statements.flatMap(\.events).count) features, \(statements.listedEarlier) of \
            which are outdated; \(expected.values.count { $0.count > 1 }) of \(expected.count) codes have a row that depends on \
            the order
            """)
        try await server.withDatabase { database in
            for order in 0..<rounds(2, of: 3).count {
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
    /// Imports the statements one after the other, over one connection.
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

    /// The row of every event, by its code.
    fileprivate func rows() async throws -> [String: String] {
        let rows = try await query(
            """
            select code, format('%s, %s, %s, %s', extract(epoch from updated)::bigint / 60, extract(epoch from time)::bigint / 60,
                                coalesce(felt::text, '-'), coalesce(import.service_of(url), '-')) as value
            from quake
            """)
        return try Dictionary(uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decode("value")) })
    }
}

extension Statement {
    fileprivate var json: String { QuakeStoreTests.Feed(feed, at: made, events, host: service).json }

    /// Each statement has a separate service URL, so that several can be swept at the same time.
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
    /// The number of features whose revision is earlier than a revision that a previous statement listed.
    var listedEarlier: Int {
        var latest: [String: Int] = [:]
        return sorted { $0.made < $1.made }.flatMap(\.events).count { event in
            defer { latest[event.code] = Swift.max(latest[event.code] ?? 0, event.updated) }
            return event.updated < latest[event.code] ?? 0
        }
    }

    /// The statements about the event whose code is at the beginning of `difference`, in their order.
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
