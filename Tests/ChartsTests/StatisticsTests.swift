import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Charts

@Suite("Statistical fits")
struct StatisticsTests {
    @Test("The Gutenberg–Richter relation equals the report's, for random catalogues of several sizes")
    func gutenbergRichter() async throws {
        var random = seededRandom()
        try await TestServer.shared.withDatabase { database in
            for count in [0, 1, 2, 300] {
                let b = Double.random(in: 0.6...1.4, using: &random)
                let events = (0..<count).map { _ in
                    let magnitude = 1.5 - log10(.random(in: 0.0001...1, using: &random)) / b
                    return ChartEvent(
                        time: Instant(milliseconds: 0),
                        magnitude: Int.random(in: 0..<20, using: &random) == 0
                            ? nil : (magnitude * 100).rounded() / 100,
                        isEarthquake: Int.random(in: 0..<10, using: &random) > 0)
                }
                try await database.query("delete from quake")
                try await database.withConnection { connection in
                    for (index, event) in events.enumerated() {
                        try await connection.query(
                            """
                            insert into quake (code, net, net_code, magnitude, type, time, updated, longitude, latitude)
                            values ('q' || \(index), 'q', '', \(event.magnitude),
                                    case when \(event.isEarthquake) then 'earthquake' else 'explosion' end,
                                    '1970-01-01+00', '1970-01-01+00', 0, 0)
                            """, to: "insert an event")
                    }
                }
                let row = try await database.query("select * from report.gutenberg_richter()")[0]

                let relation = GutenbergRichter(events)

                let completeness: Double? = try row.decodeIfPresent("completeness")
                #expect(relation.completeness.map { Double($0) / 10 } == completeness)
                // The report also gives `a` for a single earthquake, but that value has no meaning.
                if let fit = relation.fit {
                    #expect(fit.count == (try row.decode("earthquakes", as: Int.self)))
                    for (value, column) in [
                        (fit.b, "b_value"), (fit.standardError, "b_standard_error"), (fit.a, "a_value"),
                        (fit.goodness, "goodness_percent"), (fit.distance, "ks_distance"),
                        (fit.deviation, "largest_deviation"),
                    ] {
                        #expect(abs(value - (try row.decode(column, as: Double.self))) < 1e-9, "\(column)")
                    }
                    #expect(fit.isGood == (try row.decode("is_good_fit", as: Bool.self)))
                }
                #expect(
                    relation.good.map { Double($0.from) / 10 }
                        == (try row.decodeIfPresent("good_from", as: Double.self)))
                if count == 300 { #expect(relation.fit != nil) }
            }
        }
    }

    @Test("The aftershock rate has the bins and counts of the report")
    func rate() async throws {
        var random = seededRandom()
        try await TestServer.shared.withDatabase { database in
            let days = (0..<400).map { _ in pow(10, Double.random(in: -4...1.5, using: &random)) }
                .map { ($0 * 86_400_000).rounded() / 86_400_000 }
            try await database.withConnection { connection in
                for (index, day) in ([0] + days).enumerated() {
                    try await connection.query(
                        """
                        insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                        values ('q' || \(index), 'q', '', case when \(index) = 0 then 7 else 3 end,
                                to_timestamp(round(\(day) * 86400000) / 1000), '1970-01-01+00', 0, 0)
                        """, to: "insert an event")
                }
            }
            let rows = try await database.query(
                "select * from report.aftershock_rate('q0') order by from_days")

            let window = try #require(AftershockWindow(magnitude: 7))
            let rate = AftershockRate(days, observed: min(window.days, days.max() ?? 0))

            #expect(rate.bins.count == rows.count)
            for (bin, row) in zip(rate.bins, rows) {
                #expect(abs(bin.from - (try row.decode("from_days", as: Double.self))) < 1e-9)
                #expect(abs(bin.to - (try row.decode("to_days", as: Double.self))) < 1e-9)
                #expect(bin.count == (try row.decode("aftershocks", as: Int.self)))
            }
            let row = try await database.query(
                "select report.aftershock_radius_km(7) as km, report.aftershock_days(6) as days")[0]
            #expect(abs(window.kilometres - (try row.decode("km", as: Double.self))) < 1e-9)
            #expect(
                abs(AftershockWindow(magnitude: 6)!.days - (try row.decode("days", as: Double.self))) < 1e-9)
        }
    }

    @Test("Omori's law is recovered from aftershocks that follow it", arguments: [0.7, 1.0, 1.3])
    func omori(p: Double) throws {
        var random = SplitMix64(seed: 7)
        // Draw times between 0.01 and 100 days, by inverting the distribution function.
        let (from, to) = (0.01, 100.0)
        let days = (0..<4000).map { _ in
            let share = Double.random(in: 0..<1, using: &random)
            if p == 1 { return from * pow(to / from, share) }
            let (low, high) = (pow(from, 1 - p), pow(to, 1 - p))
            return pow(low + share * (high - low), 1 / (1 - p))
        }
        let omori = try #require(AftershockRate(days, observed: 100).omori)

        #expect(abs(omori.p - p) < 4 * omori.standardError)
        #expect(omori.standardError < 0.05)
        #expect(AftershockRate(Array(days.prefix(5)), observed: 100).omori == nil)
    }
}
