import Testing

@testable import Association

@Suite("Overrides and hard links")
struct HardLinkTests {
    @Test("A person can join any two rows, and gets a warning if they are 1,000 km apart")
    func joins() throws {
        let rows = [row("usgs:1"), row("gfz:1", seconds: 5000, 45), row("emsc:1", seconds: 5001, 45)]
        let grouping = Association(overrides: [.same("gfz:1", "usgs:1")]).earthquakes(of: rows)
        #expect(grouping.groups == [["usgs:1", "gfz:1", "emsc:1"]])
        #expect(grouping.member("usgs:1")?.rule == .same)
        guard case .farApart(let codes, let kilometres, let seconds) = try #require(grouping.findings.first)
        else {
            Issue.record("\(grouping.findings)")
            return
        }
        #expect(codes == ["gfz:1", "usgs:1"])
        #expect(kilometres > 1000)
        #expect(seconds == 5000)
    }

    @Test("A person can join two events of one agency")
    func joinsOneAgency() {
        let rows = [row("usgs:1"), row("usgs:2", seconds: 1), row("gfz:1", seconds: 0.5)]
        #expect(
            Association(overrides: [.same("usgs:1", "usgs:2")]).earthquakes(of: rows).earthquakes.count == 1)
    }

    @Test("A person can separate two rows, even if a chain would join them")
    func separates() {
        let rows = [row("usgs:1"), row("gfz:1"), row("emsc:1")]
        let grouping = Association(overrides: [.different("usgs:1", "gfz:1")]).earthquakes(of: rows)
        #expect(grouping.earthquakes.count == 2)
        #expect(grouping.earthquake(of: "usgs:1") != grouping.earthquake(of: "gfz:1"))
        #expect(grouping.findings.isEmpty)
    }

    @Test("Contradicting overrides are reported, and `different` wins over `same`")
    func contradiction() {
        let rows = [row("usgs:1"), row("gfz:1"), row("emsc:1")]
        let overrides: [Override] = [
            .same("usgs:1", "gfz:1"), .same("gfz:1", "emsc:1"), .different("emsc:1", "usgs:1"),
        ]
        for order in [overrides, overrides.reversed()] {
            let grouping = Association(overrides: order).earthquakes(of: rows)
            #expect(grouping.groups == [["emsc:1", "gfz:1"], ["usgs:1"]])
            #expect(
                grouping.findings == [
                    .contradiction(same: ["gfz:1", "usgs:1"], different: ["emsc:1", "usgs:1"])
                ])
        }
        let both = Association(overrides: [.same("usgs:1", "gfz:1"), .different("gfz:1", "usgs:1")])
            .earthquakes(of: rows)
        #expect(both.earthquake(of: "usgs:1") != both.earthquake(of: "gfz:1"))
        #expect(both.findings.count == 1)
    }

    @Test("Overrides that name missing events are reported and have no effect")
    func missing() {
        let overrides: [Override] = [
            .same("usgs:1", "gone:1"), .different("gone:2", "gone:3"), .preferred("gone:4"),
            .same("usgs:1", "usgs:1"),
        ]
        let grouping = Association(overrides: overrides).earthquakes(of: [
            row("usgs:1"), row("gfz:1", seconds: 900),
        ])
        #expect(grouping.groups == [["usgs:1"], ["gfz:1"]])
        #expect(grouping.findings == Set((1...4).map { .missing("gone:\($0)") }))
    }

    @Test("If ComCat lists an event among another event's ids, the two are one earthquake")
    func ids() {
        var first = row("usgs:us1")
        first.ids = ["usgs:us1", "usgs:ci1", "usgs:at1"]
        let second = row("usgs:ci1", seconds: 100, 38)
        let grouping = Association().earthquakes(of: [
            first, second, row("gfz:1", seconds: 1), row("emsc:1", seconds: 101, 38),
        ])
        #expect(
            grouping.groups == [["usgs:us1", "usgs:ci1", "gfz:1"], ["emsc:1"]]
                || grouping.groups == [["usgs:us1", "usgs:ci1", "emsc:1"], ["gfz:1"]]
                || grouping.groups == [["usgs:us1", "usgs:ci1", "gfz:1", "emsc:1"]])
        #expect(grouping.member("usgs:ci1")?.rule == .ids)
        var late = second
        late.time = 300_001
        #expect(
            Association().earthquakes(of: [first, late]).earthquakes.count == 2,
            "listed ids count only within five minutes")
        #expect(
            Association().earthquakes(of: [first, row("gfz:us1", seconds: 100, 38)]).earthquakes.count == 2)
    }
}
