import Feed
import PostgreSQL

/// A state of the catalogue: the position of the history, and which documents of feeds are settled.
public struct CatalogueState: Sendable, Equatable {
    public let position: Position
    /// When the newest transaction was committed.
    public let committedAt: Instant
    /// When history begins.
    public let beginning: Instant
    /// The newest document of each feed that was settled.
    public let settled: [SettledDocument]

    /// Runs `body` in a transaction that sees one state, which is handed over, and changes nothing.
    ///
    /// - Parameter limit: how long each of the body's statements may take.
    public static func withSnapshot<Result>(
        on connection: Connection, limit: Duration, _ body: (CatalogueState) async throws -> Result
    ) async throws -> Result {
        try await connection.transaction(.repeatableReadOnly, to: "read the catalogue") {
            // Compiling a plan would take longer than most answers do.
            try await connection.execute(
                script:
                    "set local jit = off; set local statement_timeout = \(max(1, Int(limit / .milliseconds(1))))",
                to: "limit the time of statements")
            return try await body(try await read(on: connection))
        }
    }

    /// Reads it; in a transaction, it is the state that the transaction's other statements see.
    ///
    /// - Throws: `PostgresError` when `history.store` holds no row.
    public static func read(on connection: Connection) async throws -> CatalogueState {
        let operation = "read the catalogue's state"
        let row = try await connection.query(query, to: operation).first
        guard let row, let store = try row.decodeIfPresent("store", as: String.self) else {
            throw PostgresError(
                operation: operation, message: "history.store holds no row",
                remedy: "restore the whole database")
        }
        return CatalogueState(
            position: Position(
                store: store, token: try row.decode("token"), committedAt: try row.decode("committed_at")),
            committedAt: Instant(milliseconds: try row.decode("committed")),
            beginning: Instant(milliseconds: try row.decode("beginning")),
            settled: try row.decode("settled", as: TextArray.self).elements.compactMap(SettledDocument.init))
    }

    /// Services are few and feeds are known, so that each document is found by one look-up in the index, however many
    /// documents there are.
    private static let query: Query = """
        with recursive services as (
            (select service from import.settled order by service limit 1)
            union all
            select (select service from import.settled s where s.service > services.service order by service limit 1)
            from services where services.service is not null)
        select position.store::text, token,
               to_char(committed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as committed_at,
               floor(extract(epoch from committed_at) * 1000)::bigint as committed,
               (select ceil(extract(epoch from pruned_committed_at) * 1000)::bigint from history.store) as beginning,
               array(select concat_ws(' ', (extract(epoch from last.generated) * 1000)::bigint, feed, service)
                     from services
                     cross join unnest(string_to_array(\(FeedSource.summaryFeeds.joined(separator: " ")), ' ')) as feed
                     cross join lateral (select s.generated from import.settled s
                                         where s.service = services.service and s.feed = feed
                                         order by s.generated desc limit 1) as last
                     order by service, feed) as settled
        from history.position() as position
        """
}

/// A document of a summary feed whose events, and whose missing events, the catalogue has taken over.
public struct SettledDocument: Sendable, Equatable {
    /// The host whose events the feed has.
    public let service: String
    /// The feed's name, such as `all_day`.
    public let feed: String
    public let generated: Instant

    /// Reads `GENERATED FEED SERVICE`.
    fileprivate init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let generated = Int64(parts[0]) else { return nil }
        (feed, service) = (String(parts[1]), String(parts[2]))
        self.generated = Instant(milliseconds: generated)
    }
}
