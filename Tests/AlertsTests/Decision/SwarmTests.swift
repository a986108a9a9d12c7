import Testing

@testable import Alerts

@Suite("Alerts: swarms") struct SwarmTests {
    private let world = rule("world", .init(2))

    /// Commits one earthquake of each magnitude, a second apart.
    private func commit(_ stage: inout Stage, _ magnitudes: [Double], named prefix: String = "q") -> [Message]
    {
        magnitudes.enumerated().flatMap { index, magnitude in
            stage.commit(quake("\(prefix)\(index)", magnitude, time: stage.now))
        }
    }

    @Test func afterFiveMessagesThereIsADigestEveryFiveMinutes() {
        var stage = Stage(world)
        #expect(commit(&stage, [3, 3, 3, 3, 3]).count == 5)
        #expect(commit(&stage, [3, 3.5, 2.5], named: "a").isEmpty)
        #expect(stage.ledger.nextDue == noon + .seconds(306))
        #expect(stage.tick(.seconds(297)).isEmpty)
        let digest = stage.tick(.seconds(1))
        #expect(digest.map(\.type) == ["earthquakes.digest"])
        #expect(digest.codes == ["a1", "a0", "a2"])
        #expect(commit(&stage, [3, 3], named: "b").isEmpty)
        #expect(stage.tick(.seconds(297)).isEmpty)
        #expect(stage.tick(.seconds(1)).codes == ["b0", "b1"])
        #expect(stage.ledger.nextDue == nil)
    }

    @Test func aSwarmEndsAfterFiveMinutesWithoutNews() {
        var stage = Stage(world)
        #expect(commit(&stage, [3, 3, 3, 3, 3]).count == 5)
        #expect(commit(&stage, [3, 3], named: "a").isEmpty)
        #expect(stage.tick(.seconds(300)).count == 1)
        #expect(stage.tick(.seconds(600)).isEmpty)
        #expect(commit(&stage, [3, 3, 3, 3, 3, 3], named: "b").count == 5)
    }

    @Test func fiveMessagesInMoreThanTenMinutesAreNotASwarm() {
        var stage = Stage(world)
        for index in 0..<20 {
            stage.now = stage.now + .seconds(150)
            #expect(stage.commit(quake("q\(index)", 3, time: stage.now)).count == 1)
        }
    }

    @Test func anEarthquakeThatIsLargerByAMagnitudeIsReportedAtOnce() {
        var stage = Stage(world)
        #expect(commit(&stage, [3, 3.2, 3, 3, 3]).count == 5)
        #expect(commit(&stage, [4.1], named: "a").isEmpty)
        #expect(commit(&stage, [4.2], named: "b").kinds == [.new])
        // From now on, an earthquake is reported at once only if it is larger than this one by at least one magnitude.
        #expect(commit(&stage, [5.1], named: "c").isEmpty)
        #expect(commit(&stage, [5.2], named: "d").kinds == [.new])
        // A waiting earthquake is reported at once when its magnitude rises enough.
        #expect(stage.commit(quake("a0", 6.3, time: noon)).kinds == [.new])
        #expect(stage.tick(.seconds(300)).codes == ["c0"])
    }

    @Test func aDigestHasTheCurrentStateOfTheWaitingEarthquakes() {
        var stage = Stage(world)
        _ = commit(&stage, [3, 3, 3, 3, 3])
        _ = commit(&stage, [3, 3, 3], named: "a")
        #expect(
            stage.commit(deleted: ["a0"], quake("a1", 3.6, time: noon), quake("a2", 1, time: noon)).isEmpty)
        let told = stage.tick(.seconds(300))
        #expect(told.map(\.type) == ["earthquake.new"])
        #expect(told.first?.earthquakes.map(\.magnitude) == [3.6])
    }

    @Test func aCorrectionThatIsUndoneWhileItWaitsIsNotReported() {
        var stage = Stage(world)
        _ = commit(&stage, [3, 3, 3, 3, 3])
        #expect(stage.commit(quake("q0", 3.6, time: noon)).isEmpty)
        #expect(stage.commit(quake("q0", 3, time: noon)).isEmpty)
        #expect(stage.ledger.nextDue == nil)
        #expect(stage.commit(deleted: ["q1"]).isEmpty)
        #expect(stage.commit(quake("q1", 3, time: noon)).isEmpty)
        #expect(stage.tick(.seconds(600)).isEmpty)
    }

    @Test func aCommitOfManyEarthquakesGivesFewMessages() {
        var stage = Stage(world)
        let many = (0..<400).map { quake("q\($0)", 3 + Double($0) / 400) }
        let told = stage.commit(after: .seconds(1), many)
        #expect(told.count == 5)
        #expect(told.codes.first == "q399")
        let digest = stage.tick(.seconds(300))
        #expect(digest.count == 1)
        #expect(digest.first?.earthquakes.count == Message.listed)
        #expect(digest.first?.omitted == 395 - Message.listed)
        #expect(digest.first?.title.hasPrefix("395 earthquakes") == true)
        #expect(stage.commit(many[0]).isEmpty)
    }

    @Test func aLaterMessageRefersToTheDigest() {
        var stage = Stage(world)
        _ = commit(&stage, [3, 3, 3, 3, 3])
        _ = commit(&stage, [3, 3], named: "a")
        let digest = stage.tick(.seconds(300))
        #expect(stage.tick(.seconds(1200)).isEmpty)
        #expect(stage.commit(deleted: ["a0"]).first?.thread == digest.first?.id)
    }

    @Test func aSwarmForOneReceiverDoesNotDelayOthers() {
        var stage = Stage(world, rule("strong", .init(2.9)) { $0.receivers = ["you"] })
        _ = commit(&stage, [2.5, 2.5, 2.5, 2.5, 2.5, 2.5])
        #expect(commit(&stage, [3], named: "a").map(\.receiver) == ["you"])
    }

    @Test func aCorrectedClockDelaysNothing() {
        var stage = Stage(world)
        stage.now = noon + .seconds(86_400)
        _ = commit(&stage, [3, 3, 3, 3, 3, 3])
        stage.now = noon + .seconds(60)
        #expect(stage.tick(.seconds(1)).count == 1)
        #expect(commit(&stage, [3], named: "a").count == 1)
    }
}

@Suite("Alerts: outages") struct OutageTests {
    private let world = rule("world", .init(4))

    @Test func theEarthquakesOfADayLongOutageAreReportedInOneDigest() {
        var stage = Stage(world)
        // These 400 commits happened while alerts were not running. A follower that catches up reads them in three parts.
        let changes = (0..<400).map { index in
            let moment = noon + .seconds(index * 200)
            return EventChange(
                before: nil, after: quake("q\(index)", 4 + Double(index % 30) / 10, time: moment),
                committedAt: moment + .seconds(300))
        }
        let now = noon + .seconds(86_400)
        for part in [changes[..<100], changes[100..<350], changes[350...]] {
            #expect(stage.rules.decide(Array(part), &stage.ledger, now: now).isEmpty)
        }
        let told = stage.rules.decide([], &stage.ledger, now: now + .seconds(60))
        #expect(told.map(\.type) == ["earthquakes.digest"])
        #expect(told.first?.title.hasPrefix("400 earthquakes") == true)
        #expect(stage.rules.decide([], &stage.ledger, now: now + .seconds(600)).isEmpty)
    }

    @Test func earthquakesThatVanishDuringTheSameOutageAreNotReported() {
        var stage = Stage(world)
        let moment = noon + .seconds(600)
        let changes = [
            EventChange(before: nil, after: quake("a", time: moment), committedAt: moment),
            EventChange(before: quake("a", time: moment), after: nil, committedAt: moment + .seconds(600)),
            EventChange(before: nil, after: quake("b", time: moment), committedAt: moment),
        ]
        let now = noon + .seconds(86_400)
        #expect(stage.rules.decide(changes, &stage.ledger, now: now).isEmpty)
        #expect(stage.rules.decide([], &stage.ledger, now: now + .seconds(60)).codes == ["b"])
    }

    /// After a fresh snapshot only two states are known: the last state seen, and the present state.
    @Test func aFreshSnapshotReportsOnlyEarthquakesSinceTheLastRun() {
        var stage = Stage(world)
        #expect(stage.commit(quake("a")).count == 1)
        let now = noon + .seconds(86_400)
        let changes = [
            EventChange(before: quake("a"), after: quake("a", 5.1)),
            EventChange(before: nil, after: quake("b", time: noon + .seconds(40_000))),
            // This earthquake was published late, but when alerts last ran, it was recent enough to be reported.
            EventChange(before: nil, after: quake("c", time: noon - .seconds(3600))),
            EventChange(before: nil, after: quake("d", time: noon - .seconds(7 * 3600))),
            EventChange(before: nil, after: quake("e", time: now + .seconds(7200))),
        ]
        #expect(stage.rules.decide(changes, &stage.ledger, now: now).isEmpty)
        #expect(stage.rules.decide([], &stage.ledger, now: now + .seconds(60)).codes == ["b", "c"])
    }

    @Test func aShortRestartIsNotAnOutage() {
        var stage = Stage(world)
        #expect(stage.commit(decided: .seconds(3000), quake()).kinds == [.new])
    }

    @Test func newCommitsAreNotDelayedByAnOutage() {
        var stage = Stage(world)
        let now = noon + .seconds(86_400)
        let changes = [
            EventChange(
                before: nil, after: quake("a", time: noon + .seconds(60)), committedAt: noon + .seconds(120)),
            EventChange(
                before: nil, after: quake("b", time: now - .seconds(120)), committedAt: now - .seconds(1)),
        ]
        #expect(stage.rules.decide(changes, &stage.ledger, now: now).codes == ["b"])
        #expect(stage.rules.decide([], &stage.ledger, now: now + .seconds(60)).codes == ["a"])
    }
}
