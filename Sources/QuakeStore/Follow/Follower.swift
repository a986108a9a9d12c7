import Logging
import PostgreSQL

/// How often a follower looks although nothing was heard.
public struct PollInterval: Sendable {
    /// Where it listens.
    public var listening: Duration
    /// On a hot standby, which refuses LISTEN.
    public var standby: Duration
    /// How long the server may take to give a sign of life before the connection counts as lost.
    public var answer: Duration

    public init(
        listening: Duration = .seconds(30), standby: Duration = .seconds(1), answer: Duration = .seconds(10)
    ) {
        (self.listening, self.standby, self.answer) = (listening, standby, answer)
    }
}

/// Keeps a view up to date: listens, reads what came after the view's position, applies it, and waits.
///
/// The notification is only a hint: every poll interval the follower looks by itself, so that a lost notification
/// costs time, never a change. What a view holds afterwards is a state that the database really had.
public struct Follower<V: View>: Sendable {
    private let options: ConnectionOptions
    private let view: V
    /// Under which name the position is reported to `history.reader`; nil for none.
    private let name: String?
    private let poll: PollInterval
    /// How long it waits before it connects again.
    private let backoff: Backoff
    private let logger: Logger

    public init(
        _ options: ConnectionOptions, view: V, name: String?, poll: PollInterval = PollInterval(),
        backoff: Backoff = Backoff(from: .milliseconds(500), to: .seconds(30)), logger: Logger
    ) {
        self.options = options
        self.view = view
        self.name = name
        self.poll = poll
        self.backoff = backoff
        self.logger = logger
    }

    /// Catches up and returns where the view stands then.
    ///
    /// - Throws: `PostgresError`; what was applied before stays applied, and the next call goes on from there.
    @discardableResult
    public func catchUp() async throws -> Position {
        try await Connection.with(options, logger: logger) { connection in
            var reading = try await reading(connection)
            let position = try await reading.catchUp()
            try await reading.report()
            return position
        }
    }

    /// Follows until the task is cancelled.
    ///
    /// The first connection has to succeed. Later ones are tried again, with growing and random waits, as long as
    /// it takes.
    ///
    /// - Throws: `CancellationError`; `PostgresError` when the first connection fails, or for what a new connection
    ///   would not mend; and what the view throws.
    public func run() async throws {
        var backoff = backoff
        var random = SystemRandomNumberGenerator()
        var hasConnected = false
        while true {
            let start = ContinuousClock.now
            do {
                try await followOneConnection {
                    if hasConnected { logger.notice("connected again") }
                    hasConnected = true
                }
            } catch let error as PostgresError where hasConnected && error.isTransient {
                // A connection that has lived so long was healthy.
                if .now - start >= .seconds(60) { backoff.reset() }
                let wait = backoff.next(using: &random)
                logger.warning("\(error); connecting again in \(wait / .milliseconds(1)) ms")
                try await Task.sleep(for: wait)
            }
        }
    }

    private func reading(_ connection: Connection) async throws -> Reading<V> {
        Reading(
            connection: connection, view: view, name: name, patience: poll.answer, logger: logger,
            position: try await view.position())
    }

    /// Follows until the connections fail. LISTEN has one of its own: a long pass would hold notifications back.
    private func followOneConnection(_ connected: () -> Void) async throws {
        try await Connection.with(options, logger: logger) { listener in
            try await Connection.with(options, logger: logger) { reader in
                connected()
                // Only the newest counts: one pass reads all there is.
                let (wakeups, waker) = AsyncStream.makeStream(
                    of: Wakeup.self, bufferingPolicy: .bufferingNewest(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await wake(waker, listener) }
                    group.addTask { try await read(at: wakeups, reader) }
                    try await group.next()
                    group.cancelAll()
                }
                try Task.checkCancellation()
            }
        }
    }

    /// Isolated to the connection, as `wake` is to its own: statements, and what the view does with their rows, are calls
    /// without a change of threads.
    private func read(at wakeups: AsyncStream<Wakeup>, _ connection: isolated Connection) async throws {
        var reading = try await reading(connection)
        for await wakeup in wakeups {
            switch wakeup {
            case .heard(let token) where reading.hasJustReached(token): continue
            case .heard(let token) where token > reading.position?.token ?? 0: try await reading.applyPass()
            // A lower token: the server's past may have become another one.
            case .heard, .poll: try await reading.catchUp()
            }
            try await reading.reportNowAndThen()
        }
    }

    private enum Wakeup: Sendable {
        /// A transaction's token was notified.
        case heard(Int)
        /// It is time to look.
        case poll
    }

    /// Wakes the reader whenever there may be something to read. The first time it is listening already: nothing can
    /// fall between.
    private func wake(
        _ waker: AsyncStream<Wakeup>.Continuation, _ connection: isolated Connection
    ) async throws {
        while try await isStandby(connection) {
            waker.yield(.poll)
            try await Task.sleep(for: poll.standby)
        }
        try await connection.listen(to: "quake_changes") { notifications in
            waker.yield(.poll)
            while true {
                if let notification = try await notifications.next(within: poll.listening) {
                    waker.yield(Int(notification.payload).map { .heard($0) } ?? .poll)
                } else {
                    // Silence: nothing happens there, or nothing gets through.
                    _ = try await isStandby(connection)
                    waker.yield(.poll)
                }
            }
        }
    }

    private func isStandby(_ connection: isolated Connection) async throws -> Bool {
        try await connection.expectingAnswer(within: poll.answer) {
            try connection.query("select pg_is_in_recovery() as standby", to: "probe the connection")[0]
                .decode("standby")
        }
    }
}

extension PostgresError {
    /// Another connection, later, may do better: the server was away, was restarted, is being restored, or a standby's
    /// replay had to cancel a query (https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT).
    fileprivate var isTransient: Bool {
        let classes = ["08", "40", "53", "55", "57"]
        return connectionLost || isUndefinedObject
            || classes.contains { sqlState?.hasPrefix($0) ?? false }
    }
}
