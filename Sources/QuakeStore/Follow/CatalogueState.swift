import Feed
import PostgreSQL

extension Connection {
    /// Runs `body` in a read-only transaction that sees one state of the catalogue. The table `quake` is locked before the
    /// snapshot is taken, so that the transaction waits for a rewrite of the table and never sees the table as empty.
    nonisolated func holdingCatalogue<Result>(
        with settings: [String: String] = [:], endingWithin limit: Duration = .seconds(10),
        to operation: String, _ body: () async throws -> Result
    ) async throws -> Result {
        try await transaction(
            .repeatableReadOnly, with: settings, holding: "public.quake", endingWithin: limit, to: operation,
            body)
    }
}

/// The state of the catalogue in one snapshot.
public struct CatalogueState: Sendable, Equatable {
    public let position: Position
    /// The result of `history.shape`. It changes whenever rows may have changed without a record in the history.
    public let shape: String
    /// When the newest transaction was committed.
    public let committedAt: Instant
    /// The time at which the complete history begins.
    public let beginning: Instant
    /// The token of the oldest cited moment; nil if nothing is cited. Pruning keeps the history after this token.
    public let citedFrom: Int?
    public private(set) var settled: [SettledDocument] = []
    /// The reason why the reader has to start over. nil if the history after the reader's position is complete, or if the state
    /// was not read for a reader.
    let freshStart: FreshStart?
    /// Whether the server is a hot standby that has not reached the reader's position. The standby may reach the position later,
    /// but never if the transactions in between were lost.
    let isBehind: Bool

    /// Runs `body` with the catalogue's state, in a read-only transaction that sees this state.
    ///
    /// - Parameters:
    ///   - limit: how long each of the body's statements may take.
    ///   - hasSettled: whether to read the settled documents. Reading them takes longer than reading the rest of the state.
    public static func withSnapshot<Result>(
        on connection: Connection, limit: Duration, hasSettled: Bool = true,
        _ body: (CatalogueState) async throws -> Result
    ) async throws -> Result {
        try await connection.holdingCatalogue(with: settings(limit), to: "read the catalogue") {
            try await body(try await read(on: connection, hasSettled: hasSettled))
        }
    }

    /// Applies the settings of `withSnapshot` to a whole session.
    public static func setUp(_ connection: Connection, limit: Duration) async throws {
        let script = settings(limit).map { "set \($0.key) = \($0.value)" }.joined(separator: "; ")
        try await connection.execute(script: script, to: "set up the session")
    }

    /// Settings for a transaction that reads what has changed. They force index look-ups: the planner might choose scans, because
    /// its statistics may be older than the last load.
    static let lookUps = ["jit": "off", "enable_seqscan": "off"]

    static func settings(_ limit: Duration) -> [String: String] {
        // The limit is at least 1 ms, because 0 means no limit. JIT is off, because compiling a plan would take longer than most
        // queries.
        ["jit": "off", "statement_timeout": "\(max(1, Int(limit / .milliseconds(1))))"]
    }

    /// Reads the state. In a REPEATABLE READ transaction, all other statements of the transaction see this state.
    ///
    /// - Throws: `PostgresError` when `history.store` holds no row.
    public static func read(
        on connection: Connection, hasSettled: Bool = true
    ) async throws -> CatalogueState {
        var row = try await connection.query(query, to: operation)[0]
        var state = try CatalogueState(&row)
        if hasSettled { state.settled = try await settledDocuments(on: connection) }
        return state
    }

    /// Reads the state without settled documents, and checks the position of a reader.
    static func read(for reader: Position?, on connection: Connection) async throws -> CatalogueState {
        var row = try await connection.query(query(for: reader), to: operation)[0]
        return try CatalogueState(&row, for: reader)
    }

    static let operation = "read the catalogue's state"

    static let width = 9

    static let query = query(shape: "history.shape('public.quake')", reader: "null, null")

    /// The query for the state within a statement that also reads the table. The statement's snapshot may be older than its lock
    /// on the table. If the table was rewritten in between, the snapshot sees the table as empty. Then the query calls
    /// `history.refuse_rewritten`, which fails. Calling this function in every query would take four times as long.
    static let queryOfWhole = query(
        shape: """
            case when pg_relation_filenode('public.quake') = (select relfilenode from pg_class where oid = 'public.quake'::regclass)
                 then history.shape('public.quake') else history.refuse_rewritten('public.quake')::text end
            """, reader: "null, null")

    /// The query for the state that also checks `reader`, which is nil for a reader without a position. The query also applies
    /// the settings of `HistoryText` until the transaction ends, so that values have the text form that the history uses.
    static func query(for reader: Position?) -> Query {
        query(
            shape: "history.shape('public.quake')",
            reader: """
                case when current_setting('in_hot_standby')::boolean and \(reader?.store)::uuid = store and \(reader?.token) > token then 'behind'
                     else history.check(\(reader?.store)::uuid, \(reader?.token), \(reader?.committedAt)::timestamptz, \(reader?.nonce))
                end,
                (select count(set_config(name, value, true)) from (values \(unescaped: shaping)) as setting (name, value))
                """)
    }

    private static let shaping = HistoryText.shaping.map { "('\($0.key)', '\($0.value)')" }.joined(
        separator: ", ")

    private static func query(shape: Query, reader: Query) -> Query {
        """
        select store::text, token, committed_at, nonce, (select pruned_committed_at from history.store),
               (select min(token) from history.citation), \(shape), \(reader)
        from history.position()
        """
    }

    init(_ row: inout Row, for reader: Position? = nil) throws {
        guard let (position, committedAt) = try Position.next(in: &row),
            let beginning = try CommitTime.next(in: &row)
        else { throw PostgresError.noRow(in: "history.store", Self.operation) }
        citedFrom = try row.nextInteger().map(Int.init)
        guard let shape = try row.nextText() else {
            throw PostgresError.noRow(in: "history.store", Self.operation)
        }
        let verdict = try row.nextText()
        self.position = position
        self.committedAt = committedAt.instant
        // Rounded up to the millisecond, because the history is not complete before the exact time.
        self.beginning = CommitTime(microseconds: beginning.microseconds + 999).instant
        self.shape = shape
        isBehind = verdict == "behind"
        freshStart = reader.flatMap { FreshStart(of: $0, verdict, now: position) }
    }

    /// The newest documents of the summary feeds and of the sweeps. Makes one index look-up for each service and feed, so the time
    /// does not depend on the number of documents. There are few services, and the list of feeds is fixed.
    private static func settledDocuments(on connection: Connection) async throws -> [SettledDocument] {
        let feeds = FeedSource.summaryFeeds + [Sweep.feedName]
        return try await connection.query(
            """
            with recursive services as (
                (select service from import.settled order by service limit 1)
                union all
                select (select service from import.settled s where s.service > services.service
                        order by service limit 1)
                from services where services.service is not null)
            select service, known.feed, last.generated, last.seconds
            from services
            cross join unnest(\(feeds)) as known (feed)
            cross join lateral (select max(generated) as generated, min(gap) as seconds
                                from (select generated, extract(epoch from generated - lead(generated)
                                             over (order by generated desc))::bigint as gap
                                      from (select s.generated from import.settled s
                                            where s.service = services.service and s.feed = known.feed
                                            order by s.generated desc limit 4) as documents) as gaps) as last
            where last.generated is not null
            order by service, known.feed
            """, to: "read the settled documents"
        ).map { row in
            SettledDocument(
                service: try row.decode("service"), feed: try row.decode("feed"),
                generated: try row.decode("generated"),
                interval: try row.decodeIfPresent("seconds", as: Int.self).map { .seconds($0) })
        }
    }
}

/// A settled document of a summary feed, or of a service's sweeps: its events were imported, and events that it should have but
/// lacks were deleted.
public struct SettledDocument: Sendable, Equatable {
    /// The host of the event service, as named by the document.
    public let service: String
    /// The feed's name, such as `all_day`; `sweep` for the sweeps.
    public let feed: String
    public let generated: Instant
    /// The shortest time between two consecutive documents among the feed's last four; nil while there is only one document.
    public var interval: Duration?
}
