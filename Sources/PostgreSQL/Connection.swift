import CPostgreSQL
import Dispatch
import Logging

/// One connection to a server.
///
/// ## Behaviour
/// - libpq's calls run on a dispatch queue of the connection's own and never block Swift's cooperative pool.
/// - One task at a time: calls are serialised, but a transaction is a state of the connection, and a second
///   task that calls in between takes part in it.
/// - Cancelling the task cancels the running statement on the server. The call then throws
///   `CancellationError`, and the connection stays usable. A server that does not answer the cancellation
///   within 5 s is given up and the connection closed.
/// - After an error with `connectionLost` every call throws. Open a new connection.
public actor Connection {
    private let executor: QueueExecutor
    let notices: NoticeLog
    /// nil once the connection is closed.
    var handle: OpaquePointer?
    var patience = Patience.untilCancelled
    /// A cancellation that is on its way to the server. The next statement waits for it: it must not be hit.
    var pendingCancel: DispatchGroup?

    /// How long a call waits for the server.
    enum Patience {
        /// Until the task is cancelled.
        case untilCancelled
        /// The task is cancelled and the server has been told.
        case cancelling(until: ContinuousClock.Instant)
        /// A rollback or the end of a COPY, which has to get through although the task is cancelled.
        case cleanup(until: ContinuousClock.Instant)
    }

    nonisolated public var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(handle: OpaquePointer, executor: QueueExecutor, logger: Logger) {
        self.handle = handle
        self.executor = executor
        notices = NoticeLog(logger: logger)
    }

    // MARK: Opening and closing

    /// Opens a connection, hands it to `body`, and closes it whatever happens.
    ///
    /// The server's notices go to `logger`.
    nonisolated(nonsending)
        public static func with<Result>(
            _ options: ConnectionOptions, logger: Logger,
            _ body: (Connection) async throws -> Result
        ) async throws -> Result
    {
        let connection = try await Connection.open(options, logger: logger)
        do {
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }

    private static func open(_ options: ConnectionOptions, logger: Logger) async throws -> Connection {
        let keywords = options.effective.sorted { $0.key < $1.key }
        let handle = withCStrings(keywords.map { $0.key }) { names in
            withCStrings(keywords.map { $0.value }) { values in
                PQconnectStartParams(names, values, 1)
            }
        }
        guard let handle else {
            throw PostgresError(operation: "connect to \(options)", message: "out of memory")
        }
        let connection = Connection(
            handle: handle, executor: QueueExecutor(label: "postgresql.connection"), logger: logger)
        do {
            try await connection.finishOpening(options)
        } catch {
            await connection.close()
            throw error
        }
        return connection
    }

    private func finishOpening(_ options: ConnectionOptions) throws {
        let operation = "connect to \(options)"
        let handle = try open(operation)
        let deadline = ContinuousClock.now + options.connectTimeout
        var status = PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED, PQstatus(handle) != CONNECTION_BAD else {
                throw connectFailure(operation, handle)
            }
            try Task.checkCancellation()
            guard ContinuousClock.now < deadline else {
                throw PostgresError(
                    operation: operation, message: "no answer within \(options.connectTimeout)",
                    remedy: "check host, port and firewall", connectionLost: true)
            }
            // The socket can change from one attempt (address, TLS) to the next.
            if waitForSocket(PQsocket(handle), writable: status == PGRES_POLLING_WRITING) {
                status = PQconnectPoll(handle)
            }
        }
        PQsetnonblocking(handle, 1)
        notices.install(on: handle)
    }

    private func connectFailure(_ operation: String, _ handle: OpaquePointer) -> PostgresError {
        let message = oneLine(PQerrorMessage(handle))
        let remedy: String? =
            if message.contains("password") {
                "check the user and the password"
            } else if message.contains("does not exist") {
                "create it first, or check the name"
            } else {
                "is the server running there?"
            }
        return PostgresError(operation: operation, message: message, remedy: remedy, connectionLost: true)
    }

    /// Closes the connection. An open transaction is rolled back by the server.
    public func close() {
        if let handle { PQfinish(handle) }
        handle = nil
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
        try send(query, operation, handle)
        if singleRowMode { PQsetSingleRowMode(handle) }
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
        guard PQsendQuery(handle, script) == 1 else { throw lost(operation, handle) }
        try flush(operation, handle)
        try readResults(operation, handle) { _ in }
    }
}
