import CPostgreSQL

/// The content of a NOTIFY (https://www.postgresql.org/docs/current/sql-notify.html).
public struct Notification: Sendable, Equatable {
    public let channel: String
    public let payload: String
}

/// The notifications that reach a connection. Only valid inside the closure of `Connection.listen`.
public struct Notifications: Sendable {
    let connection: Connection

    /// Waits for the next notification, for at most `limit`; nil when none came.
    ///
    /// A silently lost connection goes unnoticed: a network path that swallows packets looks like a database in which
    /// nothing happens. Ask the server something now and then, within `Connection.expectingAnswer`.
    public func next(within limit: Duration) async throws -> Notification? {
        try await connection.nextNotification(within: limit)
    }
}

extension Connection {
    /// Listens on a channel while `body` runs.
    ///
    /// Notifications are a hint, not a record: those sent while nobody listens are lost, identical ones in one
    /// transaction arrive once, and the server's queue is limited. A statement that runs on the connection, or a
    /// transaction that stays open on it, holds them back and fills that queue: `body` may run statements, but none for
    /// hours.
    ///
    /// - Parameter channel: a plain lower-case SQL name.
    /// - Throws: what `body` throws, or `PostgresError`; a hot standby refuses LISTEN.
    nonisolated public func listen<Result>(
        to channel: String, _ body: (Notifications) async throws -> Result
    ) async throws -> Result {
        try await execute(script: "listen \(channel)", to: "listen to \(channel)")
        do {
            let result = try await body(Notifications(connection: self))
            try await stopListening(to: channel)
            return result
        } catch {
            // The error that is being thrown says more than a second one from the same connection.
            do { try await stopListening(to: channel) } catch {}
            throw error
        }
    }

    private func stopListening(to channel: String) throws {
        guard handle != nil else { return }
        try shieldingFromCancellation {
            try execute(script: "unlisten \(channel)", to: "stop listening to \(channel)")
        }
    }

    fileprivate func nextNotification(within limit: Duration) throws -> Notification? {
        let operation = "wait for a notification"
        let handle = try open(operation)
        let end = ContinuousClock.now + limit
        while true {
            if let pointer = PQnotifies(handle) {
                defer { PQfreemem(pointer) }
                return Notification(
                    channel: String(cString: pointer.pointee.relname),
                    payload: String(cString: pointer.pointee.extra))
            }
            try Task.checkCancellation()
            guard ContinuousClock.now < end else { return nil }
            if waitForSocket(PQsocket(handle), writable: false), PQconsumeInput(handle) == 0 {
                throw failureOfLibpq(operation, handle)
            }
        }
    }
}
