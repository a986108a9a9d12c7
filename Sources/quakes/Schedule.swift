import Feed
import PostgreSQL
import QuakeStore

/// When a daemon imports a source next. Time and randomness come from the caller.
struct Schedule {
    let every: Duration
    private var retry = Backoff(from: Self.firstRetry, to: .seconds(60))

    private static let firstRetry: Duration = .seconds(1)

    init(every: Duration) {
        self.every = every
    }

    /// How a run ended, as far as the next one is concerned.
    enum Ending: Equatable {
        /// The feed was read, or its own fault is known: nothing new before it is made again.
        case done
        /// The feed was read, and its server says that it will stay as it is for so long.
        case fresh(Duration)
        /// The database was away, or another worker had the source: worth another try before long.
        case notRun
    }

    /// Runs begin `every` apart, however long they take; one that takes longer is followed by the next at once. What could
    /// not run is tried again after 1 s, 2 s, … 60 s, at random between half of that and all of it, and never later than
    /// planned.
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
            case is PostgresError, is MigrationError, is SourceBusy: .notRun
            default: .done
            }
    }
}
