import Feed
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import quakes

@Suite("The schedule of a daemon")
struct ScheduleTests {
    private let start = ContinuousClock.now
    private var random = SplitMix64(seed: 1)

    @Test(
        "Runs begin one interval apart; after a run that takes longer than the interval, the next one begins immediately"
    )
    mutating func steady() {
        var schedule = Schedule(every: .seconds(60))
        let short = schedule.next(after: .done, startedAt: start, now: start + .seconds(5), using: &random)
        #expect(short == start + .seconds(60))
        let long = schedule.next(after: .done, startedAt: start, now: start + .seconds(90), using: &random)
        #expect(long == start + .seconds(90))
    }

    @Test("A random delay is added to the interval, so that installations do not all ask at the same time")
    mutating func jitter() {
        var schedule = Schedule(every: .seconds(300), jitter: .seconds(30))
        let waits = (0..<20).map { _ in
            schedule.next(after: .done, startedAt: start, now: start, using: &random) - start
        }
        #expect(waits.allSatisfy { $0 >= .seconds(300) && $0 < .seconds(330) })
        #expect(Set(waits).count == 20)
    }

    @Test("A feed is not requested while its server says that the feed is fresh")
    mutating func fresh() {
        var schedule = Schedule(every: .seconds(60))
        let now = start + .seconds(5)
        let later = schedule.next(after: .fresh(.seconds(300)), startedAt: start, now: now, using: &random)
        #expect(later == now + .seconds(300))
        let sooner = schedule.next(after: .fresh(.seconds(10)), startedAt: start, now: now, using: &random)
        #expect(sooner == start + .seconds(60))
    }

    @Test(
        "If a server calls its feed fresh for years, the next request is after 15 minutes, or after the interval if it is longer"
    )
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

    @Test("The wait that a server asks for is respected, up to one day")
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
        "While the database cannot be used, runs are retried with growing waits, which a successful run resets"
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

    @Test(
        "While the database is unavailable, attempts are at most 3 s apart, because a standby may take over")
    mutating func unreached() {
        var schedule = Schedule(every: .seconds(3600))
        let away = Schedule.Ending(
            PostgresError(operation: "connect", message: "server closed the connection", connectionLost: true)
        )
        for longest in [250, 500, 1000, 2000, 3000, 3000] {
            let wait = schedule.next(after: away, startedAt: start, now: start, using: &random) - start
            #expect(wait >= .milliseconds(longest) / 2 && wait <= .milliseconds(longest))
        }
        let unfit = PostgresError(operation: "merge", sqlState: "42501", message: "permission denied")
        #expect(Schedule.Ending(unfit) == .notRun)
    }

    @Test(
        "A repeated failure is logged once in five minutes, even among other failures, and again after a success"
    )
    func repeatedFailure() {
        var repeated = RepeatedFailure()
        func said(_ text: String, after seconds: Int) -> Bool {
            repeated.isToBeSaid(text, now: start + .seconds(seconds))
        }
        #expect(!repeated.isFailing)
        #expect(said("run: quakes migrate", after: 0))
        #expect(!said("run: quakes migrate", after: 60) && !said("run: quakes migrate", after: 299))
        #expect(said("run: quakes migrate", after: 300))
        #expect(said("the database is away", after: 301))
        #expect(!said("the database is away", after: 302))
        #expect(!said("run: quakes migrate", after: 303) && !said("the database is away", after: 304))
        #expect(repeated.isFailing)
        repeated.reset()
        #expect(!repeated.isFailing && said("the database is away", after: 305))
    }

    @Test("A source that another worker holds is tried less and less often, even with a short interval")
    mutating func busy() {
        var schedule = Schedule(every: .seconds(1))
        let busy = Schedule.Ending.busy
        for longest in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = schedule.next(after: busy, startedAt: start, now: start, using: &random) - start
            #expect(wait >= .seconds(longest) / 2 && wait <= .seconds(longest))
        }
        _ = schedule.next(after: .done, startedAt: start, now: start, using: &random)
        #expect(
            schedule.next(after: busy, startedAt: start, now: start, using: &random) <= start + .seconds(1))
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
