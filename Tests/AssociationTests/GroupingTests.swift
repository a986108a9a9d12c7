import Feed
import Testing

@testable import Association

@Suite("Grouping rows into earthquakes")
struct GroupingTests {
    let association = Association()

    @Test("Rows of two agencies that agree are grouped into one earthquake")
    func pair() throws {
        let grouping = association.earthquakes(of: [
            row("usgs:1", firstSeen: 2), row("gfz:1", seconds: 2, 36.1, firstSeen: 1),
        ])
        #expect(grouping.groups == [["usgs:1", "gfz:1"]])
        let earthquake = try #require(grouping.earthquakes.first)
        #expect(earthquake.code == "gfz:1", "the code of the row that was seen first")
        #expect(earthquake.agencies == 2)
        let member = try #require(grouping.member("gfz:1"))
        #expect(member.partner == "usgs:1")
        #expect(member.rule == .pair)
        #expect(member.difference?.seconds == 2)
        #expect(abs((member.difference?.kilometres ?? 0) - 11.12) < 0.01)
        #expect(member.difference?.magnitudes == 0)
    }

    @Test("Two rows can be a pair if they are at most 20 s, 120 km and 1.2 magnitudes apart")
    func windows() {
        var parameters = Parameters.shipped
        parameters.scatter.rows = [
            "*": [
                .init(
                    magnitude: -.infinity, scatter: .init(seconds: 9, kilometres: 60, magnitudes: 1), pairs: 0
                )
            ]
        ]
        let association = Association(parameters)
        let first = row("usgs:1")
        let degrees = 120 / (6371 * Double.pi / 180)
        #expect(association.groups(first, row("gfz:1", seconds: 20)).count == 1)
        #expect(association.groups(first, row("gfz:1", seconds: 20.001)).count == 2)
        #expect(association.groups(first, row("gfz:1", 36 + degrees)).count == 1)
        #expect(association.groups(first, row("gfz:1", 36 + degrees + 0.001)).count == 2)
        // In binary, 5.2 − 4 is a little more than 1.2.
        #expect(association.groups(first, row("gfz:1", magnitude: 5.2)).count == 1)
        #expect(association.groups(first, row("gfz:1", magnitude: 5.21)).count == 2)
    }

    @Test("Two solutions can be grouped even if one is 60 km deeper and 7 s later")
    func depthTradesWithTime() {
        // RéNaSS located this earthquake 182.3 km deep and the USGS 121.5 km deep, at times that differ by 7.2 s.
        #expect(
            association.groups(row("usgs:1", depth: 121.5), row("renass:1", seconds: 7.2, depth: 182.3)).count
                == 1)
        // A difference of 121 km in depth explains 15 of the 24 s.
        let shallow = row("usgs:1", depth: 10, magnitude: 6)
        #expect(association.groups(shallow, row("gfz:1", seconds: 24, depth: 131, magnitude: 6)).count == 1)
        #expect(association.groups(shallow, row("gfz:1", seconds: 24, depth: 11, magnitude: 6)).count == 2)
        #expect(
            association.groups(shallow, row("gfz:1", seconds: -24, depth: 131, magnitude: 6)).count == 2,
            "a deeper solution is later, not earlier")
        #expect(
            association.groups(shallow, row("gfz:1", seconds: 22.9, depth: 33, magnitude: 6)).count == 2,
            "both depths are fixed, so they explain no time")
    }

    @Test("Two events of one agency are not grouped, even if they are 0.1 s apart")
    func oneAgencyTwice() {
        let rows = [
            row("ci:38459127", magnitude: 3.44), row("ci:38459135", seconds: 0.11, 36.01, magnitude: 3.68),
            row("gfz:1", seconds: 0.055, 36.005, magnitude: 3.56), row("emsc:1", seconds: 1, magnitude: 3.5),
        ]
        let grouping = association.earthquakes(of: rows)
        #expect(grouping.earthquakes.count == 2)
        #expect(grouping.earthquake(of: "ci:38459127")?.code != grouping.earthquake(of: "ci:38459135")?.code)
        #expect(grouping.member("gfz:1")?.isDoubtful == true)
    }

    @Test("An M 7 and its aftershock 20 s later stay two earthquakes")
    func aftershock() {
        let rows = [
            row("usgs:1", magnitude: 7.1), row("gfz:1", seconds: 2, 36.1, magnitude: 6.9),
            row("usgs:2", seconds: 20, magnitude: 5.7), row("gfz:2", seconds: 23, 36.1, magnitude: 5.6),
            row("emsc:2", seconds: 19, 36.1, magnitude: 5.7),
        ]
        let expected: Set<Set<ExactText>> = [["usgs:1", "gfz:1"], ["usgs:2", "gfz:2", "emsc:2"]]
        #expect(association.earthquakes(of: rows).groups == expected)
        #expect(association.groups(rows[0], rows[4]).count == 2, "even if no agency reports both")
    }

    @Test("A chain of pairs does not join rows that are too far apart")
    func chain() {
        let far = [
            row("usgs:1", 36), row("gfz:1", 36.6), row("emsc:1", 37.2), row("ingv:1", 37.8),
            row("isc:1", 38.4),
        ]
        for earthquake in association.earthquakes(of: far).earthquakes {
            let codes = Set(earthquake.members.map(\.code))
            #expect(!codes.isSuperset(of: ["usgs:1", "isc:1"]))
        }
    }

    @Test("A solution that a revision moves by 1,500 km leaves its group and joins another")
    func comesHome() {
        // GeoNet's 2026p741044 was first located near Taupo, 722 km deep, and finally near Fiji, 80 s earlier.
        var table = FollowedTable()
        table.set(row("gfz:tgyq", seconds: 4.54, -24.629, 179.177, depth: 589.2, magnitude: 5.12))
        table.set(row("emsc:37", seconds: 5.12, -24.8026, 178.7983, depth: 545, magnitude: 5.1))
        table.set(row("local:1", seconds: 86, -38.6, 176.1, magnitude: 3.5))
        table.set(row("geonet:741044", seconds: 85, -38.519, 176.206, depth: 722.6, magnitude: 3.4))
        table.follow()
        #expect(Set(table.earthquakes.values.map { $0.members.count }) == [2])
        table.set(row("geonet:741044", seconds: 5, -24.868, 179.028, depth: 600, magnitude: 4.6))
        table.follow()
        #expect(table.earthquakes == table.rebuilt)
        #expect(
            association.earthquakes(of: Array(table.rows.values)).groups == [
                ["gfz:tgyq", "emsc:37", "geonet:741044"], ["local:1"],
            ])
    }

    @Test("Grouping works across the antimeridian, at the poles and with longitudes to 360")
    func globe() {
        #expect(association.groups(row("usgs:1", -17, 179.9), row("gfz:1", -17, -179.9)).count == 1)
        #expect(association.groups(row("usgs:1", -17, 179.9), row("gfz:1", -17, 180.1)).count == 1)
        #expect(association.groups(row("usgs:1", 36, -117), row("gfz:1", 36, 243)).count == 1)
        #expect(association.groups(row("usgs:1", 89.8, 0), row("gfz:1", 89.8, 180)).count == 1)
        #expect(association.groups(row("usgs:1", -90, 0), row("gfz:1", -90, 77)).count == 1)
        #expect(association.groups(row("usgs:1", 89.8, 0), row("gfz:1", -89.8, 0)).count == 2)
    }

    @Test("A published uncertainty allows a larger difference, up to a limit")
    func published() {
        let near = row("usgs:1", magnitude: 6)
        var far = row("gfz:1", seconds: 1, 37, magnitude: 6)
        #expect(association.groups(near, far).count == 2)
        far.uncertainty.kilometres = 30
        #expect(association.groups(near, far).count == 1)
        far.uncertainty.kilometres = 1e9
        let cost = association.comparison.difference(association.located(near), association.located(far)).cost
        #expect(cost > 2.5, "\(cost)")
        far.uncertainty = .init(seconds: .nan, kilometres: -5, magnitudes: .infinity)
        #expect(association.groups(near, far).count == 2)
    }

    @Test("An explanation lists the links in order with their outcomes, including links to other earthquakes")
    func explanation() throws {
        let rows = [
            row("usgs:1"), row("usgs:2", seconds: 6, magnitude: 4.2), row("gfz:1", seconds: 1),
            row("emsc:1", seconds: 2, 36.1),
        ]
        let explanation = try #require(association.explain("gfz:1", in: rows))
        #expect(explanation.earthquake.members.map(\.code) == ["emsc:1", "gfz:1", "usgs:1"])
        let first = try #require(explanation.steps.first)
        #expect(first.outcome == .joined)
        #expect(
            Set([first.a, first.b]) == ["usgs:1", "gfz:1"] || Set([first.a, first.b]) == ["emsc:1", "gfz:1"])
        #expect(explanation.steps.contains { $0.outcome == .alreadyTogether })
        let second = try #require(explanation.steps.first { Set([$0.a, $0.b]) == ["usgs:2", "gfz:1"] })
        guard case .sameAgency(let a, let b) = second.outcome else {
            Issue.record("\(second.outcome)")
            return
        }
        #expect(Set([a, b]) == ["usgs:1", "usgs:2"])
    }
}
