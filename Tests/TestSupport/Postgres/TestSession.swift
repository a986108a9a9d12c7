import PostgreSQL

/// A session that runs a test's queries, or its imports, one after another. A separate session for each of them would cost the
/// server more than the work itself.
actor TestSession {
    private var connection: Connection?
    private var isBusy = false
    private var closing: CheckedContinuation<Void, Never>?

    /// Runs `body` in the session; returns nil if the session is busy. If `body` fails, the session is closed, because a failed
    /// import may leave a transaction or a lock behind.
    func use<Result: Sendable>(
        _ options: ConnectionOptions, _ body: @Sendable (Connection) async throws -> Result
    ) async throws -> Result? {
        guard !isBusy else { return nil }
        isBusy = true
        defer { isBusy = false }
        let connection = try await connected(options)
        do {
            return try await body(connection)
        } catch {
            close()
            throw error
        }
    }

    /// Returns the session. Opens a new session if the test has terminated the old one or stopped its server.
    private func connected(_ options: ConnectionOptions) async throws -> Connection {
        if let connection {
            do {
                try await connection.query("select 1", to: "find the session of a test's queries")
                return connection
            } catch let error as PostgresError where error.connectionLost {
                close()
            }
        }
        let opened = try await withCheckedThrowingContinuation { opened in
            Task {
                do {
                    try await Connection.with(options, logger: .quiet) { await hold($0, opened) }
                } catch {
                    opened.resume(throwing: error)  // The connection failed. Nothing else throws here.
                }
            }
        }
        connection = opened
        return opened
    }

    /// Passes a new session to `opened`, and returns once `close()` is called.
    private func hold(_ connection: Connection, _ opened: CheckedContinuation<Connection, any Error>) async {
        await withCheckedContinuation { closed in
            closing = closed
            opened.resume(returning: connection)
        }
    }

    /// Closes the session. When it is needed again, a new one is opened.
    func close() {
        closing?.resume()
        (closing, connection) = (nil, nil)
    }

    func closeIfIdle() {
        if !isBusy { close() }
    }
}
