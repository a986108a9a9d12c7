import Feed
import Logging
import PostgreSQL

/// Keeps a view up to date: listens, reads the changes after the view's position, applies them, and waits.
///
/// A notification is only a hint. The follower also polls at an interval, so that a lost notification costs time, never
/// a change. After each pass, the view holds a state that the database really had.
public struct Follower<V: View>: Sendable {
    private let options: ConnectionOptions
    private let view: V
    /// The name under which the position is reported to `history.reader`; nil to report nothing.
    private let name: String?
    private let poll: PollInterval
    /// How long it waits before it connects again.
    private let backoff: Backoff
    private let observer: (@Sendable (PassProgress) -> Void)?
    private let logger: Logger

    /// - Parameter observer: told how far a long pass is. To know how many rows will come, they are counted first.
    public init(
        _ options: ConnectionOptions, view: V, name: String?, poll: PollInterval = PollInterval(),
        backoff: Backoff = Backoff(from: .milliseconds(500), to: .seconds(30)), logger: Logger,
        observer: (@Sendable (PassProgress) -> Void)? = nil
    ) {
        self.options = options
        self.view = view
        self.name = name
        self.poll = poll
        self.backoff = backoff
        self.observer = observer
        self.logger = logger
    }

    /// Catches up, and returns the position that the view has reached.
    ///
    /// - Throws: `PostgresError`. What was already applied stays applied, and the next call continues from there.
    @discardableResult
    public func catchUp() async throws -> Position {
        try await Connection.with(options, logger: logger) { connection in
            var passReader = try await passReader(connection)
            let position = try await passReader.catchUp()
            try await passReader.report()
            return position
        }
    }

    /// Follows until the task is cancelled.
    ///
    /// The first connection must succeed. Later ones are retried for as long as it takes, with growing, random waits, and so
    /// is a view that another program holds.
    ///
    /// - Throws: `CancellationError`; `NoSession` when it cannot listen, because a pooler is in transaction mode;
    ///   `PostgresError` when the first connection fails, or when a new connection would not help; what the view throws.
    public func run() async throws {
        var backoff = backoff
        var random = SystemRandomNumberGenerator()
        var hasConnected = false
        while true {
            let start = ContinuousClock.now
            do {
                try await followOneConnection {
                    if hasConnected { logger.notice("reconnected") }
                    hasConnected = true
                }
            } catch let error where hasConnected && error.isTransient {
                // A connection that lasted this long was healthy.
                if .now - start >= .seconds(60) { backoff.reset() }
                let wait = backoff.next(using: &random)
                logger.warning("\(error); reconnecting in \(wait / .milliseconds(1)) ms")
                try await Task.sleep(for: wait)
            }
        }
    }

    private func passReader(_ connection: Connection) async throws -> PassReader<V> {
        PassReader(
            connection: connection, view: view, name: name, answerLimit: poll.answer, logger: logger,
            observer: observer, position: try await view.position())
    }

    /// Follows over one connection, until it fails.
    private func followOneConnection(_ connected: () -> Void) async throws {
        try await Connection.with(options, logger: logger) { connection in
            connected()
            try await follow(connection)
        }
    }

    /// Listens and reads on the same connection, which is never idle in a transaction. What is notified during a pass is
    /// heard after it. It listens before the first read, so that no change is missed.
    ///
    /// Isolated to its connection, so that neither a statement nor the view's work on its rows changes threads.
    private func follow(_ connection: isolated Connection) async throws {
        var passReader = try await passReader(connection)
        while try await isStandby(connection) {
            try await passReader.catchUpOnStandby()
            try await passReader.reportNowAndThen()
            try await Task.sleep(for: poll.standby)
        }
        try await connection.requireSession(to: "follow")
        try await connection.listen(to: "quake_changes") { notifications in
            logger.debug("listening for changes")
            var token: Int?
            while true {
                try await passReader.read(heard: token)
                try await passReader.reportNowAndThen()
                token = try await nextToken(notifications, connection)
            }
        }
    }

    /// Waits until there may be something to read.
    ///
    /// - Returns: the token that the newest notification has brought; nil when it is time to poll.
    private func nextToken(
        _ notifications: Notifications, _ connection: isolated Connection
    ) async throws -> Int? {
        guard var newest = try await notifications.next(within: poll.listening) else {
            // Silence: nothing is happening, or nothing gets through.
            _ = try await isStandby(connection)
            return nil
        }
        // Only the newest counts: one pass reads everything.
        while let next = try await notifications.next(within: .zero) { newest = next }
        return Int(newest.payload)
    }

    private func isStandby(_ connection: isolated Connection) async throws -> Bool {
        try await connection.expectingAnswer(within: poll.answer) {
            try connection.query("select pg_is_in_recovery() as standby", to: "probe the connection")[0]
                .decode("standby")
        }
    }
}

extension Error {
    fileprivate var isTransient: Bool { (self as? PostgresError)?.isTransient ?? (self is ViewBusy) }
}

extension PostgresError {
    /// A later connection may succeed: the server was unreachable, was restarted, is being restored, or a standby's
    /// replay had to cancel a query (https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT).
    fileprivate var isTransient: Bool {
        let classes = ["08", "40", "53", "55", "57"]
        return connectionLost || isUndefinedObject
            || classes.contains { sqlState?.hasPrefix($0) ?? false }
    }
}
