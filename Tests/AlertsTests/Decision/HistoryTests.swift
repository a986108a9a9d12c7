import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Alerts

@Suite("Alerts: decisions over a random history") struct HistoryTests {
    /// A random catalogue: events appear, move, grow, shrink, get reviewed and are deleted.
    private struct World {
        var random: SplitMix64
        private(set) var events: [ExactText: AlertEvent] = [:]
        private var codes: [ExactText] = []

        init(_ random: SplitMix64) { self.random = random }

        mutating func commit(at now: Instant) -> [EventChange] {
            (0..<Int.random(in: 0...4, using: &random)).map { _ in
                let before = codes.randomElement(using: &random).flatMap { events[$0] }
                guard let before, Int.random(in: 0..<3, using: &random) > 0 else {
                    let age = Duration.seconds(Int.random(in: -600...30_000, using: &random))
                    let event = quake(
                        "q\(codes.count)", magnitude(), north: .random(in: -3...3, using: &random),
                        time: now - age
                    ) {
                        $0.stations = Int.random(in: 3...12, using: &random)
                    }
                    events[event.key] = event
                    codes.append(event.key)
                    return EventChange(before: nil, after: event, committedAt: now)
                }
                if Int.random(in: 0..<5, using: &random) == 0 {
                    events[before.key] = nil
                    return EventChange(before: before, after: nil, committedAt: now)
                }
                var after = before
                after.magnitude = magnitude()
                after.latitude += .random(in: -0.6...0.6, using: &random)
                if Bool.random(using: &random) { after.status = "reviewed" }
                events[after.key] = after
                return EventChange(before: before, after: after, committedAt: now)
            }
        }

        private mutating func magnitude() -> Double? {
            Int.random(in: 0..<20, using: &random) == 0
                ? nil : Double.random(in: 30...60, using: &random).rounded() / 10
        }
    }

    private static let someRules = [
        rule("near", .init(4, within: 200), .init(5)) { $0.stations = 6 },
        rule("night", .init(4.5)) {
            $0.quiet = QuietHours(
                from: 1320, to: 420, zone: TimeZone(identifier: "Europe/Berlin")!, action: .defer)
            $0.receivers = ["me", "you"]
        },
        rule("felt") {
            $0.intensity = 3
            $0.receivers = ["she"]
            $0.quiet = QuietHours(from: 780, to: 840, zone: .gmt, action: .drop)
        },
    ]

    /// For each receiver and earthquake, compares each report with the receiver's previous report about that earthquake.
    @Test func everyMessageIsConsistentWithTheEarlierOnes() {
        var world = World(seededRandom())
        var stage = Stage(Self.someRules)
        var (ids, last): (Set<String>, [String: Report]) = ([], [:])
        for _ in 0..<1500 {
            // The commits are far apart, so that the earthquakes of a night always fit into one digest.
            let now = stage.now + .seconds(Int.random(in: 1...3000, using: &world.random))
            stage.now = now
            for message in stage.rules.decide(world.commit(at: now), &stage.ledger, now: now) {
                #expect(ids.insert(message.id).inserted)
                for report in message.earthquakes {
                    let key = "\(message.receiver) \(report.earthquake)"
                    let before = last[key]
                    #expect(report.count == (before?.count ?? 0) + 1)
                    switch report.kind {
                    case .new: #expect(before == nil)
                    case .risen: #expect(before.map { $0.kind == .withdrawn || $0.kind == .noLonger } ?? true)
                    case .corrected, .noLonger, .withdrawn:
                        #expect(before.map { $0.kind != .withdrawn && $0.kind != .noLonger } ?? false)
                        #expect(report.earlier?.magnitude == before?.magnitude)
                    }
                    #expect(!report.why.isEmpty)
                    last[key] = report
                }
            }
            if let due = stage.ledger.nextDue { #expect(due > now) }
        }
        #expect(ids.count > 200)
    }

    /// Simulates a process that is killed after each commit and restarted with the stored state.
    @Test func aRestartChangesNoMessage() throws {
        var world = World(seededRandom())
        var stage = Stage(Self.someRules)
        var stored = stage.ledger
        for _ in 0..<300 {
            stage.now = stage.now + .seconds(Int.random(in: 1...600, using: &world.random))
            let changes = world.commit(at: stage.now)
            // Encodes and decodes a value, as a store does.
            func again<Value: Codable>(_ value: Value) throws -> Value {
                try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
            }
            stored = Ledger(
                decidedAt: stored.decidedAt, standings: try again(stored.standings),
                paces: try again(stored.paces))
            let told = stage.rules.decide(changes, &stage.ledger, now: stage.now)
            #expect(stage.rules.decide(changes, &stored, now: stage.now) == told)
            #expect(stored.standings == stage.ledger.standings)
        }
    }

    /// A follower has to store only the rows in `touched`.
    @Test func onlyRowsListedAsTouchedHaveChanged() {
        var world = World(seededRandom())
        var stage = Stage(Self.someRules)
        var stored: [ExactText: [String: Standing]] = [:]
        for _ in 0..<400 {
            stage.now = stage.now + .seconds(300)
            _ = stage.rules.decide(world.commit(at: stage.now), &stage.ledger, now: stage.now)
            for key in stage.ledger.touched { stored[key] = stage.ledger.standings[key] }
            stage.ledger.touched = []
            #expect(stored == stage.ledger.standings)
        }
    }

    /// If a rule delays no reports, the last report of each earthquake agrees with the catalogue after all commits.
    @Test func theLastReportsAgreeWithTheCatalogue() {
        var world = World(seededRandom())
        var single = rule("one", .init(4.2))
        single.maxAge = Ledger.memory
        var stage = Stage(single)
        var last: [String: Report] = [:]
        for _ in 0..<500 {
            stage.now = stage.now + .seconds(700)
            let changes = world.commit(at: stage.now)
            for message in stage.rules.decide(changes, &stage.ledger, now: stage.now) {
                for report in message.earthquakes { last[report.earthquake] = report }
            }
        }
        stage.now = stage.now + .seconds(700)
        for message in stage.rules.decide([], &stage.ledger, now: stage.now) {
            for report in message.earthquakes { last[report.earthquake] = report }
        }
        for (key, report) in last {
            guard let event = world.events[ExactText(key)] else {
                #expect(report.kind == .withdrawn || report.kind == .noLonger, "\(key)")
                continue
            }
            guard let magnitude = event.magnitude else { continue }
            #expect(report.kind != .withdrawn)
            if report.kind == .noLonger {
                #expect(magnitude < 4.2 || abs(magnitude - report.magnitude!) < 0.4 + 1e-6)
            } else {
                #expect(magnitude >= 4.2 && abs(magnitude - report.magnitude!) < 0.4 + 1e-6, "\(key)")
            }
        }
    }

    @Test func aThousandRulesDecideOnThousandsOfRowsTogether() {
        let rules = (0..<1000).map { index -> Rule in
            let point = Point(latitude: Double(index % 170 - 85), longitude: Double(index) * 0.36 - 180)
            return rule("rule\(index)", .init(4, within: 100), .init(7)) {
                $0.places = [Rule.Place("p", point)]
                $0.receivers = ["r\(index)"]
            }
        }
        var stage = Stage(rules)
        let rows = (0..<4000).map { index -> AlertEvent in
            let magnitude = Double(index % 60) / 10
            return quake("q\(index)", magnitude) { event in
                event.latitude = Double(index % 170 - 85)
                event.longitude = Double(index % 360 - 180)
            }
        }
        #expect(!stage.commit(after: .seconds(1), rows).isEmpty)
    }

    /// Replays 120 hours of the USGS feed. The counts follow the rule of the USGS's notification service, and were computed
    /// independently of this code.
    @Test(.needsRealFeeds)
    func aReplayOfRealHoursGivesTheExpectedReports() throws {
        var stage = Stage(rule("all", .init(2.5)) { $0.maxAge = Ledger.memory })
        stage.now = at("2025-05-04T00:00:00Z")
        stage.ledger = Ledger(decidedAt: stage.now)
        var told: [Message] = []
        for snapshot in try Replay.snapshots() {
            let changed = snapshot.events.filter { stage.events[$0.key] != $0 }
            told += stage.commit(after: snapshot.made - stage.now, changed)
            told += stage.tick(.seconds(300))
        }
        #expect(Set(told.map(\.id)).count == told.count)
        let counts = Dictionary(grouping: told.flatMap { $0.earthquakes }, by: \.kind).mapValues(\.count)
        // The first snapshot contains a whole day, which is reported in digests. A digest lists 50 earthquakes, and omits the
        // rest.
        let omitted = told.map(\.omitted).reduce(0, +)
        #expect(counts[.new, default: 0] + omitted == 250)
        #expect(counts[.risen] == 1)
        #expect(counts[.noLonger] == 2)
        #expect(counts[.corrected] == 2)
        #expect(counts[.withdrawn] == nil)
    }
}

/// Real snapshots of 120 hours.
private enum Replay {
    struct Snapshot {
        let made: Instant
        let events: [AlertEvent]
    }

    private struct Document: Decodable {
        let metadata: Metadata
        let features: [Feature]

        struct Metadata: Decodable { let generated: Int64 }
        struct Feature: Decodable {
            let id: String
            let properties: Properties
            let geometry: Geometry
        }
        struct Properties: Decodable {
            let mag: Double?
            let place: String?
            let time: Int64
        }
        struct Geometry: Decodable { let coordinates: [Double] }
    }

    static func snapshots() throws -> [Snapshot] {
        try (0..<120).map { index in
            let name = String(format: "%03d.geojson.gz", index)
            let text = try output(of: "/bin/gzip", ["-dc", RealFeeds.path("replay-all_day/\(name)")])
            let document = try JSONDecoder().decode(Document.self, from: Data(text.utf8))
            let events = document.features.map { feature in
                var event = AlertEvent(
                    code: ExactText(feature.id), magnitude: feature.properties.mag,
                    time: Instant(milliseconds: feature.properties.time),
                    latitude: feature.geometry.coordinates[1], longitude: feature.geometry.coordinates[0])
                event.place = feature.properties.place
                return event
            }
            return Snapshot(made: Instant(milliseconds: document.metadata.generated), events: events)
        }
    }
}
