import CPostgreSQL
import Dispatch
import Logging
import QueueExecutor

/// One connection to a server.
///
/// ## Behaviour
/// - libpq's calls run on the connection's own dispatch queue, and never block Swift's cooperative pool.
/// - Use it from one task at a time. Calls are serialised, but a transaction belongs to the connection: a second task
///   that calls in between takes part in it.
/// - A cancelled task starts no statement, and takes no more rows of a stream. Cancelling it during a statement cancels
///   that statement on the server: the call throws `CancellationError`, and the connection stays usable. A statement
///   that ended before the cancellation reached it has succeeded, and its call returns, unless it had rows left to take.
/// - If the server does not answer the cancellation within 5 s, the call throws `CancellationError` as well, the
///   connection is closed, and a warning is logged.
/// - A statement has no time limit. If the server is silent for some seconds and then takes no new connection either, because it
///   is frozen or cut off, the connection is closed, and the call throws an error with `connectionLost`.
/// - After an error with `connectionLost`, every call throws an error that says what happened. Open a new connection.
public actor Connection {
    private let executor = QueueExecutor(label: "postgresql.connection")
    let notices: NoticeLog
    public nonisolated let options: ConnectionOptions
    var handle: OpaquePointer?
    /// Why the connection ended, for the errors of later calls.
    var lossReason: String?
    var waitLimit = WaitLimit.untilCancelled
    /// Only the keywords that lead to the server.
    var server: [String: String] = [:]
    var silence: Silence?
    var prepared = PreparedQueries()
    var isDirect: Bool?
    /// Cancellations that are on their way to the server. The next statement waits for them, because they must not hit
    /// it.
    let cancellations = DispatchGroup()

    enum WaitLimit {
        case untilCancelled
        /// The same, but no longer than this.
        case limited(until: ContinuousClock.Instant, limit: Duration)
        /// The server has been told to cancel the statement.
        case cancelling(until: ContinuousClock.Instant)
        /// A rollback or another last message, which must get through even when the task is cancelled. Without an end,
        /// its time begins when the task is cancelled.
        case cleanup(until: ContinuousClock.Instant?, limit: Duration)
    }

    nonisolated public var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(_ options: ConnectionOptions, logger: Logger) {
        self.options = options
        notices = NoticeLog(logger: logger)
    }

    /// Opens a connection for `body`, and closes it in any case. The server's notices go to `logger`.
    public static func with<Result>(
        _ options: ConnectionOptions, logger: Logger,
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = Connection(options, logger: logger)
        do {
            try await connection.connect()
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Runs `body` on the connection's own thread, so that no statement in it takes a change of thread.
    public func run<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async rethrows -> Result {
        try await body(self)
    }

    /// Closes the connection. The server rolls back an open transaction.
    public func close() {
        if let handle { PQfinish(handle) }
        handle = nil
    }

    /// Whether it was lost or closed: no further statement can succeed on it.
    public var isClosed: Bool { handle == nil }

    func close(because reason: String) {
        lossReason = lossReason ?? reason
        close()
    }
}
