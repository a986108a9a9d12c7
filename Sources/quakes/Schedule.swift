import Feed
import PostgreSQL
import QuakeStore

/// Decides when a daemon imports a source next. Time and randomness come from the caller.
struct Schedule {
    let every: Duration
    /// The limit of a random delay before each run. Because of the delay, the daemons of many people do not ask a service at the
    /// same moment.
    let jitter: Duration
    private var retry = Backoff(from: Self.firstRetry, to: .seconds(60))
    private var reconnect = Backoff(from: Self.firstRetry / 4, to: .seconds(3))

    private static let firstRetry: Duration = .seconds(1)
    /// The limit of the time for which a server says that its feed will not change. Some servers name a time of years, and an
    /// earlier request costs them only a 304 response.
    private static let longestFreshness: Duration = .seconds(15 * 60)
    /// The limit of the wait that a server asks for. A longer wait is shortened to this time.
    private static let longestAbsence: Duration = .seconds(24 * 3600)

    init(every: Duration, jitter: Duration = .zero) {
        (self.every, self.jitter) = (every, jitter)
    }

    /// How a run ended, as far as that affects the next run.
    enum Ending: Equatable {
        /// The feed was read, or the run failed in another way than those below. The next run is at the planned time.
        case done
        /// The feed was read, and its server says that it will not change for this long.
        case fresh(Duration)
        /// The server refused the request, and asked for this wait.
        case refused(Duration)
        /// The database could not be reached. Another server may take over at any moment, so the next attempt follows very soon.
        case unreached
        /// The database was reached but could not be used, so the next attempt follows soon.
        case notRun
        /// Another worker holds the source, possibly until that worker dies.
        case busy
    }

    /// Runs begin at intervals of `every`, however long they take. If a run takes longer than that, the next one follows at once.
    /// A run that was not possible is repeated after 1 s, 2 s, … 60 s; while the database can't be reached, after 0.25 s … 3 s.
    /// Each of these waits is random, between half of that time and all of it. A wait ends no later than
    /// the next planned run, unless that run is less than 1 s away, or another worker holds the source.
    ///
    /// If a server says how long its feed will not change, the next run waits for that time, but for at most 15 minutes. If a
    /// server asks for a wait, the limit is a day.
    mutating func next(
        after ending: Ending, startedAt start: ContinuousClock.Instant, now: ContinuousClock.Instant,
        using random: inout some RandomNumberGenerator
    ) -> ContinuousClock.Instant {
        let delay = jitter > .zero ? jitter * Double.random(in: 0..<1, using: &random) : .zero
        let planned = max(start + every + delay, now)
        if ending != .unreached { reconnect.reset() }
        if ending != .notRun, ending != .busy { retry.reset() }
        switch ending {
        case .done:
            return planned
        case .fresh(let time):
            return max(planned, now + min(time, Self.longestFreshness))
        case .refused(let time):
            return max(planned, now + min(time, Self.longestAbsence))
        case .unreached:
            let wait = reconnect.next(at: .random(in: 0..<1, using: &random))
            return min(now + wait, max(planned, now + Self.firstRetry))
        case .busy:
            return now + retry.next(at: .random(in: 0..<1, using: &random))
        case .notRun:
            let wait = retry.next(at: .random(in: 0..<1, using: &random))
            return min(now + wait, max(planned, now + Self.firstRetry))
        }
    }

    /// What to log about the wait before the next run: that the server asked for more than the interval, or that the wait is
    /// shorter than the server says. Otherwise nil.
    func remark(on ending: Ending) -> String? {
        switch ending {
        case .fresh(let time) where time > max(every, Self.longestFreshness):
            "its server says that it will not change for \(time.formatted); asking again after \(max(every, Self.longestFreshness).formatted)"
        case .refused(let time) where time > max(every, Self.longestAbsence):
            "its server asks for a wait of \(time.formatted); asking again after \(max(every, Self.longestAbsence).formatted)"
        case .refused(let time) where time > every: "waiting \(time.formatted), as its server asks"
        case .fresh, .refused, .done, .unreached, .notRun, .busy: nil
        }
    }
}

extension Schedule.Ending {
    init(_ error: any Error) {
        self =
            switch error {
            case let error as PostgresError where error.connectionLost: .unreached
            case is PostgresError, is NoSession, is MigrationError: .notRun
            case is SourceBusy: .busy
            case FeedError.unavailable(_, _, _, let wait?): .refused(wait)
            default: .done
            }
    }
}
