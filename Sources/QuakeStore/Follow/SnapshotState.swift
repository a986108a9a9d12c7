import PostgreSQL

/// What one snapshot says about a reader.
struct SnapshotState: Sendable {
    let position: Position
    /// The table's `TableShape.signature` when the snapshot was taken.
    let shape: String
    /// nil when the history after the reader's position is complete, or the reader holds nothing.
    let freshStart: FreshStart?
    /// Whether this is a hot standby that has not come as far as the reader: it may still, or it never will because those
    /// transactions were lost.
    let isBehind: Bool

    /// The number of columns in its one row. They are null in the rows of a pass.
    static let width = 7

    /// - Parameter reader: the reader's position; nil when it holds nothing.
    static func query(of reader: Position?) -> Query {
        """
        select store::text, token, committed_at, nonce,
               case when current_setting('in_hot_standby')::boolean and \(reader?.store)::uuid = store and \(reader?.token) > token then 'behind'
                    else history.check(\(reader?.store)::uuid, \(reader?.token), \(reader?.committedAt)::timestamptz, \(reader?.nonce))
               end as verdict,
               history.shape('public.quake') as shape,
               -- Makes the text of values the same in every session, as in history.changes.
               (select count(set_config(name, value, true))
                from (values \(unescaped: shaping)) as setting (name, value)) as settings
        from history.position()
        """
    }

    private static let shaping = HistoryText.shaping.map { "('\($0.key)', '\($0.value)')" }.joined(
        separator: ", ")

    static func read(of reader: Position?, on connection: Connection) async throws -> SnapshotState {
        var row = try await connection.query(query(of: reader), to: operation)[0]
        return try SnapshotState(&row, of: reader)
    }

    private static let operation = "read the history's position"

    /// Reads the row.
    ///
    /// - Throws: `PostgresError` when `history.store` holds no row.
    init(_ row: inout Row, of reader: Position?) throws {
        guard let position = try Position.next(in: &row)?.position, let verdict = try row.nextText(),
            let shape = try row.nextText()
        else { throw PostgresError.noStore(Self.operation) }
        self.position = position
        self.shape = shape
        isBehind = verdict == "behind"
        freshStart = reader.flatMap { Self.freshStart(of: $0, verdict, now: position) }
    }

    private static func freshStart(of reader: Position, _ verdict: String, now: Position) -> FreshStart? {
        switch verdict {
        case "ok": nil
        case "expired": .pruned(after: reader.token)
        default:
            if reader.store != now.store {
                .otherStore
            } else if reader.token > now.token {
                .future(reader.token, newest: now.token)
            } else {
                .otherTransaction(reader.token)
            }
        }
    }
}
