import Feed
import PostgreSQL

/// A moment of the past that is cited, for example in a paper. Pruning keeps the history after the oldest cited moment.
public struct Citation: Sendable, Equatable {
    public let name: String
    /// The position of the moment: `asof=` with this position gives the catalogue as it was at that moment.
    public let position: Position
    public let reason: String
    public let author: String
    public let citedAt: Instant

    /// Cites a moment, so that pruning keeps its history.
    ///
    /// - Parameter moment: the moment to cite; nil for now.
    /// - Throws: `PastError` if the history does not cover the moment; `Failure` if the name is in use; `PostgresError`.
    public static func keep(
        _ moment: PastMoment?, as name: String, because reason: String, on connection: Connection
    ) async throws -> Citation {
        try await connection.write(to: "cite a moment") {
            // Pruning locks this row, too. So the moment's history cannot be pruned before the citation is stored.
            try await connection.query("select from history.store for update", to: "lock the history")
            let token =
                if let moment { try await moment.token(on: connection) } else {
                    try await PastMoment.newestToken(on: connection)
                }
            let inserted = try await connection.query(
                """
                insert into history.citation (name, token, reason) values (\(name), \(token), \(reason))
                on conflict do nothing returning name
                """, to: "cite a moment")
            guard !inserted.isEmpty,
                let cited = try await all(on: connection).first(where: { $0.name == name })
            else {
                throw Failure(
                    .usage, "the citation \(name) already exists; choose another name, or release it first")
            }
            return cited
        }
    }

    /// Removes a citation, so that pruning may delete the moment's history.
    ///
    /// - Returns: whether there was a citation with this name.
    public static func release(_ name: String, on connection: Connection) async throws -> Bool {
        try await connection.write(to: "release a citation") {
            try await connection.execute(
                "delete from history.citation where name = \(name)", to: "release a citation") > 0
        }
    }

    /// All citations, beginning with the earliest moment.
    public static func all(on connection: Connection) async throws -> [Citation] {
        let rows = try await connection.query(
            """
            select name, token, reason, author, cited_at from history.citation order by token, name
            """, to: "list the citations")
        var all: [Citation] = []
        for row in rows {
            all.append(
                Citation(
                    name: try row.decode("name"),
                    position: try await Position.known(by: try row.decode("token"), on: connection),
                    reason: try row.decode("reason"), author: try row.decode("author"),
                    citedAt: try row.decode("cited_at")))
        }
        return all
    }
}
