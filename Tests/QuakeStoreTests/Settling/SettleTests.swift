import Feed
import Foundation
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Settling a feed")
struct SettleTests {
    let server = TestServer.shared

    // MARK: Renamed

    @Test("A renamed event stays one row, and the history records its new code", arguments: [1, 100])
    func renamed(batchSize: Int) async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("2.5_day", at: 60, [Event("us1"), Event("us2")]), batchSize)

            let summary = try await database.settle(
                Feed("2.5_day", at: 120, [Event("ci1", ids: ["us1", "ci1"]), Event("us2")]), batchSize)

            #expect(summary.counts.superseded == 1)
            #expect(try await database.codes() == ["ci1", "us2"])
            let history = try await database.query(
                "select key, operation, reason from history.change where reason is not null")
            #expect(history.count == 1)
            #expect(try history[0].decode("key") == "us1")
            #expect(try history[0].decode("operation") == "delete")
            #expect(try history[0].decode("reason") == "superseded by ci1")
        }
    }

    @Test("A deletion by a document without a service does not hide an event of a known service")
    func withoutService() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into import.withdrawn (code, generated, reason)
                select code, to_timestamp(70 * 60), 'deleted by its document' from unnest(array['us1', 'us2']) as code
                """)
            try await database.settle(Feed("all_day", at: 60, [Event("us1"), Event("us2", host: nil)]))
            #expect(try await database.codes() == ["us1"])
        }
    }

    @Test("Two events that have each other among their ids both stay")
    func twins() async throws {
        try await server.withDatabase { database in
            let twins = [Event("us1", ids: ["us1", "ci1"]), Event("ci1", ids: ["ci1", "us1"])]
            for minute in [60, 120] { try await database.settle(Feed("all_day", at: minute, twins)) }

            #expect(try await database.codes() == ["us1", "ci1"])
        }
    }

    @Test("An event that only a stale feature has among its ids is not deleted")
    func staleLister() async throws {
        try await server.withDatabase { database in
            try await database.settle(
                Feed("2.5_day", at: 60, [Event("us1"), Event("ci1", updated: 50)]))
            let summary = try await database.settle(
                Feed("2.5_day", at: 120, [Event("ci1", updated: 10, ids: ["us1", "ci1"])]))

            #expect(summary.counts.superseded == 0)
            #expect(try await database.codes() == ["us1", "ci1"])
        }
    }

    @Test(
        "A feature's ids rename an event only if the event has the same service, a near origin and no later revision",
        arguments: [
            ("", true), ("url = 'https://elsewhere.example.org/us1'", false), ("url = null", false),
            ("time = time - interval '4 minutes'", true), ("time = time - interval '6 minutes'", false),
            ("time = time + interval '6 minutes'", false), ("updated = to_timestamp(121 * 60)", false),
        ])
    func onlyItsOwn(_ change: String, _ isRenamed: Bool) async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("2.5_day", at: 60, [Event("us1"), Event("us2")]))
            if !change.isEmpty {
                try await database.query("update quake set \(unescaped: change) where code = 'us1'")
            }

            let summary = try await database.settle(
                Feed("2.5_day", at: 120, [Event("ci1", ids: ["us1", "ci1"]), Event("us2")]))

            #expect(summary.counts.superseded == (isRenamed ? 1 : 0))
            #expect(try await database.codes() == (isRenamed ? ["ci1", "us2"] : ["us1", "ci1", "us2"]))
        }
    }

    // MARK: Withdrawn

    @Test("An event that a complete feed lacks is deleted, and comes back only with a newer document")
    func withdrawn() async throws {
        try await server.withDatabase { database in
            let events = (1...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))

            let summary = try await database.settle(Feed("all_day", at: 120, Array(events.dropFirst())))
            #expect(summary.counts.retracted == 1)
            #expect(try await database.codes().count == 7)
            #expect(try await database.givenReasons() == ["retracted by all_day"])

            let late = try await database.settle(Feed("all_week", at: 119, events))
            #expect(late.counts.stale == 1)
            #expect(try await database.codes().count == 7)

            let back = try await database.settle(Feed("all_day", at: 130, events))
            #expect(back.counts.inserted == 1)
        }
    }

    @Test(
        "A row that a feed lacks stays if the row is of another service, outside the period or just revised",
        arguments: [
            "update quake set url = null", "update quake set url = 'https://elsewhere.example.org/us1'",
            "update quake set time = time - interval '2 days'",
            "update quake set updated = to_timestamp(120 * 60 - 299)",
        ])
    func spared(_ statement: String) async throws {
        try await server.withDatabase { database in
            let events = (1...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))
            try await database.query("\(unescaped: statement) where code = 'us1'")

            let summary = try await database.settle(Feed("all_day", at: 120, Array(events.dropFirst())))

            #expect(summary.counts.retracted == 0)
            #expect(try await database.codes().count == 8)
        }
    }

    @Test(
        "A document that may be incomplete, or is not newer, retracts nothing",
        arguments: [
            Feed("2.5_day", at: 120, [Event("us1")]),
            Feed("all_day", at: 120, []),
            Feed("all_day", at: 120, [Event("us1")], broken: "]"),
            Feed("all_day", at: 120, [Event("us1")], more: "{\"type\":\"Feature\",\"id\":7}"),
            Feed("all_day", at: 120, [Event("us1")], path: "summary/other/all_day.geojson"),
            Feed("all_day", at: 60, [Event("us1")]),
        ])
    func untrusted(_ feed: Feed) async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("all_day", at: 60, (1...3).map { Event("us\($0)") }))
            try await database.settle(feed, retraction: .force)
            #expect(try await database.codes().count == 3)
        }
    }

    @Test(
        "A feed with fewer events than its metadata says retracts nothing, with a warning",
        arguments: [1, 100])
    func shortened(batchSize: Int) async throws {
        try await server.withDatabase { database in
            let events = (1...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events, count: 8), batchSize)
            let rest = Array(events.dropFirst())

            let short = try await database.settle(Feed("all_day", at: 120, rest, count: 8), batchSize)

            #expect(short.failure == nil && short.counts.retracted == 0)
            #expect(short.warning?.contains("the document has 7 events, but its metadata says 8") == true)
            #expect(try await database.codes().count == 8)
            let whole = try await database.settle(Feed("all_day", at: 121, rest, count: 7), batchSize)
            #expect(whole.warning == nil && whole.counts.retracted == 1)
        }
    }

    @Test("An event whose feature is rejected or stale counts as present")
    func present() async throws {
        try await server.withDatabase { database in
            let events = (1...8).map { Event("us\($0)", updated: 20) }
            try await database.settle(Feed("all_day", at: 60, events))
            let later = Feed(
                "all_day", at: 120, Array(events.dropFirst(2)) + [Event("us2", updated: 10)],
                more: Event("us1").json.replacing("\"mag\":1", with: "\"mag\":\"one\""))

            let summary = try await database.settle(later)

            #expect(summary.counts.rejected == 1)
            #expect(summary.counts.stale == 1)
            #expect(summary.counts.retracted == 0)
            #expect(try await database.codes().count == 8)
        }
    }

    // MARK: The brake

    @Test(
        "If more than five events and more than a tenth are missing, none is deleted unless forced",
        arguments: [(20, 5, false), (20, 6, true), (80, 8, false), (80, 9, true), (3, 2, false)])
    func brake(_ count: Int, _ missing: Int, _ isBraked: Bool) async throws {
        try await server.withDatabase { database in
            let events = (1...count).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))
            let rest = Array(events.dropFirst(missing)) + [Event("us999")]

            let summary = try await database.settle(Feed("all_day", at: 120, rest))

            #expect(
                summary.failure as? BrakeHeld
                    == (isBraked
                        ? BrakeHeld(feed: "all_day", missing: missing, total: count + 1)
                        : nil))
            #expect(summary.counts.inserted == 1, "the upserts stay")
            #expect(try await database.codes().count == count + 1 - (isBraked ? 0 : missing))
            if isBraked {
                let never = try await database.settle(Feed("all_day", at: 121, rest), retraction: .never)
                #expect(never.failure == nil && never.counts.retracted == 0)
                let forced = try await database.settle(Feed("all_day", at: 122, rest), retraction: .force)
                #expect(forced.counts.retracted == missing)
            }
        }
    }

    @Test("A feature with the ids of a hundred events renames none of them unless forced")
    func brakedRenames() async throws {
        try await server.withDatabase { database in
            let events = (1...100).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))
            let greedy = [Event("ci1", ids: events.map(\.code)), Event("ci2")]

            let summary = try await database.settle(Feed("2.5_day", at: 120, greedy))

            #expect(
                summary.failure as? BrakeHeld
                    == BrakeHeld(feed: "2.5_day", renamed: 100, total: 0))
            #expect("\(summary.failure!)".contains("2.5_day shows 100 events as renamed, too many"))
            #expect(summary.counts.superseded == 0)
            #expect(try await database.codes().count == 102, "the upserts stay")
            let forced = try await database.settle(Feed("2.5_day", at: 121, greedy), retraction: .force)
            #expect(forced.counts.superseded == 100)
        }
    }

    @Test(
        "If a constraint or a trigger refuses a deletion, the document's events are imported, and nothing is deleted",
        arguments: [
            "create table note (code text references quake (code)); insert into note values ('us3')",
            """
            create function refuse() returns trigger language plpgsql as $$ begin raise exception 'stay'; end $$;
            create trigger refuse before delete on quake for each row execute function refuse()
            """,
        ])
    func refusedDeletion(obstacle: String) async throws {
        try await server.withDatabase { database in
            let events = (1...4).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 100, events))
            try await database.execute(obstacle)
            let next = events.filter { $0.code != "us3" && $0.code != "us4" } + [Event("us5")]
            let summary = try await database.settle(Feed("all_day", at: 110, next))
            let failure = try #require(summary.failure as? Failure)
            #expect(failure.kind == .badData)
            #expect(failure.description.contains("refuses a deletion"), "\(failure)")
            #expect(summary.counts.inserted == 1 && summary.counts.retracted == 0)
            #expect(try await database.codes() == ["us1", "us2", "us3", "us4", "us5"])
            await #expect(throws: Failure.self) {
                try await database.withConnection { try await Deletion.delete(["us3"], reason: nil, on: $0) }
            }
            try await database.execute(
                "drop table if exists note; drop function if exists refuse() cascade")
            #expect(
                try await database.settle(Feed("all_day", at: 120, next)).counts.retracted == 2)
        }
    }

    @Test("A feature with the status deleted deletes its event, with or without the event's values")
    func statusDeleted() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures(["a", "b", "c"].map { SmallFeed.feature($0) })
            let summary = try await database.importFeatures([
                SmallFeed.feature("a", updated: 2000, more: "\"status\":\"DELETED\""),
                #"{"type":"Feature","properties":{"updated":2000,"status":"deleted"},"geometry":null,"id":"q0b"}"#,
                #"{"type":"Feature","properties":{"updated":2000,"status":"deleted"},"geometry":null,"id":null}"#,
                SmallFeed.feature("c"),
            ])
            #expect(summary.counts.retracted == 2 && summary.counts.rejected == 1)
            #expect(try await database.codes() == ["q0c"])

            // Deletions that name no event are not errors.
            let unnamed =
                #"{"type":"Feature","properties":{"updated":2000,"status":"deleted"},"geometry":null,"id":null}"#
            let many = try await database.importFeatures(
                [SmallFeed.feature("d")] + Array(repeating: unnamed, count: 50))
            #expect(many.failure == nil && many.counts.rejected == 50 && many.counts.inserted == 1)
            let reasons = try await database.query("select distinct reason from import.reject")
            #expect(try reasons.map { try $0.decode("reason") } == ["unnamed"])
        }
    }

    @Test("The brake counts renamed and withdrawn events together", arguments: [(2, false), (3, true)])
    func brakedTogether(_ renamed: Int, _ isBraked: Bool) async throws {
        try await server.withDatabase { database in
            let events = (1...20).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))
            let rest = events.dropFirst(3 + renamed)
            let renames = events[..<renamed].map { Event("ci\($0.code)", ids: [$0.code]) }

            let summary = try await database.settle(Feed("all_day", at: 120, rest + renames))

            #expect(summary.failure is BrakeHeld == isBraked)
            #expect(summary.counts.superseded == (isBraked ? 0 : renamed))
            #expect(summary.counts.retracted == (isBraked ? 0 : 3))
        }
    }

    @Test("A dry run reports what would be deleted, and deletes nothing")
    func dryRun() async throws {
        try await server.withDatabase { database in
            let events = (1...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, events))
            var options = Importer.Options()
            options.isDryRun = true
            let rest = [Event("ci2", ids: ["us2"])] + events.dropFirst(2)

            let summary = try await database.importDocument(Feed("all_day", at: 120, rest).json, options)

            #expect(summary.counts.superseded == 1)
            #expect(summary.counts.retracted == 1)
            #expect(summary.counts.inserted == 1)
            #expect(try await database.codes() == Set(events.map(\.code)))
        }
    }

    @Test("A dry run predicts the brake, and counts new events as the import does", arguments: [3, 6])
    func dryRunBrake(_ missing: Int) async throws {
        try await server.withDatabase { database in
            try await database.settle(Feed("all_day", at: 60, (1...missing).map { Event("us\($0)") }))
            let others = Feed("all_day", at: 120, (1...8).map { Event("ci\($0)") }).json
            var options = Importer.Options()
            options.isDryRun = true

            let predicted = try await database.importDocument(others, options)
            let summary = try await database.importDocument(others)

            #expect(summary.failure is BrakeHeld == (missing == 6))
            #expect(predicted.failure as? BrakeHeld == summary.failure as? BrakeHeld)
            #expect(predicted.counts.retracted == summary.counts.retracted)
        }
    }

    // MARK: In any order

    /// The feeds have different lengths, and are generated from the same events at different times. Some events come and go.
    @Test(
        "Hour, day and week feeds give the same table in any order", arguments: rounds(2, of: 8)
    )
    func anyOrder(number: Int) async throws {
        var random = SplitMix64(seed: UInt64(number))
        var truth: [Event] = []
        var feeds: [Feed] = []
        for step in 0..<12 {
            let minute = 10_000 + step * 20
            truth += (0..<3).map { Event("us\(step)x\($0)", time: minute - 1, updated: minute - 1) }
            let gone = Set((0..<random.below(2)).map { _ in random.below(truth.count) })
            // A removed event is missing from all feeds generated after this minute.
            truth = truth.enumerated().filter { !gone.contains($0.offset) }.map(\.element)
            for (name, period) in [("all_hour", 60), ("all_day", 1440), ("all_week", 10_080)] {
                let made = minute + 6 + feeds.count % 3
                feeds.append(Feed(name, at: made, truth.filter { $0.time >= made - period }))
            }
        }
        let shuffled = feeds.shuffled(using: &random)
        try await server.withDatabase { database in
            for feed in shuffled { try await database.settle(feed, retraction: .force) }
            #expect(try await database.codes() == Set(truth.map(\.code)), "seed \(number)")
        }
    }
}

/// An event of a hand-written feed. Times are in minutes since 1970.
struct Event: Sendable, Hashable {
    static let host = "quake.example.gov"

    let code: String
    var time: Int
    var updated: Int
    var ids: [String]
    var felt: Int?
    /// The host of the event's URL; nil for an event without a URL, whose service is unknown.
    var host: String?
    /// Whether the feature is invalid and has to be rejected.
    var isBroken: Bool

    init(
        _ code: String, time: Int = 1, updated: Int = 2, ids: [String]? = nil, felt: Int? = nil,
        host: String? = Event.host, isBroken: Bool = false
    ) {
        (self.code, self.time, self.updated, self.ids) = (code, time, updated, ids ?? [code])
        (self.felt, self.host, self.isBroken) = (felt, host, isBroken)
    }

    var json: String {
        """
        {"type":"Feature","properties":{"mag":\(isBroken ? "\"one\"" : "1"),"place":"p",\
        "time":\(time * 60_000),"updated":\(updated * 60_000),"felt":\(felt.map(String.init) ?? "null"),\
        "url":\(host.map { "\"https://\($0)/eventpage/\(code)\"" } ?? "null"),"net":"\(code.prefix(2))","code":"\(code.dropFirst(2))",\
        "ids":",\(ids.joined(separator: ",")),"},"geometry":{"type":"Point","coordinates":[1,2,3]},"id":"\(code)"}
        """
    }
}

/// A hand-written document that says which feed it is and when it was generated.
struct Feed: Sendable, CustomTestStringConvertible {
    let name: String
    let json: String
    var testDescription: String { name }

    init(
        _ name: String, at minute: Int, _ events: [Event], more: String? = nil, broken: String = "",
        path: String? = nil, host: String = Event.host, count: Int? = nil
    ) {
        self.name = name
        let features = (events.map(\.json) + [more].compactMap(\.self)).joined(separator: ",")
        json = """
            {"type":"FeatureCollection","metadata":{"generated":\(minute * 60_000),"count":\(count.map(String.init) ?? "null"),\
            "url":"http://\(host)/feed/v1.0/\(path ?? "summary/\(name).geojson")"},"features":[\(features)]\(broken)}
            """
    }
}

extension TestDatabase {
    @discardableResult
    func settle(
        _ feed: Feed, _ batchSize: Int = 20_000, retraction: Importer.Retraction = .auto
    ) async throws -> ImportSummary {
        var options = Importer.Options()
        options.batchSize = batchSize
        options.retraction = retraction
        return try await importDocument(feed.json, options)
    }

    fileprivate func givenReasons() async throws -> [String] {
        try await query("select reason from history.change where reason is not null").map {
            try $0.decode("reason")
        }
    }
}
