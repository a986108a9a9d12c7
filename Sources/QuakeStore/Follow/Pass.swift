import Logging
import PostgreSQL
import Synchronization

/// One snapshot of the database, handed to a view: what changed since the view's position, or everything.
///
/// It is read by one statement, so that states which never stood together are never mixed, and many followers cost the server
/// little; the functions in it are STABLE, and see what the statement sees
/// (https://www.postgresql.org/docs/current/xfunc-volatility.html). It streams: a view that holds on to nothing needs
/// constant memory. Only valid inside `View.apply`, which reads it once.
public struct Pass: Sendable {
    /// nil when the view goes on from where it stands; else it drops what it holds.
    public let freshStart: FreshStart?
    /// The table's columns.
    public var columns: [ViewColumn] { table.columns }

    let table: TableShape
    /// Where the view stands.
    let reader: Position?
    let connection: Connection
    let logger: Logger

    /// The snapshot is another one than was expected: nothing was handed over.
    struct Mismatch: Error {
        let snapshot: SnapshotState
    }

    /// Hands over each changed row once, as this snapshot has it, or as gone; of a fresh start all rows. In no order.
    ///
    /// - Returns: where a view stands once it has applied them.
    public func forEachRow(_ body: @Sendable (inout ViewRow) throws -> Void) async throws -> Position {
        try await read(rows, columns: 2 + table.columns.count) { copied in
            var row = try ViewRow(copied)
            try body(&row)
        }
    }

    private var rows: String {
        guard freshStart == nil else { return "code, true, \(table.expressions) from public.quake" }
        // The last change of a key is all a view needs, so this is cheaper than history.changes, which tells each.
        // Row by row through the primary key, whatever the planner believes: statistics may be older than the last load.
        return """
            changed.key, quake.code is not null, \(table.expressions)
            from history.changed_keys(\(after), 'quake') as changed (key)
            left join lateral (select * from public.quake where quake.code = changed.key offset 0) as quake on true
            """
    }

    /// Hands over each change in the order of tokens, as one line of JSON; of a fresh start each row.
    ///
    /// The columns are those of `history.changes`.
    ///
    /// - Returns: where a view stands once it has applied them.
    public func forEachLine(_ body: @Sendable (UnsafeRawBufferPointer) throws -> Void) async throws
        -> Position
    {
        try await read(lines, columns: 1) { row in
            guard let line = try row.nextBytes() else { throw CopiedRowError() }
            try body(line)
        }
    }

    private var lines: String {
        freshStart == nil
            ? "row_to_json(change)::text from history.changes(\(after), 'quake') as change"
            : "row_to_json(line)::text from (select to_jsonb(quake) as row from public.quake) as line"
    }

    private var after: Int { reader?.token ?? 0 }

    /// Reads first the row that tells of the snapshot, and then what was selected.
    private func read(
        _ selected: String, columns: Int, _ body: @Sendable (inout CopiedRow) throws -> Void
    ) async throws -> Position {
        func nulls(_ count: Int) -> String { repeatElement("null", count: count).joined(separator: ", ") }
        let reached = Mutex<Position?>(nil)
        try await connection.copy(
            rowsOf: """
                select *, \(nulls(columns)) from (\(SnapshotState.query(of: reader, on: connection))) as snapshot
                union all
                select \(nulls(SnapshotState.width)), \(selected)
                """, to: "read the changes"
        ) { row in
            if reached.withLock({ $0 == nil }) {
                let snapshot = try SnapshotState(&row, of: reader)
                guard snapshot.shape == table.signature, freshStart != nil || snapshot.freshStart == nil
                else {
                    throw Mismatch(snapshot: snapshot)
                }
                announce(snapshot)
                reached.withLock { $0 = snapshot.position }
            } else {
                for _ in 0..<SnapshotState.width { _ = try row.nextBytes() }
                try body(&row)
            }
        }
        guard let position = reached.withLock({ $0 }) else { throw CopiedRowError() }
        return position
    }

    private func announce(_ snapshot: SnapshotState) {
        let token = snapshot.position.token
        // What the history says of the view goes before what the table says.
        switch freshStart.map({ snapshot.freshStart ?? $0 }) {
        case nil: logger.debug("applying the changes up to token \(token)")
        case .first?: logger.notice("first start: taking a snapshot at token \(token)")
        case let reason?: logger.notice("\(reason); taking a fresh snapshot at token \(token)")
        }
    }
}
