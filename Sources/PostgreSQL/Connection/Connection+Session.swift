import CPostgreSQL

/// The operation needs one session, but a pooler may run each transaction of the connection in a different session.
public struct NoSession: Error, Equatable, CustomStringConvertible {
    public let operation: String
    public let server: String

    public var description: String {
        "cannot \(operation) over \(server): a pooler there may run each transaction in another session, but this operation needs a single session; connect to the server directly, or set the pooler's pool_mode to session"
    }
}

extension Connection {
    /// Makes sure that all of this connection's statements run in one session of the server.
    ///
    /// Temporary tables, settings, session locks and LISTEN belong to a session. A pooler in transaction mode silently loses
    /// them, or gives them to another client.
    ///
    /// Without a pooler, the check is one small statement. Behind a pooler, it opens a second connection for a moment.
    ///
    /// - Throws: `NoSession`; `PostgresError` when the second connection gets no session.
    nonisolated public func requireSession(to operation: String) async throws {
        if try await ownsSession() { return }
        let process = try await sessionProcess()
        let hasSession = try await Connection.with(options, logger: notices.logger) { other in
            // In transaction mode, the other connection most likely gets the session that this connection has just used.
            guard try await other.process(within: Self.answerLimit) != process else { return false }
            return try await hearsWhileIdle(other)
        }
        if !hasSession { throw NoSession(operation: operation, server: "\(options)") }
    }

    /// Whether the connection leads directly to the server, without a pooler. Only the first call asks the server.
    public func ownsSession() throws -> Bool {
        if let isDirect { return isDirect }
        // A pooler reports invented process numbers to its clients, which use them to cancel statements.
        let isDirect = try sessionProcess() == Int(PQbackendPID(handle))
        self.isDirect = isDirect
        return isDirect
    }

    nonisolated private func process(within limit: Duration) async throws -> Int {
        do {
            return try await expectingAnswer(within: limit) {
                try await transaction(to: "look for a pooler") { try await sessionProcess() }
            }
        } catch var error as PostgresError where error.connectionLost {
            error.remedy = "the pooler needs room for a second session"
            throw error
        }
    }

    /// Whether this connection keeps its session between two transactions.
    ///
    /// An idle connection receives a notification only if it keeps its session: a pooler in transaction mode has no client to
    /// pass the notification to. A pooler that shares sessions in any other way fails this test, too.
    nonisolated private func hearsWhileIdle(_ other: Connection) async throws -> Bool {
        let message = "\(UInt64.random(in: 0...(.max)))"
        return try await listen(to: "quakes_session") { notifications in
            try await other.query("select pg_notify('quakes_session', \(message))", to: "look for a pooler")
            let end = ContinuousClock.now + Self.answerLimit
            while let heard = try await notifications.next(within: end - .now) {
                if heard == message { return true }
            }
            return false
        }
    }

    private func sessionProcess() throws -> Int {
        try query("select pg_backend_pid() as process", to: "look for a pooler")[0].decode("process")
    }
}
