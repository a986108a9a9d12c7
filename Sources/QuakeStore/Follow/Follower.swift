import Feed
import Logging
import PostgreSQL

/// Keeps a view up to date: listens for notifications, reads the changes after the view's position, applies them, and waits for
/// the next notification.
///
/// A notification is only a hint. The follower also polls at an interval, so a lost notification delays changes but never loses
/// them. After each pass, the view matches one state of the database.
public struct Follower<V: ReaderView>: Sendable {
    private let options: ConnectionOptions
    private let view: V
    /// The name under which the position is reported to `history.reader`; nil to report nothing.
    private let name: String?
    private let poll: PollInterval
    private let backoff: Backoff
    private let observer: (@Sendable (PassProgress) -> Void)?
    private let logger: Logger

    /// - Parameter observer: called with the progress of the first pass after each connect. That pass may be long. If the
    ///   observer is set, the rows of that pass are counted first.
    public init(
        _ options: ConnectionOptions, view: V, name: String?, poll: PollInterval = PollInterval(),
        backoff: Backoff = .reconnecting, logger: Logger,
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
    /// - Throws: `PostgresError`, or an error of the view. Passes that were already applied stay applied, and the next call
    ///   continues after them.
    @discardableResult
    public func catchUp() async throws -> Position {
        try await Connection.with(options, logger: logger) { connection in
            var passReader = try await passReader(connection)
            let position = try await passReader.catchUp()
            try await passReader.report()
            return position
        }
    }

    /// Follows until the task is cancelled. After an outage, the follower resumes at the view's position.
    ///
    /// - Parameters:
    ///   - persistently: whether to try again after every error. Behind a pooler in transaction mode, the follower then polls
    ///     instead of listening.
    ///   - told: called with the catalogue's state after each pass, even if the state has not changed. The state is read after the
    ///     pass, so the view may have an earlier one.
    ///   - lost: called when a connection was lost.
    ///   - away: called each time a connection could not be opened.
    /// - Throws: `CancellationError`. If not `persistently`, also: any error before the first connection is open, except an
    ///   outage; `NoSession` if the follower cannot listen because a pooler is in transaction mode; any error that a new
    ///   connection would not fix.
    public func run(
        persistently: Bool = false, told: (@Sendable (CatalogueState) -> Void)? = nil,
        lost: (@Sendable () -> Void)? = nil, away: (@Sendable () -> Void)? = nil
    ) async throws {
        var backoff = backoff
        var failure = RepeatedFailure()
        var hasConnected = false
        while true {
            var isConnected = false
            do {
                try await Connection.with(options, logger: logger) { connection in
                    isConnected = true
                    hasConnected = true
                    try await follow(connection, mayPoll: persistently) {
                        backoff.reset()
                        if failure.isFailing { logger.notice("reconnected") }
                        failure.reset()
                        if let told { told(try await state(connection)) }
                    }
                }
            } catch let error where persistently || (hasConnected && error.isTransient) || error.isOutage {
                try Task.checkCancellation()
                if isConnected, (error as? PostgresError)?.connectionLost == true { lost?() }
                if !isConnected { away?() }
                let named = await Roles.naming(.reader, in: error, options, logger: logger)
                if failure.isToBeSaid("\(named)") {
                    logger.warning("\(named); reconnecting until it succeeds")
                }
                try await Task.sleep(for: backoff.next())
            }
        }
    }

    private func passReader(_ connection: Connection) async throws -> PassReader<V> {
        PassReader(
            connection: connection, view: view, name: name, answerLimit: poll.answer, logger: logger,
            observer: observer, position: try await view.position())
    }

    /// Listens before the first read, so that no change is missed.
    ///
    /// The function is isolated to the connection, so that the statements and the view's work on the rows need no thread switch.
    private func follow(
        _ connection: isolated Connection, mayPoll: Bool, _ passed: () async throws -> Void
    ) async throws {
        var passReader = try await passReader(connection)
        var isPooled = false
        while true {
            if !isPooled, try await !isStandby(connection) {
                do {
                    try await connection.requireSession(to: "follow")
                    break
                } catch let error as NoSession where mayPoll {
                    logger.notice("\(error); polling every \(poll.standby) instead")
                    isPooled = true
                }
            }
            try await passReader.catchUpOnStandby()
            try await passed()
            try await passReader.reportNowAndThen()
            try await Task.sleep(for: poll.standby)
        }
        passReader.reportAgain()
        try await connection.listen(to: "quake_changes") { notifications in
            logger.debug("listening for changes")
            var token: Int?
            var pollAt = ContinuousClock.now
            while true {
                try await passReader.read(heard: token)
                if token == nil { pollAt = .now + poll.listening }
                try await passed()
                try await passReader.reportNowAndThen()
                token = try await nextToken(notifications, before: pollAt)
            }
        }
    }

    private func isStandby(_ connection: isolated Connection) async throws -> Bool {
        try await connection.expectingAnswer(within: poll.answer) {
            try connection.query("select pg_is_in_recovery() as standby", to: "probe the connection")[0]
                .decode("standby")
        }
    }

    /// Waits for notifications and returns their greatest token, because one pass reads all changes; nil when it is time to poll.
    ///
    /// Any login can send notifications, with any payload. So they can neither hide a greater token nor delay the poll.
    private func nextToken(_ notifications: Notifications, before pollAt: ContinuousClock.Instant)
        async throws -> Int?
    {
        var greatest: Int?
        while .now < pollAt,
            let next = try await notifications.next(within: greatest == nil ? pollAt - .now : .zero)
        {
            greatest = max(greatest ?? 0, Int(next) ?? 0)
        }
        return .now < pollAt ? greatest : nil
    }

    private func state(_ connection: isolated Connection) async throws -> CatalogueState {
        try await connection.expectingAnswer(within: poll.answer) {
            try await CatalogueState.read(on: connection)
        }
    }
}

/// How often a follower polls when it receives no notification.
public struct PollInterval: Sendable {
    public var listening: Duration
    /// The interval if the follower cannot listen: on a hot standby, and behind a pooler in transaction mode.
    public var standby: Duration
    /// How long the server may take to answer before the connection counts as lost.
    public var answer: Duration

    public init(
        listening: Duration = .seconds(5), standby: Duration = .seconds(1), answer: Duration = .seconds(10)
    ) {
        (self.listening, self.standby, self.answer) = (listening, standby, answer)
    }
}

extension Error {
    fileprivate var isTransient: Bool {
        (self as? PostgresError)?.isTransient ?? ((self as? Failure)?.kind == .busy)
    }
    fileprivate var isOutage: Bool { (self as? PostgresError)?.isOutage ?? false }
}

extension PostgresError {
    /// Whether a later connection may succeed: the server was unreachable, was restarted or has trouble with a disk, or the
    /// replay on a standby had to cancel a query (https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT).
    /// A table, column, function or schema that does not exist counts as well, because the server may be in the middle of a
    /// restore. Errors of the classes in `lasting`, such as a missing privilege, would occur again on a later connection
    /// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
    fileprivate var isTransient: Bool {
        let lasting = ["0A", "22", "23", "25", "28", "2B", "3D", "3F", "42", "P0"]
        guard let sqlState, !connectionLost, !isUndefinedObject else {
            return connectionLost || isUndefinedObject
        }
        return !lasting.contains { sqlState.hasPrefix($0) }
    }
}
