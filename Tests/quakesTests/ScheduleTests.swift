import SampleFeed
import TestSupport
import Testing

@testable import quakes

@Suite("The schedule of a daemon")
struct ScheduleTests {
    private let start = ContinuousClock.now
    private var random = SplitMix64(seed: 1)

    @Test("Runs begin so far apart, however long they take, and one that takes longer is followed at once")
    mutating func steady() {
        var schedule = Schedule(every: .seconds(60))
        let short = schedule.next(after: .done, startedAt: start, now: start + .seconds(5), using: &random)
        #expect(short == start + .seconds(60))
        let long = schedule.next(after: .done, startedAt: start, now: start + .seconds(90), using: &random)
        #expect(long == start + .seconds(90))
    }

    @Test("What the server promises to keep as it is, is not asked for before")
    mutating func fresh() {
        var schedule = Schedule(every: .seconds(60))
        let now = start + .seconds(5)
        let later = schedule.next(after: .fresh(.seconds(300)), startedAt: start, now: now, using: &random)
        #expect(later == now + .seconds(300))
        let sooner = schedule.next(after: .fresh(.seconds(10)), startedAt: start, now: now, using: &random)
        #expect(sooner == start + .seconds(60))
    }

    @Test(
        "What could not run is tried again sooner than planned, each time later, and from the start after a good run"
    )
    mutating func retried() {
        var schedule = Schedule(every: .seconds(3600))
        var waits: [Duration] = []
        for _ in 0..<9 {
            waits.append(
                schedule.next(after: .notRun, startedAt: start, now: start, using: &random) - start)
        }
        for (wait, longest) in zip(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]) {
            #expect(wait >= .seconds(longest) / 2 && wait <= .seconds(longest))
        }
        _ = schedule.next(after: .done, startedAt: start, now: start, using: &random)
        let wait = schedule.next(after: .notRun, startedAt: start, now: start, using: &random) - start
        #expect(wait <= .seconds(1))
    }

    @Test("A short schedule is not made longer by trying again")
    mutating func retriedWithinPlan() {
        var schedule = Schedule(every: .seconds(2))
        for _ in 0..<9 {
            let next = schedule.next(after: .notRun, startedAt: start, now: start, using: &random)
            #expect(next <= start + .seconds(2))
        }
    }
}
