import Feed
import SampleFeed
import TestSupport
import Testing

@testable import quakes

@Suite("The schedule of a daemon")
struct ScheduleTests {
    private let start = ContinuousClock.now
    private var random = SplitMix64(seed: 1)

    @Test(
        "Runs begin at the interval, however long they take; after one that takes longer, the next begins at once"
    )
    mutating func steady() {
        var schedule = Schedule(every: .seconds(60))
        let short = schedule.next(after: .done, startedAt: start, now: start + .seconds(5), using: &random)
        #expect(short == start + .seconds(60))
        let long = schedule.next(after: .done, startedAt: start, now: start + .seconds(90), using: &random)
        #expect(long == start + .seconds(90))
    }

    @Test("A feed is not requested while its server says that it will not change")
    mutating func fresh() {
        var schedule = Schedule(every: .seconds(60))
        let now = start + .seconds(5)
        let later = schedule.next(after: .fresh(.seconds(300)), startedAt: start, now: now, using: &random)
        #expect(later == now + .seconds(300))
        let sooner = schedule.next(after: .fresh(.seconds(10)), startedAt: start, now: now, using: &random)
        #expect(sooner == start + .seconds(60))
    }

    @Test("A feed that its server calls fresh for years is requested after 15 minutes, or at the interval")
    mutating func freshForYears() {
        for (every, wait) in [(60, 900), (3600, 3600)] {
            var schedule = Schedule(every: .seconds(every))
            let ending = Schedule.Ending.fresh(.seconds(1 << 31))
            let next = schedule.next(after: ending, startedAt: start, now: start, using: &random)
            #expect(next == start + .seconds(wait))
            #expect(schedule.remark(on: ending)?.hasSuffix("asking again after \(wait) s") == true)
            #expect(schedule.remark(on: .fresh(.seconds(wait))) == nil)
        }
    }

    @Test("A server that asks to be left alone is, for at most a day")
    mutating func leftAlone() {
        var schedule = Schedule(every: .seconds(60))
        for (asked, wait) in [(10, 60), (3600, 3600), (86_400, 86_400), (1 << 31, 86_400)] {
            let error = FeedError.unavailable(url: "u", reason: "r", status: 503, retryAfter: .seconds(asked))
            let ending = Schedule.Ending(error)
            let next = schedule.next(after: ending, startedAt: start, now: start, using: &random)
            #expect(next == start + .seconds(wait))
            #expect((schedule.remark(on: ending) == nil) == (asked < 60))
        }
        let other = Schedule.Ending(FeedError.unavailable(url: "u", reason: "r", status: 404))
        #expect(other == .done)
    }

    @Test(
        "A run that was not possible is tried again soon, after growing waits, which a successful run resets"
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

    @Test("Retries do not lengthen a short interval")
    mutating func retriedWithinPlan() {
        var schedule = Schedule(every: .seconds(2))
        for _ in 0..<9 {
            let next = schedule.next(after: .notRun, startedAt: start, now: start, using: &random)
            #expect(next <= start + .seconds(2))
        }
    }
}
