import CPostgreSQL

extension Connection {
    /// Runs `body` in a transaction, which is committed when `body` returns, and rolled back when it throws or the task
    /// is cancelled.
    ///
    /// If the connection is lost during the COMMIT, or the server does not answer a cancellation, the transaction may or may not
    /// be committed: only the database can tell.
    ///
    /// The rollback is sent even when the task is cancelled. If the server does not answer it within 5 s, the connection is
    /// closed, and the server then rolls back. If the rollback fails, its error is added to the error of `body`.
    ///
    /// - Parameters:
    ///   - settings: settings for this transaction only: names and values as SQL text.
    ///   - table: the name of a table, as SQL text. The table is locked in ACCESS SHARE mode first, so that a REPEATABLE READ
    ///     transaction takes its snapshot after the lock. In a snapshot older than an ALTER TABLE that rewrites the table, the
    ///     table is empty (https://www.postgresql.org/docs/current/mvcc-caveats.html).
    ///   - limit: how long the server may take to answer the COMMIT; nil for no limit. Give a limit only if the transaction
    ///     writes nothing.
    /// - Throws: any error of `body`; `PostgresError`, also when a transaction is already open.
    nonisolated public func transaction<Result>(
        _ isolation: Isolation = .readCommitted, with settings: [String: String] = [:],
        holding table: String? = nil, endingWithin limit: Duration? = nil, to operation: String,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await begin(isolation, settings, table, operation)
        do {
            let result = try await body()
            if let limit {
                try await expectingAnswer(within: limit) { try await commit(operation) }
            } else {
                try await commit(operation)
            }
            return result
        } catch {
            throw await rollback(after: error, operation)
        }
    }

    /// Runs `body` in a READ COMMITTED transaction that writes, and repeats it as `repeating` does.
    nonisolated public func write<Result>(
        to operation: String, _ body: () async throws -> Result
    ) async throws -> Result {
        try await repeating { try await transaction(to: operation, body) }
    }

    /// Like `write`, but the transaction is rolled back in the end.
    nonisolated public func trying<Result: Sendable>(
        to operation: String, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await write(to: operation) { () async throws -> Result in
                throw Tried(result: try await body())
            }
        } catch let tried as Tried<Result> {
            return tried.result
        }
    }

    /// Thrown, so that the transaction is rolled back.
    private struct Tried<Result: Sendable>: Error {
        let result: Result
    }

    /// Runs `body`, which is one transaction or a single statement. Repeats it after a conflict with another transaction: a
    /// deadlock, a serialisation failure, or a lock that was not released within `lock_timeout`. There are at most five attempts,
    /// with growing, random waits between them.
    ///
    /// Side effects of `body` are repeated, too. Inside an open transaction nothing is repeated, because only the whole
    /// transaction can be repeated.
    ///
    /// - Throws: the error of the last attempt.
    nonisolated public func repeating<Result>(_ body: () async throws -> Result) async throws -> Result {
        var longest = Duration.milliseconds(50)
        for _ in 1..<Self.attempts {
            do {
                return try await body()
            } catch let error as PostgresError where error.isRetryable {
                guard await isIdle else { throw error }
                notices.logger.info("\(error); trying again")
            }
            // A cancelled task does not wait. Its next statement throws `CancellationError`, unless it is shielded from
            // cancellation.
            do { try await Task.sleep(for: longest * Double.random(in: 0.5...1)) } catch {}
            longest *= 2
        }
        return try await body()
    }

    @discardableResult
    nonisolated public func repeating(_ statement: Query, to operation: String) async throws -> [Row] {
        try await repeating { try await query(statement, to: operation) }
    }

    private static let attempts = 5

    private var isIdle: Bool { handle.map { PQtransactionStatus($0) == PQTRANS_IDLE } ?? false }

    public enum Isolation: String, Sendable {
        case readCommitted = "read committed"
        /// All of the transaction's statements see one snapshot. Changing a row that another transaction has changed since the
        /// snapshot is a serialisation failure.
        case repeatableRead = "repeatable read"
        case repeatableReadOnly = "repeatable read, read only"
        case serializable
    }

    /// Runs `body` even if the task is cancelled, so that it can send the last messages to the server. The time limit starts when
    /// the task is cancelled. If the server does not answer in time, the connection is closed.
    @discardableResult
    nonisolated public func shieldingFromCancellation<Result>(
        within limit: Duration, _ body: () async throws -> Result
    ) async throws -> Result {
        try await withWaitLimit(.cleanup(until: nil, limit: limit), body)
    }

    /// Runs `body` with a time limit, for statements that the server normally answers at once. If the server does not answer in
    /// time, the connection is closed.
    ///
    /// - Throws: any error of `body`; `PostgresError` with `connectionLost` when the time is up.
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

    private func begin(
        _ isolation: Isolation, _ settings: [String: String], _ table: String?,
        _ operation: String
    ) throws {
        // PostgreSQL would only warn about a second BEGIN, and the inner COMMIT would end the outer transaction.
        guard try PQtransactionStatus(open(operation)) == PQTRANS_IDLE else {
            throw PostgresError(
                operation: "begin: \(operation)", message: "a transaction is already open on this connection")
        }
        // LOCK TABLE takes no snapshot, so the first statement of `body` takes it.
        let statements =
            ["begin isolation level \(isolation.rawValue)"]
            + settings.map { "set local \($0.key) = \($0.value)" }
            + (table.map { ["lock table \($0) in access share mode"] } ?? [])
        do {
            try execute(script: statements.joined(separator: "; "), to: "begin: \(operation)")
        } catch {
            // The transaction is open if the lock timed out.
            throw rollback(after: error, operation)
        }
    }

    private func commit(_ operation: String) throws {
        let operation = "commit: \(operation)"
        switch try PQtransactionStatus(open(operation)) {
        case PQTRANS_INTRANS: break
        case PQTRANS_INERROR:
            // PostgreSQL would roll back at this COMMIT, and still report success.
            throw PostgresError(operation: operation, message: "a statement failed and its error was ignored")
        default:
            throw PostgresError(operation: operation, message: "the body has already ended the transaction")
        }
        do {
            try execute(script: "commit", to: operation)
        } catch var error as PostgresError {
            error.isOfCommit = true
            if error.connectionLost {
                error.remedy = "the transaction may or may not be committed: check before repeating it"
            } else if error.isFullQueue {
                error.remedy =
                    "end the session that listens and stays in a transaction: see pg_notification_queue_usage() and pg_stat_activity"
            }
            throw error
        }
    }

    private func rollback(after error: any Error, _ operation: String) -> any Error {
        guard let handle, PQtransactionStatus(handle) != PQTRANS_IDLE else { return error }
        do {
            try shieldingFromCancellation { try execute(script: "rollback", to: "roll back: \(operation)") }
            return error
        } catch let rollbackError {
            // Closing the connection makes the server roll back.
            close(because: "\(rollbackError)")
            guard var failure = error as? PostgresError else {
                notices.logger.warning("\(rollbackError)")
                return error
            }
            // If the connection is lost, both errors say the same.
            if !failure.connectionLost { failure.alsoFailed = "\(rollbackError)" }
            return failure
        }
    }
}
