import Feed
import PostgreSQL

/// The state of the history, and how far its readers are behind.
public struct HistoryStatus: Sendable, Equatable {
    /// The highest token; `committedAt` is the commit time of its transaction. If the history is empty, both values are the
    /// horizon's.
    public let token: Int
    public let committedAt: CommitTime
    /// History begins after this token.
    public let horizon: Int
    public let readers: [Reader]

    public struct Reader: Sendable, Equatable {
        public let name: String
        /// The reader had applied all changes up to this token when it last reported.
        public let token: Int
        public let seenAt: Instant
        /// The time since the last report.
        public let silence: Duration
        /// The difference between the newest token and the reader's token. There are gaps between tokens, so this may be more
        /// than the number of transactions.
        public let tokensBehind: Int
        /// The age of the oldest transaction that the reader has not applied; zero if there is none.
        public let behind: Duration
        /// Whether history that the reader needs was pruned. If so, the reader will take a fresh snapshot.
        public let isBeforeHorizon: Bool
    }

    /// - Parameter wanted: the readers to read; empty for all.
    /// - Throws: `Failure` if one of the readers has never reported its position; `PostgresError`.
    public static func read(of wanted: [String] = [], on connection: Connection) async throws -> HistoryStatus
    {
        try await connection.transaction(.repeatableReadOnly, to: "read the history's state") {
            let row = try await connection.query(
                """
                select token, committed_at,
                       (select pruned_token from history.store) as horizon
                from history.position()
                """, to: "read the history's state")[0]
            return HistoryStatus(
                token: try row.decode("token"),
                committedAt: try row.decode("committed_at"),
                horizon: try row.decode("horizon"), readers: try await readers(wanted, on: connection))
        }
    }

    static func readers(_ wanted: [String], on connection: Connection) async throws -> [Reader] {
        let rows = try await connection.query(
            """
            select reader, token, seen_at, silent_s, tokens_behind, behind_s, needs_snapshot
            from report.reader_lag order by reader
            """, to: "read the readers' positions")
        let all = try rows.map { row in
            Reader(
                name: try row.decode("reader"), token: try row.decode("token"),
                seenAt: try row.decode("seen_at"),
                silence: .seconds(try row.decode("silent_s", as: Double.self)),
                tokensBehind: try row.decode("tokens_behind"),
                behind: .seconds(try row.decode("behind_s", as: Double.self)),
                isBeforeHorizon: try row.decode("needs_snapshot"))
        }
        for name in wanted where !all.contains(where: { $0.name == name }) {
            let known = all.map(\.name)
            let meant = closestSpelling(of: name, among: known).map { "did you mean \($0)?" }
            let remedy = meant ?? "quakes status lists the known readers"
            throw Failure(.noInput, "no reader has reported under the name \(name); \(remedy)")
        }
        return wanted.isEmpty ? all : all.filter { wanted.contains($0.name) }
    }
}
