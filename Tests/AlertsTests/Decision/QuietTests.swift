import Foundation
import Testing

@testable import Alerts

@Suite("Alerts: decisions in quiet hours") struct QuietTests {
    /// Quiet hours from 22:00 to 07:00 in Tokyo, which is 13:00 to 22:00 UTC.
    private func night(_ action: QuietHours.Action) -> Rule {
        rule("night", .init(4)) {
            $0.quiet = QuietHours(
                from: 1320, to: 420, zone: TimeZone(identifier: "Asia/Tokyo")!, action: action)
        }
    }

    /// A stage at 14:00 UTC, which is 23:00 in Tokyo.
    private func stage(_ rules: Rule...) -> Stage {
        var stage = Stage(rules)
        stage.now = at("2026-11-26T14:00:00Z")
        return stage
    }

    @Test func earthquakesAtNightAreReportedInTheMorning() {
        var stage = stage(night(.defer))
        #expect(stage.commit(quake("us1", 5, time: stage.now)).isEmpty)
        #expect(stage.commit(quake("us1", 5.6, time: stage.now)).isEmpty)
        #expect(stage.commit(quake("us2", 4, time: stage.now)).isEmpty)
        #expect(stage.ledger.nextDue == at("2026-11-26T22:00:00Z"))
        stage.now = at("2026-11-26T21:59:59Z")
        #expect(stage.tick().isEmpty)
        let told = stage.tick(.seconds(1))
        #expect(told.map(\.type) == ["earthquakes.digest"])
        #expect(told.first?.earthquakes.map(\.magnitude) == [5.6, 4])
        #expect(told.kinds == [.new, .new])
    }

    @Test func earthquakesThatVanishInTheSameNightAreNotReported() {
        var stage = stage(night(.defer))
        #expect(stage.commit(quake("us1", 5, time: stage.now)).isEmpty)
        #expect(stage.commit(deleted: ["us1"]).isEmpty)
        #expect(stage.ledger.nextDue == nil)
    }

    @Test func droppedReportsAreNeverSent() {
        var stage = stage(night(.drop))
        let start = stage.now
        #expect(stage.commit(quake("us1", 5, time: start)).isEmpty)
        #expect(stage.ledger.nextDue == nil)
        stage.now = at("2026-11-26T22:00:00Z")
        #expect(stage.commit(quake("us1", 6, time: start)).isEmpty)
        #expect(stage.commit(deleted: ["us1"]).isEmpty)
        #expect(stage.commit(quake("us2", 5, time: stage.now)).kinds == [.new])
    }

    @Test func correctionsAndWithdrawalsAreNotDropped() {
        var stage = Stage(night(.drop))
        #expect(stage.commit(quake("us1"), quake("us2"), quake("us3")).count == 3)
        stage.now = at("2026-11-26T14:00:00Z")
        #expect(stage.commit(deleted: ["us1"], quake("us2", 6), quake("us3", 3)).isEmpty)
        stage.now = at("2026-11-26T22:00:00Z")
        let told = stage.tick()
        #expect(told.kinds == [.corrected, .withdrawn, .noLonger])
        #expect(
            told.first?.title
                == "3 reports, the largest: Corrected: M 6.0 earthquake 111 km N of home, was M 5.0")
    }

    @Test func aRuleWithoutQuietHoursReportsAtNight() {
        var stage = stage(night(.defer), rule("strong", .init(6)))
        #expect(
            stage.commit(quake("us1", 5, time: stage.now), quake("us2", 6, time: stage.now)).codes == ["us2"])
        // The earthquake is reported at once when it also matches the other rule.
        #expect(stage.commit(quake("us1", 6, time: stage.now)).codes == ["us1"])
        stage.now = at("2026-11-26T22:00:00Z")
        #expect(stage.tick().isEmpty)
    }

    @Test func aDigestThatIsDueAtNightWaitsForTheMorning() {
        var stage = stage(night(.defer))
        stage.now = at("2026-11-26T12:59:00Z")
        for index in 0..<7 { _ = stage.commit(quake("q\(index)", 4, time: stage.now)) }
        #expect(stage.tick(.seconds(300)).isEmpty)
        #expect(stage.ledger.nextDue == at("2026-11-26T22:00:00Z"))
        stage.now = at("2026-11-26T22:00:00Z")
        #expect(stage.tick().codes == ["q5", "q6"])
    }

    @Test func quietHoursDelayAnEarlierReportOfASwarmButNeverDropIt() {
        var stage = stage(night(.drop))
        stage.now = at("2026-11-26T12:59:00Z")
        for index in 0..<6 { _ = stage.commit(quake("q\(index)", 4, time: stage.now)) }
        // A revision at night does not drop the report either.
        stage.now = at("2026-11-26T13:01:00Z")
        #expect(stage.commit(quake("q5", 4.1, time: stage.now)).isEmpty)
        #expect(stage.tick(.seconds(600)).isEmpty)
        #expect(stage.commit(quake("q5", 4.2, time: stage.now)).isEmpty)
        stage.now = at("2026-11-26T22:00:00Z")
        #expect(stage.tick().codes == ["q5"])
    }

    @Test func aRuleThatIsRemovedAtNightReportsNothingInTheMorning() {
        var stage = stage(night(.defer))
        #expect(stage.commit(quake("us1", 5, time: stage.now)).isEmpty)
        stage.rules.rules = []
        stage.now = at("2026-11-26T22:00:00Z")
        #expect(stage.tick().isEmpty)
        #expect(stage.ledger.nextDue == nil)
    }
}
