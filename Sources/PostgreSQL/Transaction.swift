import CPostgreSQL

extension Connection {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// The rollback also happens when the task is cancelled, and has 5 s for it; a server that does not answer
    /// by then is given up and rolls back on its own. An error of the rollback is added to that of the body.
    nonisolated(nonsending)
        public func transaction<Result>(
            _ isolation: Isolation = .readCommitted, to operation: String,
            _ body: () async throws -> Result
        ) async throws -> Result
    {
        try await execute(script: "begin isolation level \(isolation.rawValue)", to: operation)
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
    nonisolated(nonsending)
        public func despiteCancellation<Result>(
            within limit: Duration, _ body: () async throws -> Result
        ) async throws -> Result
    {
        await setPatience(.cleanup(until: .now + limit))
        do {
            let result = try await body()
            await setPatience(.untilCancelled)
            return result
        } catch {
            await setPatience(.untilCancelled)
            throw error
        }
    }

    private func setPatience(_ patience: Patience) {
        self.patience = patience
    }

    private func commit(_ operation: String) throws {
        // PostgreSQL answers the commit of a failed transaction with a rollback, and calls it a success.
        if try PQtransactionStatus(open(operation)) == PQTRANS_INERROR {
            throw PostgresError(
                operation: "commit: \(operation)", message: "a statement failed and its error was ignored")
        }
        try execute(script: "commit", to: "commit: \(operation)")
    }

    private func rollback(after error: any Error, _ operation: String) -> any Error {
        guard let handle, PQtransactionStatus(handle) != PQTRANS_IDLE else { return error }
        patience = .cleanup(until: .now + .seconds(5))
        defer { patience = .untilCancelled }
        do {
            try execute(script: "rollback", to: "roll back: \(operation)")
            return error
        } catch let rollbackError {
            guard var failure = error as? PostgresError else { return error }
            // A lost connection says the same thing twice.
            if !failure.connectionLost { failure.alsoFailed = "\(rollbackError)" }
            return failure
        }
    }
}
