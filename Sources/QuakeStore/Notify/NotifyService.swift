import Alerts
import Feed
import Logging
import PostgreSQL

/// The service that `quakes notify` runs: it decides which messages are sent, and delivers them. Only one such service can run
/// for each database.
public struct NotifyService: Sendable {
    private let options: ConnectionOptions
    private let rules: RulesInForce
    private let poll: PollInterval
    private let logger: Logger
    private let deliver: @Sendable (Message, Receiver) async throws -> Void

    /// The name under which the service reports its position to `history.reader`.
    public static let readerName = "notify"

    /// The key of the advisory lock that a notifier holds, so that there is only one.
    private static let lockKey = 7_955_327

    /// - Parameter deliver: makes one attempt to deliver a message. Throws `DeliveryFailure`, or `CancellationError`.
    public init(
        _ options: ConnectionOptions, rules: RulesInForce, poll: PollInterval = PollInterval(),
        logger: Logger,
        deliver: @escaping @Sendable (Message, Receiver) async throws -> Void
    ) {
        (self.options, self.rules, self.poll) = (options, rules, poll)
        (self.logger, self.deliver) = (logger, deliver)
    }

    /// Decides which messages are sent about the changes up to now, and attempts the deliveries that are due.
    ///
    /// - Returns: how many attempts have failed.
    /// - Throws: `PostgresError`; `Failure` if another notifier is running.
    public func runOnce() async throws -> Int {
        try await locked { connection, news in
            try await follower(news, isOnce: true).catchUp()
            return try await sender(news).run(once: true, on: connection)
        }
    }

    /// Runs until the task is cancelled. It waits while the database is unreachable, or can't be written because of a full disk,
    /// a lock or a read-only server. Once it has run, it also waits while the tables are missing, because the database may be in
    /// the middle of a restore.
    ///
    /// - Throws: `CancellationError`; `Failure` if another notifier is running at the start; `PostgresError` if a new connection
    ///   would not fix the error; `NoSession`.
    public func run() async throws {
        var backoff = Backoff.reconnecting
        var failure = RepeatedFailure()
        var hasRun = false
        while true {
            do {
                try await locked { connection, news in
                    try await connection.query(
                        "select from notify.state, notify.outbox limit 0",
                        to: "look for the notifier's tables")
                    hasRun = true
                    backoff.reset()
                    if failure.isFailing { logger.notice("reconnected") }
                    failure.reset()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        defer { group.cancelAll() }
                        group.addTask { try await follower(news).run() }
                        group.addTask { try await sender(news).run(on: connection) }
                        _ = try await group.next()
                    }
                }
            } catch let error
                where (error as? PostgresError)?.isPassing == true
                || hasRun
                    && (error as? Failure == .notifierBusy
                        || (error as? PostgresError)?.isUndefinedTable == true)
            {
                try Task.checkCancellation()
                if failure.isToBeSaid("\(error)") {
                    logger.warning("\(error); trying again until it succeeds")
                }
                try await Task.sleep(for: backoff.next())
            }
        }
    }

    private func follower(_ news: Signal, isOnce: Bool = false) -> Follower<Notifier> {
        let notifier = Notifier(options, rules, logger: logger, isOnce: isOnce) { news.wake() }
        return Follower(options, view: notifier, name: Self.readerName, poll: poll, logger: logger)
    }

    private func sender(_ news: Signal) -> OutboxSender {
        OutboxSender(rules: rules, news: news, deliver: deliver, logger: logger)
    }

    /// Runs `body` while holding the notifier's lock, because a second notifier would deliver everything twice. The lock belongs
    /// to the session that records deliveries.
    private func locked<Result>(
        _ body: (Connection, Signal) async throws -> Result
    ) async throws -> Result {
        try await Connection.with(options, logger: logger) { connection in
            try await connection.requireSession(to: "notify")
            try await lock(connection)
            return try await body(connection, Signal())
        }
    }

    /// Takes the notifier's lock. Waits up to 2 seconds, because the session of a killed notifier ends a little later than its
    /// process.
    private func lock(_ connection: Connection) async throws {
        let operation = "take the notifier's lock"
        do {
            try await connection.execute(script: "set lock_timeout = '2s'", to: operation)
            try await connection.query("select pg_advisory_lock(\(Self.lockKey))", to: operation)
            try await connection.execute(script: "reset lock_timeout", to: operation)
        } catch let error as PostgresError where error.sqlState == "55P03" && !error.connectionLost {
            throw Failure.notifierBusy
        }
    }
}

extension Failure {
    static let notifierBusy = Failure(
        .busy, "another quakes notify runs on this database; there can be only one")
}
