import PostgreSQL

/// The token after which history begins. Earlier changes were pruned, or never recorded.
public struct Horizon: Sendable, Equatable, CustomStringConvertible {
    /// 0 before the first pruning.
    public let token: Int
    /// The commit time of that token's transaction; before the first pruning, the time when the store was created.
    public let committedAt: CommitTime

    /// Reads the horizon. Call it in the transaction that reads the history; otherwise history may be pruned in between.
    static func read(on connection: Connection) async throws -> Horizon {
        let operation = "read the history's horizon"
        let rows = try await connection.query(
            "select pruned_token, pruned_committed_at from history.store", to: operation)
        guard let row = rows.first else { throw PostgresError.noRow(in: "history.store", operation) }
        return Horizon(
            token: try row.decode("pruned_token"), committedAt: try row.decode("pruned_committed_at"))
    }

    public var description: String { "history begins after token \(token), \(committedAt)" }
}
