import CPostgreSQL
import Dispatch
import Glibc

// The exchange of messages with the server: send, flush, read results, cancel.
extension Connection {
    /// How long the server may take to answer a cancellation, a rollback, or the end of a COPY.
    static let answerLimit: Duration = .seconds(5)

    func open(_ operation: String) throws -> OpaquePointer {
        if case .cancelling = waitLimit { waitLimit = .untilCancelled }
        switch waitLimit {
        case .untilCancelled, .limited: try Task.checkCancellation()
        case .cancelling, .cleanup: break
        }
        try awaitCancellations()
        guard let handle else {
            let reason = lossReason.map { ": \($0)" } ?? ""
            throw PostgresError(
                operation: operation, message: "the connection is closed\(reason)", connectionLost: true)
        }
        return handle
    }

    private func awaitCancellations() throws {
        let limit =
            if case .cleanup(let end?, _) = waitLimit { end - .now } else { Self.answerLimit }
        let milliseconds = Int(limit / .milliseconds(1))
        if cancellations.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut {
            giveUp("a cancellation did not reach the server within \(limit)")
        }
    }

    func send(
        _ query: Query, _ operation: String, _ handle: OpaquePointer, singleRowMode: Bool = false
    ) throws {
        let text = query.text
        try send(text, operation, handle, singleRowMode: singleRowMode) {
            sendParameters(query.parameters, of: text, handle)
        }
    }

    func send(script: String, _ operation: String, _ handle: OpaquePointer) throws {
        try send(script, operation, handle) { PQsendQuery(handle, script) }
    }

    func send(
        _ sql: String, _ operation: String, _ handle: OpaquePointer, singleRowMode: Bool = false,
        _ call: () -> Int32
    ) throws {
        // libpq would send only the part before the NUL.
        guard !sql.utf8.contains(0) else {
            throw PostgresError(operation: operation, message: "the statement contains a NUL character")
        }
        guard call() == 1 else { throw failureOfLibpq(operation, handle) }
        // libpq accepts this only after the statement was sent and before anything is read.
        if singleRowMode { PQsetSingleRowMode(handle) }
        try flush(operation, handle)
    }

    /// Hands each result of the running statement to `body`. Reads all results even when the server or `body` fails, so that the
    /// connection is ready for the next statement.
    func readResults(
        _ operation: String, _ handle: OpaquePointer, _ body: (QueryResult) throws -> Void
    ) throws {
        var firstError: (any Error)?
        do {
            while let result = try nextResult(operation, handle) {
                guard firstError == nil else {
                    try watchDropping(operation, handle)
                    continue
                }
                let status = result.status
                switch status {
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE:
                    do {
                        if status == PGRES_SINGLE_TUPLE { try checkCancellation() }
                        try body(result)
                    } catch {
                        firstError = error
                        if status == PGRES_SINGLE_TUPLE { cancelStatement(handle) }
                    }
                case PGRES_EMPTY_QUERY: break
                case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: throw unexpectedCopy(operation)
                default: firstError = failure(operation, result, handle)
                }
            }
            closeIfLost(handle)
        } catch {
            throw firstError ?? error
        }
        if let firstError { throw firstError }
    }

    private func unexpectedCopy(_ operation: String) -> PostgresError {
        close(because: "a COPY outside copy(into:)")
        return PostgresError(
            operation: operation, message: "the statement is a COPY", remedy: "use copy(into:)",
            connectionLost: true)
    }

    func nextResult(_ operation: String, _ handle: OpaquePointer) throws -> QueryResult? {
        while PQisBusy(handle) == 1 {
            try waitForServer(operation, handle)
            // The time limit matters only while the answer is missing. An answer that has arrived is accepted, even if this
            // process was suspended for longer than the limit.
            if PQisBusy(handle) == 1 { try watchWaitLimit(operation, handle) }
        }
        let result = PQgetResult(handle).map(QueryResult.init)
        // A statement that ended before the cancellation reached the server has succeeded, and its result is returned. The
        // caller's next statement throws `CancellationError`.
        if case .cancelling = waitLimit, let result, result.isFailure {
            while try nextResult(operation, handle) != nil {}
            throw CancellationError()
        }
        return result
    }

    func flush(_ operation: String, _ handle: OpaquePointer) throws {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                // Also reads input, because a server that cannot send its notices stops reading.
                try waitForServer(operation, handle, for: POLLOUT | POLLIN)
                try watchWaitLimit(operation, handle)
            default: throw failureOfLibpq(operation, handle)
            }
        }
    }

    // MARK: WaitLimit

    /// Asks the server to cancel the statement once the task is cancelled, and closes the connection when a time limit has
    /// passed.
    func watchWaitLimit(_ operation: String, _ handle: OpaquePointer) throws {
        switch waitLimit {
        case .untilCancelled:
            if Task.isCancelled { cancelStatement(handle) }
        case .limited(let end, let limit):
            if Task.isCancelled { return cancelStatement(handle) }
            try giveUp(operation, after: end, limit)
        case .cancelling(let end):
            guard ContinuousClock.now < end else {
                giveUp("the server did not answer a cancellation within \(Self.answerLimit)")
                throw CancellationError()
            }
        case .cleanup(let end?, let limit):
            try giveUp(operation, after: end, limit)
        case .cleanup(nil, let limit):
            if Task.isCancelled { waitLimit = .cleanup(until: .now + limit, limit: limit) }
        }
    }

    /// Throws if the task is cancelled. It is called before each row of a stream. Other checks run only while the connection
    /// waits, and while rows arrive fast, the connection does not wait.
    func checkCancellation() throws {
        if case .cleanup = waitLimit { return }
        try Task.checkCancellation()
    }

    /// Checks the time limit while the remaining rows of a cancelled stream are dropped. The rows might never end if the
    /// cancellation does not reach the server.
    func watchDropping(_ operation: String, _ handle: OpaquePointer) throws {
        if case .cancelling = waitLimit { try watchWaitLimit(operation, handle) }
    }

    private func giveUp(_ operation: String, after end: ContinuousClock.Instant, _ limit: Duration) throws {
        guard ContinuousClock.now >= end else { return }
        let message = "no answer from the server within \(limit)"
        giveUp(message)
        throw PostgresError(operation: operation, message: message, connectionLost: true)
    }

    func giveUp(_ reason: String) {
        notices.logger.warning("closing a database connection: \(reason)")
        close(because: reason)
    }

    /// Asks the server to cancel the running statement. libpq opens a second connection for the request. The second connection
    /// can hang as well, so the request is sent in the background. It runs on a separate queue, because all threads of the global
    /// queue may be busy.
    func cancelStatement(_ handle: OpaquePointer) {
        switch waitLimit {
        case .untilCancelled, .limited: waitLimit = .cancelling(until: .now + Self.answerLimit)
        case .cancelling, .cleanup: break
        }
        guard let pointer = quakes_cancel_create(handle) else { return }
        nonisolated(unsafe) let cancel = pointer
        DispatchQueue(label: "postgresql.cancellation").async(group: cancellations) { [notices] in
            var reason = [CChar](repeating: 0, count: 256)
            if quakes_cancel_send(cancel, &reason, Int32(reason.count)) == 0 {
                notices.logger.warning("cannot cancel a statement: \(oneLine(reason))")
            }
            quakes_cancel_free(cancel)
        }
    }

    func shieldingFromCancellation<Result>(_ body: () throws -> Result) rethrows -> Result {
        if case .cleanup = waitLimit { return try body() }
        let before = waitLimit
        waitLimit = .cleanup(until: .now + Self.answerLimit, limit: Self.answerLimit)
        defer { waitLimit = before }
        return try body()
    }

    // MARK: Failures

    /// The error of libpq's last call. Closes the connection if it is lost.
    func failureOfLibpq(_ operation: String, _ handle: OpaquePointer) -> PostgresError {
        let message = oneLine(PQerrorMessage(handle))
        let lost = closeIfLost(handle)
        return PostgresError(operation: operation, message: message, connectionLost: lost)
    }

    /// The error in a result. Does not close the connection, because more results may follow.
    func failure(_ operation: String, _ result: QueryResult, _ handle: OpaquePointer) -> PostgresError {
        let sqlState = field(.sqlState, of: result.pointer)
        // What to do about a missing privilege, the server often knows best. Other hints may quote values.
        let hint = sqlState == "42501" ? field(.hint, of: result.pointer) : nil
        var error = PostgresError(
            operation: operation, sqlState: sqlState,
            message: field(.message, of: result.pointer) ?? oneLine(PQresultErrorMessage(result.pointer)),
            remedy: hint)
        // The server closes the connection after a FATAL error.
        let severity = field(.severity, of: result.pointer)
        error.connectionLost =
            severity == "FATAL" || severity == "PANIC" || PQstatus(handle) == CONNECTION_BAD
        if error.connectionLost { lossReason = lossReason ?? error.message }
        if error.sqlState == "25006", let isStandby = isStandby(handle) {
            error.remedy =
                isStandby
                ? "a hot standby is read-only; to write, connect to the primary"
                : "see default_transaction_read_only, which may be set for the database or the login"
        }
        return error
    }

    @discardableResult
    func closeIfLost(_ handle: OpaquePointer) -> Bool {
        guard PQstatus(handle) == CONNECTION_BAD else { return false }
        close(because: oneLine(PQerrorMessage(handle)))
        return true
    }
}
