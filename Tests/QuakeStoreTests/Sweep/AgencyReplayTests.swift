import Feed
import Foundation
import PostgreSQL
import SampleFeed
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Replayed days of other agencies")
struct AgencyReplayTests {
    private static let minute = 60_000
    private static let day = 86_400_000

    @Test(
        "Despite revisions, withdrawals, moved ids, 429 and cut-off answers, the table equals the agencies' catalogues"
    )
    func week() async throws {
        var random = seededRandom()
        let start = Int(Date().timeIntervalSince1970) * 1000 - 9 * Self.day
        var agencies = ReplayedAgency.Kind.allCases.map { kind in
            ReplayedAgency(kind, now: start, random: SplitMix64(seed: UInt64(random.below(.max)), stream: 0))
        }
        let fault = Mutex((kind: nil as ServiceFault?, cut: 0))
        let catalogues = agencies.map { ($0.host, $0.catalogue) }
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                let catalogue = catalogues.first { request.uri.hasPrefix("http://\($0.0)/") }?.1
                guard let answer = catalogue?.answer(request) else { return .resetAtOnce }
                return fault.withLock { state in
                    guard let kind = state.kind else { return answer }
                    if kind.isPassing { state.kind = nil }
                    return kind.instead(of: answer, at: state.cut)
                }
            }) { server in
                let days = rounds(2, of: 7).count
                var (faults, now) = (0, start)
                while now < start + days * Self.day {
                    let minutes = 20 + random.below(200)
                    now += minutes * Self.minute
                    for index in agencies.indices {
                        agencies[index].pass(minutes)
                        let kind =
                            random.below(4) == 0 ? ServiceFault.allCases.randomElement(using: &random) : nil
                        let cut = random.below(1 << 20)
                        fault.withLock { $0 = (kind, cut) }
                        let summary = try await sweep(agencies[index], at: now, database, server)
                        if let kind, !kind.isPassing {
                            faults += 1
                            #expect(summary.failure != nil, "\(kind)")
                            continue
                        }
                        #expect(summary.failure == nil, "\(summary.failure.map { "\($0)" } ?? "")")
                        try await compare(agencies[index], at: now, days: 3, database)
                    }
                }
                #expect(7 * faults > 5 * days)
                fault.withLock { $0.kind = nil }
                // A day later, the long window is due for every agency.
                for agency in agencies {
                    agency.catalogue.change { $0.now += Self.day + Self.minute }
                    let summary = try await sweep(agency, at: now + Self.day + Self.minute, database, server)
                    #expect(summary.failure == nil)
                    try await compare(agency, at: now + Self.day + Self.minute, days: 30, database)
                }
                #expect(try await database.count("import.reject") == 0)
            }
        }
    }

    private func sweep(
        _ agency: ReplayedAgency, at now: Int, _ database: TestDatabase, _ server: TestFeedServer
    ) async throws -> ImportSummary {
        try await database.sweep(agency.service, through: server) {
            $0.now = { Instant(milliseconds: Int64(now)) }
        }
    }

    /// Compares the table with the agency's catalogue. Leaves out the youngest events, which may have been published or withdrawn
    /// too late for the sweep, and the events at the window's start.
    private func compare(_ agency: ReplayedAgency, at now: Int, days: Int, _ database: TestDatabase)
        async throws
    {
        let times = now - days * Self.day + 2 * Self.minute..<now - 6 * Self.minute
        let rows = try await database.query(
            """
            select code, (extract(epoch from time) * 1000)::bigint as time, latitude, longitude, magnitude, place
            from quake where net = \(agency.name)
            """)
        var table: [String: String] = [:]
        for row in rows where times.contains(try row.decode("time", as: Int.self)) {
            let numbers = try ["latitude", "longitude", "magnitude"].map {
                try row.decode($0, as: Double.self)
            }
            table[try row.decode("code")] =
                "\(try row.decode("time", as: Int.self)) \(numbers[0]) \(numbers[1]) \(numbers[2]) \(try row.decode("place", as: String.self))"
        }
        #expect(table.differences(from: agency.table(times)) == [])
    }
}
