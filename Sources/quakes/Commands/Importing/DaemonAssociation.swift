import Feed
import Logging
import PostgreSQL
import QuakeStore

/// Associates events in a daemon, as soon as the table has rows of a second agency. Imports never wait for the association.
///
/// Until there is a second agency, it checks for one at the start and after runs that inserted events. Each check reads the
/// table. The wait before the next check is at least a hundred times as long as the check took, so a daemon with a catalogue of
/// one agency spends at most a hundredth of the time on these checks.
struct DaemonAssociation {
    private let database: Database
    /// Woken if events were inserted since the last check for a second agency.
    private let news = Signal()

    init(_ database: Database) {
        self.database = database
        news.wake()
    }

    func notice(_ summary: ImportSummary) {
        if summary.counts.inserted > 0 { news.wake() }
    }

    /// Runs until the task is cancelled. After an error, it logs the error and tries again.
    ///
    /// - Throws: `CancellationError`.
    func run() async throws {
        var repeated = RepeatedFailure()
        while true {
            do {
                try await waitForSecondAgency()
                let associator = Associator(logger: database.logger)
                try await database.namingGrants(for: .reader) {
                    try await Follower(
                        database.options, view: associator, name: Associator.readerName,
                        logger: database.logger
                    ).run()
                }
            } catch {
                try Task.checkCancellation()
                // If the database can't be reached, the imports report it already.
                let isAway = Schedule.Ending(error) == .unreached
                if !isAway, repeated.isToBeSaid("\(error)") {
                    database.logger.error("association failed, trying again in 60 s: \(error)")
                }
                try await Task.sleep(for: .seconds(isAway ? 3 : 60))
                news.wake()
            }
        }
    }

    private func waitForSecondAgency() async throws {
        while true {
            await news.wait()
            try Task.checkCancellation()
            let (areSeveral, duration) = try await database.withConnection(for: .writer) { connection in
                let start = ContinuousClock.now
                let areSeveral = try await AssociationQueries.hasSeveralAgencies(on: connection)
                return (areSeveral, start.duration(to: .now))
            }
            if areSeveral { return }
            try await Task.sleep(for: duration * 100)
        }
    }
}
