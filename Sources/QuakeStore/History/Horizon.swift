import Feed
import PostgreSQL

/// Where history begins: after this token. What came before was pruned, or never recorded.
public struct Horizon: Sendable, Equatable {
    /// 0 before the first pruning.
    public let token: Int
    /// When that token's transaction was committed; before the first pruning, when the store was created.
    public let committedAt: Instant

    /// Read it in the transaction that reads the history, or a pruning may come in between.
    static func read(on connection: Connection) async throws -> Horizon {
        let row = try await connection.query(
            """
            select pruned_token, (extract(epoch from pruned_committed_at) * 1000)::bigint as pruned_at
            from history.store
            """, to: "read the history's horizon")[0]
        return Horizon(
            token: try row.decode("pruned_token"),
            committedAt: Instant(milliseconds: try row.decode("pruned_at")))
    }
}

extension Horizon: CustomStringConvertible {
    public var description: String { "history begins after token \(token), \(committedAt)" }
}
