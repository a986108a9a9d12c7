import Logging
import PostgreSQL

extension View {
    /// Applies what has changed since the view's position, over a connection that the caller lends.
    ///
    /// - Returns: the position that the view has reached.
    /// - Throws: `PostgresError`; what the view throws.
    @discardableResult
    public func applyPass(over connection: Connection, logger: Logger) async throws -> Position {
        var passReader = PassReader(
            connection: connection, view: self, name: nil, answerLimit: PollInterval().answer, logger: logger,
            position: try await position())
        return try await passReader.applyPass()
    }
}

extension Position {
    /// Whether a pass from here on is long: because of the number of changes that follow, or because the position no longer
    /// holds, so that it has to begin with all rows.
    ///
    /// - Parameters:
    ///   - limit: how many changes are few.
    ///   - signature: the table's in what the reader has; nil if that is not known.
    public func isFarBehind(_ limit: Int, of signature: String?, on connection: Connection) async throws
        -> Bool
    {
        let state = try await SnapshotState.read(of: self, on: connection)
        guard state.freshStart == nil, signature == nil || signature == state.shape else { return true }
        return try await connection.query(
            """
            select coalesce(sum(changes), 0) > \(limit) as is_far
            from (select changes from history.transaction where token > \(token) order by token limit \(limit)) as next
            """, to: "look how far a reader is behind"
        )[0].decode("is_far")
    }

    /// The position of somebody who knows the token only: that of the last transaction up to it. If the history does not
    /// have it, this is a position that does not hold.
    public static func known(by token: Int, on connection: Connection) async throws -> Position {
        let row = try await connection.query(
            """
            select store.store::text, coalesce(last.token, \(token)) as token,
                   coalesce(last.committed_at, 'epoch') as committed_at
            from history.store
            left join lateral (
                (select token, committed_at from history.transaction where token <= \(token) order by token desc limit 1)
                union all
                select pruned_token, pruned_committed_at
                order by token desc limit 1
            ) as last on \(token) between pruned_token and history.current_token()
            """, to: "find a token"
        ).first
        guard let row else {
            throw PostgresError(
                operation: "find a token", message: "history.store holds no row",
                remedy: "restore the whole database")
        }
        return Position(
            store: try row.decode("store"), token: try row.decode("token"),
            committedAt: "\(try row.decode("committed_at", as: CommitTime.self))")
    }
}
