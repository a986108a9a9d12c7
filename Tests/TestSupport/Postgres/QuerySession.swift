import PostgreSQL

/// A session that runs one query after another of a test. A session for each query would cost the server ten times as much as a
/// short query does.
///
/// A query that comes while another runs gets its own session. So do the queries of a database with other settings or another
/// socket.
actor QuerySession {
    private var connection: Connection?
    private var isBusy = false
    private var closing: CheckedContinuation<Void, Never>?

    func query(_ query: Query, on options: ConnectionOptions) async throws -> [Row] {
        let operation = "run a test's query"
        guard !isBusy else {
            return try await Connection.with(options, logger: .quiet) {
                try await $0.query(query, to: operation)
            }
        }
        isBusy = true
        defer { isBusy = false }
        let connection = try await connected(options)
        return try await connection.query(query, to: operation)
    }

    /// Returns the session. Opens another one if the test has ended it, with its server or without.
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
                    opened.resume(throwing: error)  // It could not connect: nothing else throws here.
                }
            }
        }
        connection = opened
        return opened
    }

    /// Hands over a new session, and returns when it is to be closed.
    private func hold(_ connection: Connection, _ opened: CheckedContinuation<Connection, any Error>) async {
        await withCheckedContinuation { closed in
            closing = closed
            opened.resume(returning: connection)
        }
    }

    /// Closes the session. The next query opens another one.
    func close() {
        closing?.resume()
        (closing, connection) = (nil, nil)
    }
}
