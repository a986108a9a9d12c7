import CPostgreSQL
import Dispatch
import Logging

/// One connection to a server.
///
/// ## Behaviour
/// - libpq's calls run on a dispatch queue of the connection's own and never block Swift's cooperative pool.
/// - One task at a time: calls are serialised, but a transaction is a state of the connection, and a second
///   task that calls in between takes part in it.
/// - A cancelled task starts no statement. Cancelling it while one runs cancels that on the server: the call
///   throws `CancellationError`, and the connection stays usable. A statement that ended before the
///   cancellation reached it has ended well, and its call returns.
/// - A server that does not answer the cancellation within 5 s is given up: the call throws
///   `CancellationError` as well, the connection is closed, and a warning is logged.
/// - After an error with `connectionLost` every call throws, and says what had happened. Open a new
///   connection.
public actor Connection {
    private let executor = QueueExecutor(label: "postgresql.connection")
    let notices: NoticeLog
    /// How it was opened.
    public nonisolated let options: ConnectionOptions
    /// nil before the connection is opened and after it is closed.
    var handle: OpaquePointer?
    /// What ended the connection, for the errors of later calls.
    var lossReason: String?
    var patience = Patience.untilCancelled
    /// Cancellations that are on their way to the server. The next statement waits for them: it must not be
    /// hit.
    let cancellations = DispatchGroup()

    /// How long a call waits for the server.
    enum Patience {
        /// Until the task is cancelled.
        case untilCancelled
        /// The same, but no longer than this.
        case limited(until: ContinuousClock.Instant, limit: Duration)
        /// The server has been told to cancel the statement.
        case cancelling(until: ContinuousClock.Instant)
        /// A rollback or the end of a COPY, which has to get through although the task is cancelled.
        case cleanup(until: ContinuousClock.Instant, limit: Duration)
    }

    nonisolated public var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(_ options: ConnectionOptions, logger: Logger) {
        self.options = options
        notices = NoticeLog(logger: logger)
    }

    /// Opens a connection, hands it to `body`, and closes it whatever happens.
    ///
    /// The server's notices go to `logger`.
    nonisolated(nonsending)
        public static func with<Result>(
            _ options: ConnectionOptions, logger: Logger,
            _ body: nonisolated(nonsending) (Connection) async throws -> Result
        ) async throws -> Result
    {
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

    /// Closes the connection. An open transaction is rolled back by the server.
    public func close() {
        if let handle { PQfinish(handle) }
        handle = nil
    }

    func close(because reason: String) {
        lossReason = lossReason ?? reason
        close()
    }

    // MARK: Statements

    /// Runs one statement and returns its rows, all of them in memory.
    ///
    /// - Parameter operation: what the statement does, for the error's text: "cannot <operation>: …".
    @discardableResult
    public func query(_ query: Query, to operation: String) throws -> [Row] {
        var rows: [Row] = []
        try forEachRow(of: query, to: operation, singleRowMode: false) { rows.append($0) }
        return rows
    }

    /// Runs one statement and hands over each row as it arrives: constant memory, whatever the result's size.
    ///
    /// An error thrown by `body` cancels the statement and is thrown again. Rows that were handed over before
    /// the server failed stay handed over.
    public func forEachRow(
        of query: Query, to operation: String, _ body: @Sendable (Row) throws -> Void
    ) throws {
        try forEachRow(of: query, to: operation, singleRowMode: true, body)
    }

    private func forEachRow(
        of query: Query, to operation: String, singleRowMode: Bool, _ body: (Row) throws -> Void
    ) throws {
        let handle = try open(operation)
        try send(query, operation, handle, singleRowMode: singleRowMode)
        var columns: Columns?
        try readResults(operation, handle) { result in
            let names = columns ?? Columns(columnNames(of: result))
            columns = names
            for row in 0..<PQntuples(result) {
                try body(Row(columns: names, cells: cells(of: result, row: row)))
            }
        }
    }

    /// Runs one statement and returns how many rows it touched.
    @discardableResult
    public func execute(_ query: Query, to operation: String) throws -> Int {
        let handle = try open(operation)
        try send(query, operation, handle)
        var count = 0
        try readResults(operation, handle) { result in
            count = Int(String(cString: PQcmdTuples(result))) ?? 0
        }
        return count
    }

    /// Runs several statements, separated by semicolons and without parameters, as one implicit transaction.
    public func execute(script: String, to operation: String) throws {
        let handle = try open(operation)
        try send(script: script, operation, handle)
        try readResults(operation, handle) { _ in }
    }
}
