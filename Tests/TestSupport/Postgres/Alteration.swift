import PostgreSQL

/// A statement that changes `quake` and locks the table until its transaction is committed.
public struct Alteration: Sendable {
    public let statement: String

    /// Rewrites every row. A snapshot from before the commit sees an empty table.
    public static let rewriting = Alteration(
        statement: "alter table quake add column seen timestamptz default clock_timestamp()")

    /// Rewrites every row, too, but changes no column and no value.
    public static let unlogging = Alteration(statement: "alter table quake set unlogged")

    /// Moves every row in the table's file.
    public static let moving = Alteration(statement: "cluster quake using quake_pkey")
}

extension TestDatabase {
    /// Runs the alteration in a transaction, and starts `reading`. Commits the transaction once a session waits for a lock, and
    /// returns the result of `reading`.
    public func altering<Result: Sendable>(
        _ alteration: Alteration = .rewriting,
        whileReading reading: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withConnection { connection in
            try await connection.execute(script: "begin; \(alteration.statement)", to: "alter the table")
            async let result = reading()
            try await waitUntil { try await blockedSessions() > 0 }
            try await connection.execute(script: "commit", to: "alter the table")
            return try await result
        }
    }
}
