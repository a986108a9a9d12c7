import Feed
import Testing

@testable import Association

@Suite("Choice of the preferred solution")
struct PreferenceTests {
    private func preferred(_ rows: [Solution], _ overrides: [Override] = []) -> ExactText? {
        Association(overrides: overrides).earthquakes(of: rows).earthquakes.first?.preferred
    }

    @Test("An override decides first, then the authoritative agency, then the review, then the agency's rank")
    func order() {
        // All three rows are in Italy.
        var usgs = row("usgs:1", 43, 13)
        var gfz = row("gfz:1", 43, 13)
        let ingv = row("ingv:1", 43, 13)
        #expect(preferred([usgs, gfz]) == "usgs:1")
        gfz.review = .reviewed
        usgs.review = .automatic
        #expect(preferred([usgs, gfz]) == "gfz:1")
        #expect(preferred([usgs, gfz, ingv]) == "ingv:1")
        #expect(preferred([usgs, gfz, ingv], [.preferred("usgs:1")]) == "usgs:1")
    }

    @Test(
        "Between otherwise equal solutions, the stations decide, then the gap, the later revision and the code"
    )
    func equals() {
        var a = row("x:1")
        var b = row("y:1")
        #expect(preferred([a, b]) == "x:1")
        b.updated = 5
        #expect(preferred([a, b]) == "y:1")
        a.gap = 90
        b.gap = 120
        #expect(preferred([a, b]) == "x:1")
        b.stations = 40
        #expect(preferred([a, b]) == "y:1")
        b.gap = .nan
        #expect(preferred([a, b]) == "y:1")
    }

    @Test("Two members marked as preferred are reported")
    func severalPreferred() {
        let grouping = Association(overrides: [.preferred("gfz:1"), .preferred("usgs:1")]).earthquakes(of: [
            row("usgs:1"), row("gfz:1"),
        ])
        #expect(grouping.earthquakes.map(\.preferred) == ["usgs:1"])
        #expect(grouping.findings == [.severalPreferred(earthquake: "gfz:1", codes: ["gfz:1", "usgs:1"])])
    }

    @Test("The magnitude is a solution's Mw, or else the preferred solution's magnitude, or else any other")
    func magnitude() {
        func from(_ rows: [Solution]) -> ExactText? {
            Association().earthquakes(of: rows).earthquakes.first?.magnitudeFrom
        }
        var usgs = row("usgs:1")
        var gfz = row("gfz:1")
        (usgs.magnitudeType, gfz.magnitudeType) = ("mb", "Mw(mB)")
        #expect(from([usgs, gfz]) == "usgs:1")
        gfz.magnitudeType = "Mw"
        #expect(from([usgs, gfz]) == "gfz:1")
        gfz.magnitude = nil
        #expect(from([usgs, gfz]) == "usgs:1")
        usgs.magnitude = nil
        #expect(from([usgs, gfz]) == nil)
        gfz.magnitude = 4
        #expect(from([usgs, gfz]) == "gfz:1")
    }

    @Test("A network is authoritative in its ANSS region, or in a box outside the United States")
    func regions() {
        func isAuthoritative(_ network: String, _ latitude: Double, _ longitude: Double) -> Bool {
            Region.isAuthoritative(network, agency: "", at: row("x:1", latitude, longitude))
        }
        #expect(Region.anss.count == 12)
        #expect(Region.anss.map(\.corners.count).max() == 76)
        #expect(isAuthoritative("ci", 35.77, -117.6), "Ridgecrest")
        #expect(isAuthoritative("ci", 35.77, 242.4))
        #expect(!isAuthoritative("us", 35.77, -117.6))
        #expect(isAuthoritative("nc", 38.8, -122.8), "The Geysers")
        #expect(isAuthoritative("hv", 19.4, -155.3), "Kilauea")
        #expect(isAuthoritative("ak", 61.3, -150), "Anchorage")
        #expect(isAuthoritative("pr", 17.9, -66.8))
        #expect(isAuthoritative("uu", 44.6, -110.5), "Yellowstone")
        #expect(isAuthoritative("geonet", -41.3, 174.8), "Wellington")
        #expect(isAuthoritative("sed", 46.2, 7.4), "Valais")
        #expect(!isAuthoritative("resif", 46.2, 7.4))
        #expect(!isAuthoritative("ingv", -60, -29))
        #expect(!isAuthoritative("gfz", 52, 13))
    }
}
