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
/// - A cancelled task starts no statement, and receives no more rows of a stream. Cancelling the task during a statement cancels
///   that statement on the server: the call throws `CancellationError`, and the connection stays usable. If the statement ended
///   before the cancellation reached the server, the statement has succeeded, and the call returns, unless there are more rows to
///   deliver.
/// - If the server does not answer the cancellation within 5 s, the call throws `CancellationError` as well, the
///   connection is closed, and a warning is logged.
/// - A statement has no time limit. If the server is silent for some seconds and then does not accept a new connection either,
///   because it is frozen or unreachable, the connection is closed, and the call throws an error with `connectionLost`.
/// - After an error with `connectionLost`, every call throws an error that says why the connection was lost. Open a new
///   connection.
public actor Connection {
    private let executor = QueueExecutor(label: "postgresql.connection")
    let notices: NoticeLog
    public nonisolated let options: ConnectionOptions
    var handle: OpaquePointer?
    /// Why the connection was lost, for the errors of later calls.
    var lossReason: String?
    var waitLimit = WaitLimit.untilCancelled
    /// The keywords of the connected server only, without the other hosts.
    var server: [String: String] = [:]
    var silence: Silence?
    /// The queries that are prepared in the session, by their types and texts.
    var prepared: [String: (name: String, lastUse: Int)] = [:]
    var preparedUses = 0
    var isDirect: Bool?
    /// Cancellations that have not reached the server yet. The next statement waits for them, because they could cancel it.
    let cancellations = DispatchGroup()

    enum WaitLimit {
        case untilCancelled
        /// Waits until the task is cancelled, or this time limit has passed.
        case limited(until: ContinuousClock.Instant, limit: Duration)
        /// The server has been asked to cancel the statement.
        case cancelling(until: ContinuousClock.Instant)
        /// A rollback or another last message, which must get through even when the task is cancelled. If `until` is nil, the
        /// time limit starts when the task is cancelled.
        case cleanup(until: ContinuousClock.Instant?, limit: Duration)
    }

    nonisolated public var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(_ options: ConnectionOptions, logger: Logger) {
        self.options = options
        notices = NoticeLog(logger: logger)
    }

    /// Opens a connection for `body`, and closes it when `body` returns or throws. The server's notices are logged.
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

    /// Runs `body` on the connection's executor, so that its statements do not switch threads.
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

    /// Whether the connection is lost or closed. Then every further statement fails.
    public var isClosed: Bool { handle == nil }

    func close(because reason: String) {
        lossReason = lossReason ?? reason
        close()
    }
}
