import Testing

@testable import Association

/// Rows as agencies published them (TheShelterApp/earthquakes-feed, tests/fixtures, CDLA-Permissive-2.0).
@Suite("Real earthquakes")
struct RealCasesTests {
    let association = Association()

    @Test(
        "The first solutions of the Loyalty M 7 are grouped, although one is 114 km deep and 62 km away")
    func loyalty() {
        var pacific = row("usgs:pt26268000", seconds: 5, -21.246, 168.453, depth: 17.1, magnitude: 7)
        pacific.network = "pt"
        let rows = [
            pacific, row("gfz:svlq", seconds: 5.05, -21.215, 168.663, depth: 10, magnitude: 6.43),
            row("geonet:724036", seconds: 7, -21.038, 168.571, depth: 33, magnitude: 6.6),
            row("emsc:287", seconds: 7.23, -21.2598, 168.6703, depth: 31, magnitude: 6.4),
            row("resif:urwokh", seconds: 15.278, -20.71866608, 168.6498566, depth: 114.599, magnitude: 5.847),
            row("ingv:46714321", seconds: 5.191, -21.2133, 168.721, depth: 11.7, magnitude: 6.5),
            row("jma:1", seconds: 0, -21.2, 168.5, magnitude: 7),
            row("cenc:7", seconds: 3, -21.25, 168.45, depth: 10, magnitude: 6.6),
        ]
        #expect(association.earthquakes(of: rows).earthquakes.count == 1)
    }

    @Test(
        "The solutions of a South Sandwich Islands M 6 are grouped; EMSC's row copies GFZ's and later the NEIC's"
    )
    func southSandwich() throws {
        var emsc = row("emsc:170", seconds: 13.03, -60.292, -28.958, depth: 10, magnitude: 5.8)
        emsc.author = "GFZ"
        var neic = row("usgs:us6000tk74", seconds: 12.117, -60.2445, -28.9899, depth: 10, magnitude: 6)
        neic.network = "us"
        let rows = [
            row("gfz:psin", seconds: 13.03, -60.292, -28.958, depth: 10, magnitude: 5.84), neic,
            row("resif:ujmhpr", seconds: 15.338, -60.25236511, -28.84731483, depth: 10, magnitude: 5.24),
            row("ingv:46863412", seconds: 20.572, -60.2227, -29.194, depth: 55.5, magnitude: 6),
            row("usp:psin", seconds: 13.372, -60.33190536, -29.25572967, depth: 10, magnitude: 5.82),
        ]
        let first = association.earthquakes(of: rows + [emsc])
        #expect(first.earthquakes.count == 1)
        #expect(first.member("emsc:170")?.rule == .copy)
        #expect(first.member("emsc:170")?.partner == "gfz:psin")

        (emsc.time, emsc.latitude, emsc.longitude, emsc.magnitude, emsc.author) = (
            12_117, -60.2445, -28.9899, 6, "NEIC"
        )
        #expect(association.earthquakes(of: rows + [emsc]).member("emsc:170")?.partner == "usgs:us6000tk74")
    }

    @Test("EMSC's copy joins its original, and not an event that is 15.75 s earlier")
    func anza() {
        var first = row(
            "usgs:ci41339663", seconds: 69.74, 33.4796666666667, -116.483, depth: 13.86, magnitude: 1.6)
        var second = row(
            "usgs:ci41339671", seconds: 85.49, 33.4791666666667, -116.483333333333, depth: 14.27,
            magnitude: 2.3)
        (first.network, second.network) = ("ci", "ci")
        var emsc = row("emsc:34", seconds: 85.49, 33.4792, -116.4833, depth: 14.3, magnitude: 2.3)
        emsc.author = "SCSN"
        let grouping = association.earthquakes(of: [first, second, emsc])
        #expect(grouping.groups == [["usgs:ci41339663"], ["usgs:ci41339671", "emsc:34"]])
        #expect(grouping.member("emsc:34")?.rule == .copy)
    }

    @Test(
        "A copy joins its original, even if the scatter is too small for the two to be a pair"
    )
    func expensiveCopy() throws {
        let text = "version 1\nscatter * - 0.1 1 0.05 50\nauthor SCSN ci"
        let association = Association(try Parameters(text: text))
        var ci = row("usgs:ci41339671", seconds: 21, 33.4792, -116.5, depth: 14.3, magnitude: 2.3)
        ci.network = "ci"
        var emsc = row("emsc:1", seconds: 21.99, 33.4792, -116.5, depth: 14.3, magnitude: 2.3)
        emsc.author = "SCSN"
        #expect(association.earthquakes(of: [ci, emsc]).member("emsc:1")?.rule == .copy)
        var table = FollowedTable(association.parameters)
        for row in [ci, emsc] {
            table.set(row)
            table.follow()
        }
        #expect(
            table.earthquakes.values.map { Set($0.members.map(\.code)) } == [["usgs:ci41339671", "emsc:1"]])
    }

    @Test("EMSC's copy of a row whose time is in whole seconds is recognised as a copy")
    func wholeSeconds() {
        var emsc = row("emsc:267", seconds: 41.99, 37.1107, -3.5342, depth: 7.3, magnitude: 1.5)
        emsc.author = "IGN"
        let ign = row("ign:es2026taxtr", seconds: 41, 37.1107, -3.5342, depth: 7, magnitude: 1.5)
        #expect(association.earthquakes(of: [emsc, ign]).member("ign:es2026taxtr")?.rule == .copy)
        var other = emsc
        other.magnitude = 1.7
        #expect(association.earthquakes(of: [other, ign]).member("ign:es2026taxtr")?.rule == .pair)
        other.author = "EMSC"
        #expect(association.earthquakes(of: [other, ign]).member("ign:es2026taxtr")?.rule == .pair)
    }
}
