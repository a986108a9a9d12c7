import Feed
import Testing

@testable import Alerts

@Suite("Alerts: kinds") struct KindTests {
    private let near = rule("near", .init(4, within: 200))

    @Test func aNewEarthquakeIsReportedOnce() {
        var stage = Stage(near)
        let told = stage.commit(quake())
        #expect(told.map(\.type) == ["earthquake.new"])
        #expect(told.first?.id == "me:us1:1-new")
        #expect(stage.commit(quake("us1", 5.2)).isEmpty)
        #expect(stage.commit(quake("us1", 5.2) { $0.status = "reviewed" }).isEmpty)
    }

    @Test func aSmallOrDistantEarthquakeIsNotReported() {
        var stage = Stage(near)
        #expect(
            stage.commit(quake("us1", 3.9), quake("us2", 5, north: 3), quake("us3", nil), quake("us4", .nan))
                .isEmpty)
    }

    @Test func anEarthquakeThatMatchesOnlyAfterARevisionIsReportedAsRisen() {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", 3.8)).isEmpty)
        let told = stage.commit(quake("us1", 4.1))
        #expect(told.kinds == [.risen])
        #expect(told.first?.earthquakes.first?.earlier?.magnitude == 3.8)
        #expect(stage.commit(quake("us1", 4.3)).isEmpty)
    }

    @Test func anEarthquakeThatIsRevisedToANearPlaceIsReportedAsRisen() {
        var stage = Stage(near)
        #expect(stage.commit(quake(north: 3)).isEmpty)
        #expect(stage.commit(quake(north: 1.5)).kinds == [.risen])
    }

    @Test func anEarthquakeThatGetsAMagnitudeLaterIsReportedAsRisen() {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", nil)).isEmpty)
        #expect(stage.commit(quake("us1", 5)).kinds == [.risen])
    }

    @Test(arguments: [
        (5.4, 0.0, 0.0, false), (5.41, 0, 0, true), (4.6, 0, 0, false), (4.59, 0, 0, true),
        (5, 0.5, 0, false), (5, 0.51, 0, true), (5, 0, -0.5, false), (5, 0, -0.51, true),
    ])
    func aLargeDifferenceFromTheLastReportLeadsToACorrection(
        magnitude: Double, north: Double, east: Double, isTold: Bool
    ) {
        var stage = Stage(rule("world", .init(4)))
        #expect(stage.commit(quake()).kinds == [.new])
        let revised = quake("us1", magnitude, north: 1 + north) { $0.longitude += east }
        #expect(stage.commit(revised).kinds == (isTold ? [.corrected] : []))
    }

    @Test func smallStepsAddUpToACorrection() {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", 5)).kinds == [.new])
        #expect(stage.commit(quake("us1", 5.3)).isEmpty)
        let told = stage.commit(quake("us1", 5.5))
        #expect(told.kinds == [.corrected])
        #expect(told.first?.earthquakes.first?.earlier?.magnitude == 5)
        #expect(told.first?.thread == "me:us1:1-new")
        #expect(told.first?.id == "me:us1:2-corrected")
    }

    @Test func crossingTheDateLineIsNotAMove() {
        var stage = Stage(rule("world", .init(4)))
        #expect(stage.commit(quake { $0.longitude = 179.9 }).kinds == [.new])
        #expect(stage.commit(quake { $0.longitude = -179.9 }).isEmpty)
        #expect(stage.commit(quake { $0.longitude = 180.1 }).isEmpty)
    }

    @Test func aSecondFallBelowTheThresholdIsReportedOnlyAfterAClearRise() {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", 4)).kinds == [.new])
        #expect(stage.commit(quake("us1", 3.9)).kinds == [.noLonger])
        #expect(stage.commit(quake("us1", 3.8)).isEmpty)
        // Moving back and forth around the threshold is not news.
        #expect(stage.commit(quake("us1", 4.1)).isEmpty)
        #expect(stage.commit(quake("us1", 3.9)).isEmpty)
        #expect(stage.commit(quake("us1", 4.4)).kinds == [.risen])
        #expect(stage.commit(quake("us1", 3.9)).kinds == [.noLonger])
    }

    @Test func aMoveOutOfRangeIsReportedOnce() {
        var stage = Stage(near)
        #expect(stage.commit(quake()).kinds == [.new])
        #expect(stage.commit(quake(north: 10)).kinds == [.noLonger])
        #expect(stage.commit(quake(north: 11)).isEmpty)
    }

    @Test func aRemovedMagnitudeChangesNothing() {
        var stage = Stage(near)
        #expect(stage.commit(quake()).kinds == [.new])
        #expect(stage.commit(quake("us1", nil)).isEmpty)
        #expect(stage.commit(quake("us1", 5.1)).isEmpty)
    }

    /// The first code has a single scalar é, the second one an e and an accent. String treats them as equal.
    @Test func codesThatLookTheSameAreDifferentEarthquakes() {
        var stage = Stage(near)
        let (one, other) = (quake("caf\u{e9}"), quake("cafe\u{301}", 6))
        #expect(stage.commit(one, other).kinds == [.new, .new])
        let told = stage.commit(deleted: [one.key])
        #expect(told.kinds == [.withdrawn])
        #expect(told.first?.earthquakes.first?.magnitude == 5)
        #expect(stage.ledger.standings[other.key]?["me"]?.told?.stands == true)
    }

    @Test func aDeletedEarthquakeIsWithdrawn() {
        var stage = Stage(near)
        #expect(stage.commit(quake()).kinds == [.new])
        let told = stage.commit(deleted: ["us1"])
        #expect(told.kinds == [.withdrawn])
        #expect(told.first?.earthquakes.first?.magnitude == 5)
    }

    @Test func onlyReportedEarthquakesAreWithdrawn() {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", 3), quake("us2", 5)).codes == ["us2"])
        #expect(stage.commit(quake("us2", 3)).kinds == [.noLonger])
        #expect(stage.commit(deleted: ["us1", "us2"]).isEmpty)
    }

    /// Real feeds remove and restore earthquakes: in 120 hours, 4 of the 35 earthquakes that disappeared came back.
    @Test func aWithdrawnEarthquakeThatComesBackIsReportedAgain() {
        var stage = Stage(near)
        #expect(stage.commit(quake()).kinds == [.new])
        #expect(stage.commit(deleted: ["us1"]).kinds == [.withdrawn])
        let told = stage.commit(quake())
        #expect(told.kinds == [.risen])
        #expect(told.first?.id == "me:us1:3-risen")
    }

    @Test func anEarthquakeThatWasNotReportedIsReportedWhenItReachesAHigherStep() {
        // At the first start, the earthquake already reaches the lower step.
        var stage = Stage(rule("ladder", .init(3, within: 300), .init(7)), isStarted: false)
        #expect(stage.commit(quake("us1", 3.4)).isEmpty)
        #expect(stage.commit(quake("us1", 6.9)).isEmpty)
        let told = stage.commit(quake("us1", 7.8))
        #expect(told.kinds == [.risen])
        #expect(told.first?.title.contains("was M 6.9") == true)
        #expect(stage.commit(quake("us1", 7.9)).isEmpty)
    }

    @Test func aReportThatTheGuardHeldIsNewEvenIfItReachesAHigherStep() {
        var stage = Stage(
            rule("ladder", .init(3, within: 300), .init(7)) { ($0.stations, $0.kinds) = (8, [.new]) })
        #expect(stage.commit(quake("us1", 3.4) { $0.stations = 2 }).isEmpty)
        #expect(stage.commit(quake("us1", 7.1) { $0.stations = 9 }).kinds == [.new])
    }

    @Test func usgsStandsForAllNetworksOfComCat() throws {
        let file =
            "receivers: {me: {command: [/bin/true]}}\nrules: {usgs: {magnitude: 4, agencies: usgs, to: me}}"
        var stage = Stage(try #require(rules(file).rules.first))
        #expect(stage.commit(quake("ci1") { $0.agencies = ["ci"] }).kinds == [.new])
        #expect(stage.commit(quake("gfz1") { $0.agencies = ["gfz"] }).isEmpty)
    }

    @Test func anEarthquakeThatJoinsOneWithAWaitingReportIsNotReportedAgain() {
        var stage = Stage(near)
        #expect(stage.commit(quake("q0")).kinds == [.new])
        for index in 1..<5 { _ = stage.commit(quake("q\(index)")) }
        // The swarm holds the report of another row of the first earthquake.
        #expect(stage.commit(quake("us9")).isEmpty)
        #expect(stage.ledger.nextDue != nil)
        #expect(stage.commit(superseded: ["q0": "us9"], quake("us9") { $0.ids = ["us9", "q0"] }).isEmpty)
        #expect(stage.tick(.seconds(3600)).isEmpty)
    }

    @Test func aReportThatWaitsIsDroppedIfItsEarthquakeJoinsAnotherOfTheSameSize() {
        // Each of the earthquakes of the swarm has a report; the reports of the next changes wait.
        for magnitude in [3.0, 5.8] {
            var stage = Stage(near)
            for index in 0..<5 { _ = stage.commit(quake("q\(index)")) }
            #expect(stage.commit(quake("q0", magnitude)).isEmpty)
            #expect(stage.commit(quake("us9", 5.1)).isEmpty)
            #expect(stage.commit(superseded: ["q0": "us9"]).isEmpty)
            #expect(stage.tick(.seconds(3600)).isEmpty)
        }
    }

    @Test func afterAWithdrawalAnEarthquakeThatReturnsUnderAnotherCodeIsReported() {
        var stage = Stage(near)
        #expect(stage.commit(quake("q0")).kinds == [.new])
        #expect(stage.commit(deleted: ["q0"]).kinds == [.withdrawn])
        for index in 1..<4 { _ = stage.commit(quake("q\(index)")) }
        #expect(stage.commit(quake("q0")).isEmpty)
        #expect(stage.commit(quake("us9")).isEmpty)
        #expect(stage.commit(superseded: ["q0": "us9"]).isEmpty)
        #expect(stage.tick(.seconds(3600)).kinds == [.risen])
    }

    @Test func anEarthquakeThatJoinsAMuchLargerOneWithAWaitingReportIsCorrected() {
        var stage = Stage(near)
        for index in 0..<5 { _ = stage.commit(quake("q\(index)", index == 0 ? 5 : 7)) }
        #expect(stage.commit(quake("us9", 6)).isEmpty)
        #expect(stage.commit(superseded: ["q0": "us9"]).isEmpty)
        let told = stage.tick(.seconds(3600))
        #expect(told.kinds == [.corrected])
        #expect(told.first?.thread == "me:q0:1-new")
    }

    @Test func anEarthquakeWithANewCodeIsNotReportedAgain() {
        // Either the new row is inserted first, or the old row is deleted first, or one commit does both.
        for order in 0..<3 {
            var stage = Stage(near)
            #expect(stage.commit(quake("ci1")).kinds == [.new])
            let other = quake("us1", 5.1) { $0.ids = ["us1", "ci1"] }
            switch order {
            case 0: #expect(stage.commit(other).isEmpty && stage.commit(superseded: ["ci1": "us1"]).isEmpty)
            case 1: #expect(stage.commit(superseded: ["ci1": "us1"]).isEmpty && stage.commit(other).isEmpty)
            default: #expect(stage.commit(superseded: ["ci1": "us1"], other).isEmpty)
            }
            let told = stage.commit(deleted: ["us1"])
            #expect(told.kinds == [.withdrawn])
            #expect(told.first?.thread == "me:ci1:1-new")
        }
    }

    @Test func anEarthquakeOfSeveralAgenciesIsReportedOnce() {
        var stage = Stage(near)
        func group(_ magnitude: Double, _ code: ExactText, _ agencies: [String]) -> AlertEvent {
            quake(code, magnitude) {
                $0.key = "e1"
                $0.agencies = agencies
            }
        }
        #expect(stage.commit(group(5, "us1", ["us"])).kinds == [.new])
        #expect(stage.commit(group(5, "us1", ["us", "emsc"])).isEmpty)
        #expect(stage.commit(group(5.1, "jma1", ["us", "emsc", "jma"])).isEmpty)
        #expect(stage.commit(group(5.7, "jma1", ["us", "emsc", "jma"])).kinds == [.corrected])
        #expect(stage.commit(deleted: ["e1"]).first?.earthquakes.first?.code == "jma1")
    }

    @Test func anEarthquakeThatJoinsAnotherIsNotReportedAgain() {
        // Each of two receivers has been told about one of the two earthquakes.
        for (first, second) in [("emsc1", "us1"), ("us1", "emsc1")] as [(ExactText, ExactText)] {
            var stage = Stage(
                rule("emsc", .init(4)) { $0.networks = ["emsc"] },
                rule("us", .init(4)) { ($0.networks, $0.receivers) = (["us"], ["you"]) })
            let told = stage.commit(
                quake("emsc1") { $0.agencies = ["emsc"] }, quake("us1") { $0.agencies = ["us"] })
            #expect(told.map(\.receiver).sorted() == ["me", "you"])
            let group = quake(first) {
                $0.agencies = ["emsc", "us"]
                $0.ids = ["emsc1", "us1"]
            }
            #expect(stage.commit(superseded: [second: first], group).isEmpty)
            #expect(stage.commit(deleted: [first]).map(\.receiver).sorted() == ["me", "you"])
        }
    }

    @Test func aReportThatDoesNotFitTheJoinedEarthquakeIsWithdrawn() throws {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", 5)).kinds == [.new])
        let first = try #require(stage.commit(quake("emsc1", 7.2)).first)
        let group = quake("us1", 5.1) { $0.ids = ["emsc1", "us1"] }

        let told = stage.commit(superseded: ["emsc1": "us1"], group)

        #expect(told.kinds == [.withdrawn])
        #expect(told.first?.earthquakes.first?.code == "emsc1")
        // Only the standing of the joined earthquake goes on.
        #expect(stage.commit(group).isEmpty)
        let again = try #require(stage.commit(quake("emsc1", 6.8)).first)
        #expect([again].kinds == [.risen] && again.id != first.id)
        #expect(stage.commit(deleted: ["us1"]).kinds == [.withdrawn])
    }

    @Test func aReportThatStandsIsKeptWhenItsEarthquakeJoinsOneThatNoLongerMatches() {
        for isRevised in [false, true] {
            var stage = Stage(near)
            #expect(stage.commit(quake("emsc1", 5)).kinds == [.new])
            #expect(stage.commit(quake("emsc1", 3)).kinds == [.noLonger])
            #expect(stage.commit(quake("us1", 5.2)).kinds == [.new])
            let group = quake("emsc1", isRevised ? 6 : 5.2) { $0.ids = ["emsc1", "us1"] }
            #expect(
                stage.commit(superseded: ["us1": "emsc1"], group).kinds == (isRevised ? [.corrected] : []))
            let told = stage.commit(deleted: ["emsc1"])
            #expect(told.kinds == [.withdrawn])
            #expect(told.first?.thread == "me:us1:1-new")
            #expect(told.first?.id == "me:emsc1:\(isRevised ? 4 : 3)-withdrawn", "no id is used twice")
        }
    }

    @Test func aReportIsWithdrawnIfItsEarthquakeJoinsASmallerOneThatNoLongerMatches() {
        var stage = Stage(near)
        #expect(stage.commit(quake("emsc1", 5)).kinds == [.new])
        #expect(stage.commit(quake("emsc1", 3)).kinds == [.noLonger])
        #expect(stage.commit(quake("us1", 5.2)).kinds == [.new])
        #expect(stage.commit(superseded: ["us1": "emsc1"]).kinds == [.withdrawn])
    }

    @Test func noIdIsUsedTwiceAfterEarthquakesHaveExchangedTheirCodes() throws {
        var stage = Stage(near)
        var ids = stage.commit(quake("us1", 5)).map(\.id)
        ids += stage.commit(quake("us1", 5.6)).map(\.id)
        ids += stage.commit(quake("emsc1", 5.6)).map(\.id)
        #expect(stage.commit(superseded: ["us1": "emsc1"]).isEmpty)
        #expect(stage.commit(superseded: ["emsc1": "us1"], quake("us1", 5.6)).isEmpty)
        ids += stage.commit(quake("us1", 6.2)).map(\.id)
        #expect(ids.count == 4 && Set(ids).count == 4)
    }

    @Test func aRuleMatchesOnlyTheAgenciesThatItNames() {
        var stage = Stage(rule("jma", .init(4)) { $0.networks = ["jma"] })
        #expect(stage.commit(quake()).isEmpty)
        #expect(stage.commit(quake { $0.agencies = ["us", "JMA"] }).kinds == [.new])
    }

    @Test func onlyTheKindsOfARuleAreReported() {
        var stage = Stage(rule("some", .init(4)) { $0.kinds = [.new, .withdrawn] })
        #expect(stage.commit(quake("us1"), quake("us2", 3)).kinds == [.new])
        #expect(stage.commit(quake("us1", 6), quake("us2", 4)).isEmpty)
        #expect(stage.commit(deleted: ["us1", "us2"]).kinds == [.withdrawn])
    }

    @Test func twoRulesOfOneReceiverMakeOneMessage() {
        var stage = Stage(near, rule("world", .init(4.5)))
        let told = stage.commit(quake())
        #expect(told.count == 1)
        #expect(told.first?.earthquakes.first?.rules == ["near", "world"])
        // The earthquake still satisfies one of the two rules.
        #expect(stage.commit(quake("us1", 4.4)).kinds == [.corrected])
        #expect(stage.commit(quake("us1", 3.9)).kinds == [.noLonger])
    }

    @Test func eachReceiverGetsItsOwnMessages() {
        var stage = Stage(near, rule("strong", .init(6)) { $0.receivers = ["you"] })
        #expect(stage.commit(quake("us1", 5)).map(\.receiver) == ["me"])
        let told = stage.commit(quake("us1", 6))
        #expect(told.map(\.receiver) == ["me", "you"])
        #expect(told.kinds == [.corrected, .risen])
    }

    @Test func aRuleMayHaveAnIntensityInsteadOfMagnitudes() {
        var stage = Stage(rule("felt") { $0.intensity = 4 })
        // At a distance of 111 km, an M 5 is hardly felt and an M 6.5 is felt.
        #expect(stage.commit(quake("us1", 5), quake("us2", 6.5)).codes == ["us2"])
        #expect(stage.commit(quake("us3", 5, north: 0.1)).codes == ["us3"])
        // An earthquake deep below the place is also far away.
        #expect(stage.commit(quake("us4", 5, north: 0) { $0.depth = 600 }).isEmpty)
    }

    @Test func aPlaceCanBeOnTheOtherSideOfTheEarth() {
        var stage = Stage(rule("far", .init(5, within: 20_016)))
        let antipodes = quake { ($0.latitude, $0.longitude) = (-35.69, -40.25) }
        let told = stage.commit(antipodes)
        #expect(told.kinds == [.new])
        #expect(told.first?.earthquakes.first?.near.first?.distance == 20_015)
    }
}
