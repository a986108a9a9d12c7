import Foundation
import PostgreSQL
import QuakeStore
import SampleFeed
import Subprocess
import Synchronization
import TestSupport
import Testing

/// Imports hourly snapshots of a real day feed, one after the other, and compares the results with a small oracle.
@Suite("A replayed feed", .needsRealFeeds)
struct ReplayTests {
    @Test("Each step inserts, updates and retracts what the oracle and the archive's record say")
    func replay() async throws {
        let steps = try await Step.all()
        try await TestServer.shared.withDatabase { database in
            var oracle = Oracle()
            for (number, step) in steps.enumerated() {
                let summary = try await database.importFile(step.path)
                let expected = oracle.take(step)
                #expect(summary.failure == nil)
                #expect(summary.counts.inserted == expected.inserted, "step \(number)")
                #expect(summary.counts.updated == expected.updated, "step \(number)")
                #expect(summary.counts.retracted == expected.retracted.count, "step \(number)")
                if let account = step.account {
                    #expect(Set(account.goneEarly) == Set(expected.retracted), "step \(number)")
                }
            }
            #expect(try await database.codes() == Set(oracle.updated.keys))
            #expect(oracle.retractions == 35)
            // The four events that came back were over an hour away from the window's edge, so no revision moved them across it.
            #expect(oracle.back == 4 && oracle.backFromEdge == 0)
        }
    }

    /// The snapshots arrive in the order 0, 0, 1, 0, 2, 1, 3, 2, …
    @Test("Snapshots that arrive again after their successors retract nothing and bring nothing back")
    func lateSnapshots() async throws {
        let steps = try await Step.all().prefix(rounds(30, of: 120).count)
        try await TestServer.shared.withDatabase { database in
            var oracle = Oracle()
            for (previous, step) in zip([steps[0]] + steps, steps) {
                try await database.importFile(step.path)
                _ = oracle.take(step)
                let before = try await database.query(
                    "select md5(string_agg(quake::text, ',' order by code)) from quake")[0]
                let late = try await database.importFile(previous.path)
                let after = try await database.query(
                    "select md5(string_agg(quake::text, ',' order by code)) from quake")[0]
                #expect(late.counts.retracted == 0)
                #expect(try before.decode("md5", as: String.self) == after.decode("md5", as: String.self))
            }
            #expect(try await database.codes() == Set(oracle.updated.keys))
        }
    }

    @Test(
        "A service that fails at random leads to the same table, and to no wrong retraction"
    )
    func failingService() async throws {
        let steps = try await Step.all().prefix(rounds(30, of: 120).count)
        let script = Mutex((random: seededRandom(), step: 0, failures: 0))
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { _ in
                script.withLock { script in
                    guard script.random.below(3) > 0 else {
                        return .whole(.ok, steps[script.step].bytes)
                    }
                    script.failures += 1
                    return .failure(of: steps[script.step].bytes, script.random.below(8))
                }
            }) { server in
                var oracle = Oracle()
                var options = Importer.Options()
                options.fetch.sleep = { _ in }
                options.fetch.readTimeout = .milliseconds(100)
                options.fetch.headTimeout = .milliseconds(500)
                for (number, step) in steps.enumerated() {
                    script.withLock { $0.step = number }
                    let expected = oracle.take(step)
                    var retracted = 0
                    var isTaken = false
                    while !isTaken {
                        let summary = try await database.importFeed(
                            .url(server.url("/all_day.geojson")), options)
                        retracted += summary.counts.retracted
                        isTaken = summary.failure == nil && summary.counts.seen > 0
                    }
                    #expect(retracted == expected.retracted.count, "step \(number)")
                }
                #expect(try await database.codes() == Set(oracle.updated.keys))
                let failures = script.withLock { $0.failures }
                #expect(failures > steps.count / 6)
                #expect(try await database.count("import.run where outcome = 'running'") == 0)
            }
        }
    }

    /// The expected table after each document. The oracle applies the importer's rules to dictionaries.
    private struct Oracle {
        /// The revision time of each event, by code.
        var updated: [String: Int] = [:]
        private var time: [String: Int] = [:]
        var retractions = 0
        /// How many retracted events came back. `backFromEdge` counts those whose origin was within an hour of the window's
        /// start.
        var back = 0
        var backFromEdge = 0
        /// How long after the window's start the origin of each retracted event was, in milliseconds.
        private var distance: [String: Int] = [:]

        mutating func take(_ step: Step) -> (inserted: Int, updated: Int, retracted: [String]) {
            var (inserted, revised) = (0, 0)
            for (code, event) in step.events {
                if let known = updated[code] {
                    if event.updated > known { revised += 1 }
                } else {
                    inserted += 1
                    if let distance = distance[code] {
                        back += 1
                        if distance < 3_600_000 { backFromEdge += 1 }
                    }
                }
                updated[code] = max(event.updated, updated[code] ?? 0)
                time[code] = event.time
            }
            let minute = 60_000
            let window = step.generated - 86_400_000 + minute + 1..<step.generated - minute
            let gone = updated.keys.filter { code in
                step.events[code] == nil && window.contains(time[code] ?? 0)
                    && updated[code] ?? 0 < step.generated - 300_000
            }
            for code in gone {
                updated[code] = nil
                distance[code] = (time[code] ?? 0) - (step.generated - 86_400_000)
            }
            retractions += gone.count
            return (inserted, revised, gone)
        }
    }

    private struct Step {
        let path: String
        let bytes: [UInt8]
        let generated: Int
        let events: [String: (time: Int, updated: Int)]
        /// The archive's record; nil for the first document.
        let account: Account?

        struct Account: Decodable {
            let step: Int
            let goneEarly: [String]

            enum CodingKeys: String, CodingKey {
                case step
                case goneEarly = "gone_early"
            }
        }

        private struct Document: Decodable {
            let metadata: Metadata
            let features: [Feature]
            struct Metadata: Decodable { let generated: Int }
            struct Feature: Decodable {
                let id: String
                let properties: Properties
            }
            struct Properties: Decodable {
                let time: Int
                let updated: Int
            }
        }

        static func all() async throws -> [Step] {
            let folder = RealFeeds.folder.appending(path: "replay-all_day")
            let accounts = try JSONDecoder().decode(
                [Account].self, from: Data(contentsOf: folder.appending(path: "expected.json")))
            var steps: [Step] = []
            for number in 0..<120 {
                let name = String(repeating: "0", count: 3 - "\(number)".count) + "\(number).geojson.gz"
                let path = folder.appending(path: name).path
                let document = try JSONDecoder().decode(Document.self, from: try await inflated(path))
                let events = document.features.map { ($0.id, ($0.properties.time, $0.properties.updated)) }
                steps.append(
                    Step(
                        path: path, bytes: Array(try Data(contentsOf: URL(filePath: path))),
                        generated: document.metadata.generated,
                        events: Dictionary(events) { $1 }, account: accounts.first { $0.step == number }))
            }
            return steps
        }

        private static func inflated(_ path: String) async throws -> Data {
            let result = try await Subprocess.run(
                .name("gzip"), arguments: ["-dc", path], output: .bytes(limit: 16 << 20),
                error: .string(limit: 1 << 16))
            #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
            return Data(result.standardOutput)
        }
    }
}

extension TestDatabase {
    func codes() async throws -> Set<String> {
        Set(try await query("select code from quake").map { try $0.decode("code") })
    }
}

extension TestFeedServer.Answer {
    /// One of eight ways to fail.
    fileprivate static func failure(of document: [UInt8], _ kind: Int) -> Self {
        let empty =
            #"{"type":"FeatureCollection","metadata":{"generated":9999999999999,"url":"https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson"},"features":[]}"#
        return switch kind {
        case 0: .resetAtOnce
        case 1: .whole(.internalServerError, [])
        case 2: .whole(.tooManyRequests, [], headers: ["retry-after": "1"])
        case 3: .cutOff(Array(document.prefix(document.count / 2)), promised: document.count)
        case 4: .stalled(Array(document.prefix(document.count / 2)), promised: document.count)
        case 5:
            .whole(
                .ok,
                document.enumerated().map { $0.offset == document.count / 2 ? $0.element ^ 0xFF : $0.element }
            )
        case 6: .whole(.ok, Array("<!DOCTYPE html><title>Maintenance</title>".utf8))
        default: .whole(.ok, Array(empty.utf8))
        }
    }
}
