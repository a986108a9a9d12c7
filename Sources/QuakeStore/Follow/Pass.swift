import PostgreSQL

/// One snapshot of the database, handed to a view: what changed since the view's position, or everything.
///
/// Everything in it is read as of that snapshot, so that states which never stood together are never mixed. It
/// streams: a view that holds on to nothing needs constant memory. Only valid inside `View.apply`.
public struct Pass: Sendable {
    /// nil when the view goes on from where it stands; else it drops what it holds.
    public let freshStart: FreshStart?
    /// Where the view stands once it has applied the pass.
    public let position: Position
    /// The table's columns.
    public var columns: [ViewColumn] { table.columns }

    let table: TableShape
    /// The token after which the changes are read.
    let after: Int
    let connection: Connection

    /// Hands over each changed row once, as this snapshot has it, or as gone; of a fresh start all rows. In no order.
    nonisolated(nonsending)
        public func forEachRow(_ body: @Sendable (inout ViewRow) throws -> Void) async throws
    {
        try await connection.copy(rowsOf: rows, to: "read the changed rows") { copied in
            var row = try ViewRow(copied)
            try body(&row)
        }
    }

    private var rows: String {
        guard freshStart == nil else { return "select code, true, \(table.expressions) from public.quake" }
        // The last change of a key is all a view needs, so this is cheaper than history.changes, which tells each.
        return """
            select changed.key, quake.code is not null, \(table.expressions)
            from (select distinct change.key
                  from history.transaction join history.change on change.transaction = transaction.id
                  where transaction.token > \(after) and change.entity = 'quake') as changed
            left join public.quake on quake.code = changed.key
            """
    }

    /// Hands over each change in the order of tokens, as one line of JSON; of a fresh start each row.
    ///
    /// The columns are those of `history.changes`.
    nonisolated(nonsending)
        public func forEachLine(_ body: @Sendable (UnsafeRawBufferPointer) throws -> Void) async throws
    {
        try await connection.copy(rowsOf: lines, to: "read the changes") { row in
            guard let line = try row.nextBytes() else { throw CopiedRowError() }
            try body(line)
        }
    }

    private var lines: String {
        freshStart == nil
            ? "select row_to_json(change)::text from history.changes(\(after), 'quake') as change"
            : "select row_to_json(line)::text from (select to_jsonb(quake) as row from public.quake) as line"
    }
}

/// What follows the table: a local copy, or a stream.
public protocol View: Sendable {
    /// Where it stands; nil when it holds nothing yet. Asked for at each connection.
    func position() async throws -> Position?

    /// Whether it can take rows of these columns without a fresh start.
    func accepts(_ columns: [ViewColumn]) -> Bool

    /// Takes over a pass and its position, both or neither. Runs where its caller does, which is where the connection
    /// works: a pass goes from one to the other without a change of threads.
    nonisolated(nonsending) func apply(_ pass: Pass) async throws
}
