import TestSupport
import Testing

@testable import Association

@Suite("Unusual rows")
struct BadInputTests {
    let association = Association()

    @Test("An agency unknown to the parameters is treated like any other")
    func unknownAgency() {
        #expect(association.groups(row("usgs:1"), row("nobody:1", seconds: 3)).count == 1)
        #expect(association.groups(row("nobody:1"), row("somebody:1", seconds: 3)).count == 1)
    }

    @Test("Rows without a magnitude or a depth are compared by their other values")
    func missingValues() {
        #expect(
            association.groups(row("usgs:1", magnitude: nil), row("gfz:1", seconds: 3, depth: 33)).count == 1)
        #expect(
            association.groups(
                row("usgs:1", depth: 500, magnitude: nil), row("gfz:1", seconds: 3, magnitude: nil)
            ).count == 1)
        // A row without a magnitude does not displace a row whose magnitude fits.
        let rows = [row("usgs:1"), row("gfz:1", seconds: 1), row("usgs:2", seconds: 1, magnitude: nil)]
        #expect(association.earthquakes(of: rows).earthquakes.count == 2)
    }

    @Test("Magnitudes of ±12 and times in the years 1 and 9999 are compared like any others")
    func extremes() {
        for time in [-62_135_596_800_000, 253_402_300_799_000] {
            let seconds = Double(time / 1000)
            #expect(
                association.groups(
                    row("usgs:1", seconds: seconds, magnitude: 12),
                    row("gfz:1", seconds: seconds + 0.5, magnitude: 12)
                ).count == 1)
            #expect(
                association.groups(
                    row("usgs:1", seconds: seconds, magnitude: 12),
                    row("gfz:1", seconds: seconds, magnitude: -12)
                ).count == 2)
        }
        #expect(association.groups(row("usgs:1", magnitude: -12), row("gfz:1", magnitude: -12)).count == 1)
    }

    @Test("Grouping accepts any number, even NaN and infinity")
    func wildNumbers() {
        var random = seededRandom()
        let numbers = [Double.nan, .infinity, -.infinity, 0, -0.0, 1e308, -1e308, 90, -90, 1000]
        let times = [Int64.min, .max, 0, 1, -62_135_596_800_000]
        for _ in 0..<50 {
            let rows = (0..<20).map { number in
                var row = row("\(RandomWorld.agencies[number % 4]):\(number)")
                row.time = times.randomElement(using: &random)!
                row.updated = times.randomElement(using: &random)!
                row.latitude = numbers.randomElement(using: &random)!
                row.longitude = numbers.randomElement(using: &random)!
                row.depth = numbers.randomElement(using: &random)!
                row.magnitude = numbers.randomElement(using: &random)!
                row.gap = numbers.randomElement(using: &random)!
                row.uncertainty.seconds = numbers.randomElement(using: &random)!
                row.author = ["gfz", "", "NEIC"].randomElement(using: &random)!
                row.ids = ["usgs:0", "usgs:4", ""]
                return row
            }
            let grouping = association.earthquakes(of: rows)
            #expect(grouping.earthquakes.reduce(0) { $0 + $1.members.count } == 20)
            var table = FollowedTable()
            for row in rows { table.set(row) }
            table.follow()
            #expect(table.earthquakes.count == table.rebuilt.count)
        }
    }

    @Test("An empty list of rows gives no earthquakes")
    func empty() {
        #expect(association.earthquakes(of: []) == Grouping())
        #expect(association.group([]) == Grouping())
        var neighbourhood = Neighbourhood(association, [SolutionChange(before: nil, after: nil)])
        #expect(neighbourhood.request == nil)
        neighbourhood.add([], for: .codes([]))
        #expect(neighbourhood.rows.isEmpty)
    }
}
