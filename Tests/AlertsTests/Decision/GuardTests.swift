import Feed
import Testing

@testable import Alerts

@Suite("Alerts: guards") struct GuardTests {
    private let world = rule("world", .init(4))

    @Test func earthquakesFromBeforeTheFirstStartAreNotReported() {
        var stage = Stage([world], isStarted: false)
        #expect(stage.commit(quake()).isEmpty)
        #expect(stage.commit(quake("us1", 5.1)).isEmpty)
        #expect(stage.commit(quake("us1", 6)).isEmpty)
        #expect(stage.commit(deleted: ["us1"]).isEmpty)
        #expect(stage.commit(quake("us2")).kinds == [.new])
    }

    @Test(arguments: [(5, true), (7, false)])
    func anEarthquakeOlderThanSixHoursIsNotReported(hours: Int, isTold: Bool) {
        var stage = Stage(world)
        #expect(stage.commit(after: .seconds(hours * 3600), quake()).isEmpty != isTold)
    }

    /// In 2017, the USGS corrected the place of an earthquake of 1925, and mailed a report as if the earthquake were new.
    @Test func anEarthquakeOf92YearsAgoIsNotReported() {
        var stage = Stage(world, rule("late", .init(4)) { $0.maxAge = Ledger.memory })
        let old = quake("ci1", 6.8, time: at("1925-06-29T14:42:16Z"))
        #expect(stage.commit(old).isEmpty)
        #expect(stage.commit(quake("ci1", 6.9, time: at("1925-06-29T14:42:16Z"))).isEmpty)
        #expect(stage.commit(deleted: ["ci1"]).isEmpty)
    }

    @Test func aLateReportSaysHowLateItIs() throws {
        var stage = Stage(rule("late", .init(4)) { $0.maxAge = .seconds(7 * 86_400) })
        let told = stage.commit(after: .seconds(3 * 86_400), quake())
        #expect(told.kinds == [.new])
        #expect(try #require(told.first).text.contains("This report is late: 3 days after the earthquake."))
    }

    @Test func aReportedEarthquakeIsCorrectedAtAnyAge() {
        var stage = Stage(world)
        #expect(stage.commit(quake()).kinds == [.new])
        #expect(stage.commit(after: .seconds(9 * 86_400), quake("us1", 5.6)).kinds == [.corrected])
        #expect(stage.commit(after: .seconds(9 * 86_400), deleted: ["us1"]).kinds == [.withdrawn])
    }

    @Test func oldReportsAreForgotten() {
        var stage = Stage(world)
        #expect(stage.commit(quake()).kinds == [.new])
        #expect(stage.tick(.seconds(31 * 86_400)).isEmpty)
        #expect(stage.ledger.standings.isEmpty)
        #expect(stage.commit(quake("us1", 6)).isEmpty)
        #expect(stage.commit(deleted: ["us1"]).isEmpty)
    }

    @Test func anEarthquakeInTheFutureIsReportedOnceItsTimeHasPassed() {
        var stage = Stage(world)
        let ahead = quake(time: noon + .seconds(7200))
        #expect(stage.commit(ahead).isEmpty)
        #expect(stage.commit(after: .seconds(600), ahead).isEmpty)
        #expect(
            stage.commit(after: .seconds(7200), quake("us1", 5.1, time: noon + .seconds(7200))).kinds == [
                .new
            ])
        // Clocks may differ by seconds.
        #expect(stage.commit(quake("us2", time: stage.now + .seconds(30))).kinds == [.new])
    }

    @Test(
        arguments: [
            { $0.type = "scenario" }, { $0.type = "Training exercise" }, { $0.status = "test" },
            { $0.types = ["origin", "shakemap-scenario"] }, { $0.place = "TEST 10 km N of Reno" },
        ] as [@Sendable (inout AlertEvent) -> Void])
    func testsAndScenariosAreNotReported(change: @Sendable (inout AlertEvent) -> Void) {
        var stage = Stage(world)
        #expect(stage.commit(quake("us1", 8, change)).isEmpty)
        #expect(stage.commit(quake("us2", 8)).kinds == [.new])
        // If an earthquake turns out to be an exercise, a report says that it no longer matches.
        #expect(stage.commit(quake("us2", 8, change)).kinds == [.noLonger])
    }

    @Test func quarryBlastsAndPlacesNamedTestAreReported() {
        var stage = Stage(world)
        let told = stage.commit(
            quake("us1") { $0.place = "5 km W of Test Valley" },
            quake("us2", 4.5) { $0.type = "quarry blast" })
        #expect(told.codes == ["us1", "us2"])
        #expect(told.last?.title == "M 4.5 quarry blast 111 km N of home")
    }

    @Test func anAutomaticSolutionNeedsAsManyStationsAsTheRuleRequires() {
        var stage = Stage(rule("sure", .init(4)) { $0.stations = 8 })
        #expect(stage.commit(quake { $0.status = "automatic" }, quake("us2") { $0.stations = 7 }).isEmpty)
        #expect(stage.commit(quake("us3") { $0.stations = 8 }).kinds == [.new])
        #expect(stage.commit(quake { $0.status = "reviewed" }).kinds == [.new])
        // The guard held back the earthquake's first report, so the kind is new and not risen.
        #expect(stage.commit(quake("us2") { $0.stations = 9 }).kinds == [.new])
        #expect(stage.commit(quake("us2") { $0.stations = 3 }).isEmpty)
    }

    @Test func aRuleWithTooFewStationsDoesNotBreakTheQuietHoursOfAnotherRule() {
        let night = rule("night", .init(4)) {
            $0.quiet = QuietHours(from: 0, to: 1200, zone: .gmt, action: .defer)
        }
        var stage = Stage(night, rule("sure", .init(4)) { $0.stations = 8 })
        #expect(stage.commit(quake { $0.stations = 3 }, quake("us2") { $0.stations = 3 }).isEmpty)
        #expect(stage.commit(quake { $0.stations = 4 }).isEmpty)
        #expect(stage.commit(quake("us2") { $0.stations = 8 }).codes == ["us2"])
        // A correction with too few stations waits for the morning as well.
        #expect(stage.commit(quake("us2", 6) { $0.stations = 4 }).isEmpty)
        stage.now = at("2026-11-26T20:00:00Z")
        let told = stage.tick()
        #expect(told.codes == ["us2", "us1"])
        #expect(told.kinds == [.corrected, .new])
    }

    @Test func anEarthquakeThatLosesItsStationsIsStillCorrected() {
        let news = rule("news", .init(4)) { $0.kinds = [.new] }
        var stage = Stage(rule("sure", .init(4)) { $0.stations = 8 }, news)
        #expect(stage.commit(quake { $0.stations = 8 }).kinds == [.new])
        #expect(stage.commit(quake("us1", 6) { $0.stations = 3 }).kinds == [.corrected])
    }

    @Test func aChangedRuleReportsNoOldEarthquake() {
        var stage = Stage(rule("world", .init(6)))
        #expect(stage.commit(quake("us1", 5), quake("us2", 6.5)).codes == ["us2"])
        stage.rules.rules[0].ladder = [.init(4)]
        #expect(stage.commit(quake("us1", 5.1)).isEmpty)
        #expect(stage.commit(quake("us3", 4)).codes == ["us3"])
        // A rule that becomes stricter does not cancel earlier reports.
        stage.rules.rules[0].ladder = [.init(7)]
        #expect(stage.commit(quake("us2", 6.4), quake("us3", 4.1)).isEmpty)
        #expect(stage.commit(deleted: ["us2", "us3"]).isEmpty)
    }

    @Test func anAddedRuleReportsNoOldEarthquake() {
        var stage = Stage(world)
        #expect(stage.commit(quake()).count == 1)
        stage.rules.rules.append(rule("mine", .init(4)) { $0.receivers = ["you"] })
        #expect(stage.commit(quake("us1", 6)).map(\.receiver) == ["me"])
        #expect(stage.commit(quake("us2", 6)).map(\.receiver) == ["me", "you"])
    }

    @Test func aRemovedRuleReportsNothing() {
        var stage = Stage(world)
        #expect(stage.commit(quake()).count == 1)
        stage.rules.rules = []
        #expect(stage.commit(deleted: ["us1"]).isEmpty)
    }

    /// The notifier was down for hours, and decides on several commits together.
    @Test func aRevisionDoesNotMakeAnEarthquakeTooOld() {
        var stage = Stage(world)
        let (found, revised) = (quake("us1", 6.9), quake("us1", 7))
        stage.now = noon + .seconds(10 * 3600)
        let told = stage.rules.decide(
            [
                EventChange(before: nil, after: found, committedAt: noon + .seconds(300)),
                EventChange(before: found, after: revised, committedAt: noon + .seconds(7 * 3600)),
            ], &stage.ledger, now: stage.now)
        #expect(told.isEmpty)
        let later = stage.tick(.seconds(60))
        #expect(later.kinds == [.new])
        #expect(later.first?.earthquakes.first?.magnitude == 7)
    }

    /// After the database's clock was ahead, commits keep its latest time until the clock has caught up.
    @Test func aCommitInTheFutureCountsAsMadeNow() {
        var stage = Stage(world)
        let change = EventChange(before: nil, after: quake(), committedAt: noon + .seconds(9 * 3600))
        #expect(stage.rules.decide([change], &stage.ledger, now: stage.now).kinds == [.new])
    }

    /// This machine's clock jumps back by an hour, and is then corrected.
    @Test func aJumpingClockNeitherRepeatsNorSkipsReports() {
        var stage = Stage(world)
        #expect(stage.commit(quake()).count == 1)
        stage.now = stage.now - .seconds(3600)
        #expect(stage.commit(quake("us1", 5.1), quake("us2", time: stage.now)).codes == ["us2"])
        stage.now = stage.now + .seconds(3600)
        #expect(
            stage.commit(quake("us2", 5.1, time: stage.now), quake("us3", time: stage.now)).codes == ["us3"])
    }
}
