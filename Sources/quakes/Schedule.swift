import Feed
import PostgreSQL
import QuakeStore

/// Decides when a daemon imports a source next. Time and randomness come from the caller.
struct Schedule {
    let every: Duration
    private var retry = Backoff(from: Self.firstRetry, to: .seconds(60))

    private static let firstRetry: Duration = .seconds(1)

    init(every: Duration) {
        self.every = every
    }

    /// How a run ended, as far as it matters for the next one.
    enum Ending: Equatable {
        /// The feed was read, or is itself at fault: there is nothing new until its next version.
        case done
        /// The feed was read, and its server says that it will not change for this long.
        case fresh(Duration)
        /// The database was unavailable, or another worker held the source: it is worth trying again soon.
        case notRun
    }

    /// Runs begin at intervals of `every`, however long they take. If one takes longer than that, the next follows at
    /// once. A run that was not possible is tried again after 1 s, 2 s, … 60 s. Each of these waits is random, between
    /// half of that time and all of it. It never lasts beyond the planned time, unless that is less than 1 s away.
    mutating func next(
        after ending: Ending, startedAt start: ContinuousClock.Instant, now: ContinuousClock.Instant,
        using random: inout some RandomNumberGenerator
    ) -> ContinuousClock.Instant {
        let planned = max(start + every, now)
        switch ending {
        case .done:
            retry.reset()
            return planned
        case .fresh(let time):
            retry.reset()
            return max(planned, now + time)
        case .notRun:
            return min(now + retry.next(using: &random), max(planned, now + Self.firstRetry))
        }
    }
}

extension Schedule.Ending {
    init(_ error: any Error) {
        self =
            switch error {
            case is PostgresError, is NoSession, is MigrationError, is SourceBusy: .notRun
            default: .done
            }
    }
}
