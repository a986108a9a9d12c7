import Testing

@testable import Association

@Suite("Earthquakes written after a change, and their reasons")
struct RevisionTests {
    /// The revision that is written when the rows change from `before` to `after`.
    private func revision(_ before: [Solution], _ after: [Solution]) -> Revision {
        let association = Association()
        return Revision(
            from: association.earthquakes(of: before).earthquakes.filter { $0.members.count > 1 },
            to: association.earthquakes(of: after).earthquakes)
    }

    private let usgs = row("usgs:1", firstSeen: 1)
    private let gfz = row("gfz:1", seconds: 1, firstSeen: 2)
    private let emsc = row("emsc:1", seconds: 2, firstSeen: 3)

    private func later(_ row: Solution) -> Solution {
        var far = row
        far.time += 900_000
        return far
    }

    @Test(
        "When a second agency reports an event, the two rows become an earthquake with the code of the first row"
    )
    func reported() {
        let revision = revision([usgs], [usgs, gfz])
        #expect(revision.updates.map(\.earthquake.code) == ["usgs:1"])
        #expect(revision.updates.map(\.reason) == ["reported"])
        #expect(revision.updates[0].members.map(\.code) == ["gfz:1", "usgs:1"])
        #expect(revision.removals.isEmpty && revision.departures.isEmpty)
    }

    @Test("When a third agency joins an earthquake, only the differences are written")
    func joined() {
        let revision = revision([usgs, gfz], [usgs, gfz, emsc])
        #expect(revision.updates.map(\.reason) == ["joined"])
        #expect(revision.updates.first?.members.map(\.code).contains("emsc:1") == true)
        #expect(revision.updates.first?.members.map(\.code).contains("usgs:1") == false)
    }

    @Test("When two earthquakes merge, the later one is superseded by the earlier one")
    func merge() {
        let other = row("ingv:1", seconds: 901, firstSeen: 4)
        let revision = revision(
            [usgs, gfz, later(emsc), other], [usgs, gfz, emsc, row("ingv:1", seconds: 1, firstSeen: 4)])
        #expect(revision.updates.map(\.earthquake.code) == ["usgs:1"])
        #expect(revision.removals.map(\.code) == ["emsc:1"])
        #expect(revision.removals.map(\.reason) == ["superseded by usgs:1"])
        #expect(revision.departures.isEmpty)
    }

    @Test(
        "If a row leaves, the reason of the earthquake's change is `left`, or `split` if only one row remains"
    )
    func split() {
        let left = revision([usgs, gfz, emsc], [usgs, gfz, later(emsc)])
        #expect(left.updates.map(\.reason) == ["left"])
        #expect(left.departures == [.init(code: "emsc:1", reason: "split")])
        let parted = revision([usgs, gfz], [usgs, later(gfz)])
        #expect(parted.updates.isEmpty)
        #expect(parted.removals == [.init(code: "usgs:1", reason: "split")])
        #expect(parted.departures.map(\.code) == ["gfz:1", "usgs:1"])
    }

    @Test(
        "Two rows that leave an earthquake together form a new earthquake, whose reason names the old earthquake"
    )
    func splitTogether() {
        let fourth = row("ingv:1", seconds: 2, firstSeen: 4)
        let revision = revision(
            [usgs, gfz, emsc, fourth], [usgs, gfz, later(emsc), later(fourth)])
        #expect(revision.updates.map(\.reason) == ["split from usgs:1", "left"])
    }

    @Test("When an earthquake's first row is withdrawn, the next row's code supersedes the earthquake's code")
    func firstWithdrawn() {
        let pair = revision([usgs, gfz], [gfz])
        #expect(pair.updates.isEmpty)
        #expect(pair.removals.map(\.reason) == ["superseded by gfz:1"])
        #expect(
            pair.departures == [
                .init(code: "gfz:1", reason: "split"), .init(code: "usgs:1", reason: "withdrawn"),
            ])
        let three = revision([usgs, gfz, emsc], [gfz, emsc])
        #expect(three.updates.map(\.earthquake.code) == ["gfz:1"])
        #expect(three.removals.map(\.reason) == ["superseded by gfz:1"])
    }

    @Test("A withdrawn earthquake has no successor, and an unchanged group is not written")
    func withdrawn() {
        #expect(revision([usgs, gfz], []).removals.map(\.reason) == ["withdrawn"])
        let nothing = revision([], [])
        #expect(revision([usgs, gfz], [gfz, usgs]) == nothing)
        #expect(revision([usgs], [usgs]) == nothing)
    }

    @Test("A new preferred solution is recorded as the reason")
    func preferred() {
        var reviewed = gfz
        reviewed.review = .reviewed
        #expect(revision([usgs, gfz], [usgs, reviewed]).updates.map(\.reason) == ["preferred"])
        var moved = gfz
        moved.time += 500
        #expect(revision([usgs, gfz], [usgs, moved]).updates.map(\.reason) == ["revised"])
    }
}
