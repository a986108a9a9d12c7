import Feed
import PostgreSQL

/// Drops the records of removed sources and readers.
public enum Forgetting {
    /// Drops the records of a source that is no longer imported: its validators, cursor, runs and unfinished backfill.
    ///
    /// Earthquakes, history and rejects stay.
    ///
    /// - Returns: how many runs were dropped.
    /// - Throws: `SourceBusy` if the source is being imported; `Failure` if it was never imported; `PostgresError`.
    public static func forget(_ source: FeedSource, on connection: Connection) async throws -> Int {
        let name = try await ImportStatus.read(of: [source], on: connection).sources[0].name
        let log = RunLog(connection: connection, source: source, name: name)
        try await log.lock()
        // If an error ends this function early, the lock is released with the connection.
        let count = try await connection.write(to: "forget a source") {
            // Runs that read standard input use a shared lock, so another such run may still be active.
            let running = try await connection.query(
                "select from import.run where source = \(name) and outcome = 'running' limit 1",
                to: "look for a running import")
            guard running.isEmpty else { throw SourceBusy(source: source) }
            for table in ["feed", "sweep", "mirror"] {
                try await connection.execute(
                    "delete from import.\(unescaped: table) where source = \(name)", to: "forget the source")
            }
            try await connection.execute(
                "delete from import.backfill where 'backfill ' || service = \(name)",
                to: "forget the backfill")
            return try await connection.execute(
                "delete from import.run where source = \(name)", to: "forget the runs")
        }
        try await log.unlock()
        return count
    }

    /// Drops the position of a removed reader. A reader that still follows under that name reports its
    /// position again within seconds.
    ///
    /// - Throws: `Failure` if no reader has reported under this name; `PostgresError`.
    public static func forget(reader name: String, on connection: Connection) async throws {
        try await connection.write(to: "forget a reader") {
            let deleted = try await connection.execute(
                "delete from history.reader where name = \(name)", to: "forget a reader")
            if deleted == 0 { _ = try await HistoryStatus.readers([name], on: connection) }
        }
    }
}
