import CPostgreSQL

extension Connection {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws or when the task is
    /// cancelled.
    ///
    /// A COMMIT that was under way when the connection was lost, or when a cancellation found no answer, may
    /// have happened: only the database knows.
    ///
    /// The rollback also happens when the task is cancelled, and has 5 s for it; a server that does not answer
    /// by then is given up and rolls back on its own. An error of the rollback is added to that of the body.
    ///
    /// - Throws: what `body` throws, or `PostgresError`; also when a transaction is open already.
    nonisolated public func transaction<Result>(
        _ isolation: Isolation = .readCommitted, to operation: String,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await begin(isolation, operation)
        do {
            let result = try await body()
            try await commit(operation)
            return result
        } catch {
            throw await rollback(after: error, operation)
        }
    }

    public enum Isolation: String, Sendable {
        case readCommitted = "read committed"
        /// One snapshot for all of the transaction's statements.
        case repeatableRead = "repeatable read"
        case repeatableReadOnly = "repeatable read, read only"
        case serializable
    }

    /// Runs `body`, although the task may be cancelled, with a time limit: for what has to be said at
    /// the end. A server that does not answer by then is given up and the connection closed.
    @discardableResult
    nonisolated public func shieldingFromCancellation<Result>(
        within limit: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await withWaitLimit(.cleanup(until: .now + limit, limit: limit), body)
    }

    /// Runs `body` with a time limit: for what the server answers at once, or never again. A server that does not
    /// answer by then is given up and the connection closed.
    ///
    /// - Throws: what `body` throws; `PostgresError` with `connectionLost` when the time is over.
    @discardableResult
    nonisolated public func expectingAnswer<Result>(
        within limit: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await withWaitLimit(.limited(until: .now + limit, limit: limit), body)
    }

    nonisolated private func withWaitLimit<Result>(
        _ waitLimit: WaitLimit, _ body: () async throws -> Result
    ) async throws -> Result {
        let before = await exchangeWaitLimit(waitLimit)
        do {
            let result = try await body()
            _ = await exchangeWaitLimit(before)
            return result
        } catch {
            _ = await exchangeWaitLimit(before)
            throw error
        }
    }

    private func exchangeWaitLimit(_ waitLimit: WaitLimit) -> WaitLimit {
        defer { self.waitLimit = waitLimit }
        return self.waitLimit
    }

    private func begin(_ isolation: Isolation, _ operation: String) throws {
        // PostgreSQL only warns, and the inner commit would end the outer transaction.
        guard try PQtransactionStatus(open(operation)) == PQTRANS_IDLE else {
            throw PostgresError(
                operation: "begin: \(operation)", message: "a transaction is open on this connection already")
        }
        try execute(script: "begin isolation level \(isolation.rawValue)", to: "begin: \(operation)")
    }

    private func commit(_ operation: String) throws {
        let operation = "commit: \(operation)"
        switch try PQtransactionStatus(open(operation)) {
        case PQTRANS_INTRANS: break
        case PQTRANS_INERROR:
            // PostgreSQL answers this commit with a rollback, and calls it a success.
            throw PostgresError(operation: operation, message: "a statement failed and its error was ignored")
        default:
            throw PostgresError(operation: operation, message: "the transaction was ended by its own body")
        }
        do {
            try execute(script: "commit", to: operation)
        } catch var error as PostgresError where error.connectionLost {
            error.remedy = "it may be committed or not: look before repeating it"
            throw error
        }
    }

    private func rollback(after error: any Error, _ operation: String) -> any Error {
        guard let handle, PQtransactionStatus(handle) != PQTRANS_IDLE else { return error }
        do {
            try shieldingFromCancellation { try execute(script: "rollback", to: "roll back: \(operation)") }
            return error
        } catch let rollbackError {
            // The server rolls back what has no connection any more.
            close(because: "\(rollbackError)")
            guard var failure = error as? PostgresError else {
                notices.logger.warning("\(rollbackError)")
                return error
            }
            // A lost connection says the same thing twice.
            if !failure.connectionLost { failure.alsoFailed = "\(rollbackError)" }
            return failure
        }
    }
}
