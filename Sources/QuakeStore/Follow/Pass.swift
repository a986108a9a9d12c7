import Logging
import PostgreSQL
import Synchronization

/// One snapshot of the database, handed to a view: the changes since the view's position, or all rows.
///
/// A pass is only valid inside `ReaderView.apply`, which reads it once. It never mixes states of different moments, because it is
/// one transaction, which locks the table before its snapshot is taken. A prepared pass is a single statement instead, so that
/// many followers cost the server little. The functions in that statement are STABLE, so they see the same snapshot as the
/// statement (https://www.postgresql.org/docs/current/xfunc-volatility.html). Rows are streamed: a view that stores none of them
/// needs constant memory.
public struct Pass: Sendable {
    /// The reason why the view has to start over; nil if it does not have to. If it is set, the view drops everything that it
    /// holds.
    public let freshStart: FreshStart?
    public let table: TableShape

    /// The view's position before the pass; nil on a first start.
    public let position: Position?
    let connection: Connection
    let logger: Logger
    /// How long each statement may take; nil for no limit.
    var limit: Duration?
    /// Whether the query is a prepared statement, which pays off for the many small passes of a follower that listens. Such a
    /// pass fails if the table is rewritten while it starts: before the server takes the snapshot, it locks only the tables that
    /// the statement names, and not the table that `history.changes` reads.
    var isPrepared = false
    /// Whether the pass is read in a transaction that has locked the table already.
    var isHeld = false
    var counter: PassCounter?

    /// The snapshot does not fit the pass: the table's shape has changed, or the view has to start over.
    struct Mismatch: Error {
        let snapshot: CatalogueState
    }

    /// Calls `body` once for each changed row, with the row as it is in this snapshot or with the row's deletion. On a fresh
    /// start, calls it with all rows. The order is undefined.
    ///
    /// - Returns: the position that the view has reached once it has applied all rows.
    public func forEachRow(_ body: @Sendable (inout ViewRow) throws -> Void) async throws -> Position {
        try await read(rows, columns: 2 + table.columns.count) { binary in
            var row = try ViewRow(binary)
            try body(&row)
        }
    }

    private var rows: Query {
        if freshStart != nil { return "code, true, \(unescaped: table.expressions) from only public.quake" }
        return """
            changed.key, quake.code is not null, \(unescaped: table.expressions)
            from history.changed_keys(\(after), 'quake') as changed (key)
            \(unescaped: LookUp.row(of: "changed.key"))
            """
    }

    /// Calls `body` with each change in token order, as one line of JSON. On a fresh start, calls it with each row instead.
    ///
    /// The JSON members are the columns of `history.changes`.
    ///
    /// - Returns: the position that the view has reached once it has applied all lines.
    public func forEachLine(
        _ body: @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> Position {
        try await forEachLine(
            of:
                "row_to_json(line)::text from (select to_jsonb(quake.*) as row from only public.quake) as line",
            body
        ) { after, end in
            "row_to_json(change)::text from history.changes(\(after), 'quake', \(end)) as change"
        }
    }

    /// Calls `body` with the same lines as `forEachLine`, but with the rows' earthquakes: if several rows describe one
    /// earthquake, their lines have a member `earthquake`. If only the earthquake of a row changes, the line is an update of the
    /// row without overwritten values.
    ///
    /// - Parameters:
    ///   - selection: only these events; nil for all. `body` gets an event's changes if the selection includes the event when the
    ///     pass begins or when it ends. Each line then has one more member, `selected`: whether the selection includes the event
    ///     when the pass ends.
    ///   - namesAuthors: whether the changes have their author and their context; if not, both are null.
    public func forEachLineWithEarthquake(
        of selection: QuakeSelection?, namesAuthors: Bool,
        _ body: @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> Position {
        let source = (selection ?? QuakeSelection()).source("only public.quake")
        let rows: Query = """
            \(Self.line("line", of: "line.\"row\" ->> 'code'"))
            from (select to_jsonb(quake.*) as "row" \(source)) as line
            """
        return try await forEachLine(of: rows, isSelected: selection != nil, body) { after, end in
            if let selection, let end {
                return lines(of: selection, after: after, upTo: end, namesAuthors: namesAuthors)
            }
            return """
                \(Self.line("change", of: "change.\"row\" ->> 'code'"))
                from \(Self.changesWithEarthquakes(after: after, upTo: end, namesAuthors: namesAuthors)) as change
                """
        }
    }

    /// - Parameters:
    ///   - rows: the text after SELECT for the lines of all rows.
    ///   - changes: returns the text after SELECT for the lines of the changes after its first argument, up to its second
    ///     argument. Both arguments are tokens. If the second is nil, there is no upper limit.
    private func forEachLine(
        of rows: Query, isSelected: Bool = false, _ body: @Sendable (UnsafeRawBufferPointer) throws -> Void,
        changes: (Int, Int?) -> Query
    ) async throws -> Position {
        @Sendable func take(_ row: inout Row) throws {
            guard let line = try row.nextBytes() else { throw RowError.other }
            try body(line)
        }
        if freshStart != nil { return try await read(rows, columns: 1, take) }
        if isPrepared, !isSelected { return try await read(changes(after, nil), columns: 1, take) }
        return try await holding { try await readByStretches(take, changes) }
    }

    private func holding<Result>(_ body: () async throws -> Result) async throws -> Result {
        if isHeld { return try await body() }
        var settings = limit.map(CatalogueState.settings) ?? [:]
        if freshStart == nil { settings.merge(CatalogueState.lookUps) { $1 } }
        return try await connection.holdingCatalogue(with: settings, to: "read the changes", body)
    }

    /// A stretch ends with the transaction that reaches this number of changes. The changes of a stretch are sorted together.
    private static let stretch = 20_000

    /// Reads the changes in stretches, so that the first line arrives soon, and neither the server nor this process holds more
    /// than one stretch. In each stretch, the last change of each key includes the row as it is in the snapshot.
    ///
    /// - Parameter lines: returns the text after SELECT for the lines of the changes after one token and up to another.
    private func readByStretches(
        _ take: @Sendable (inout Row) throws -> Void, _ lines: (Int, Int?) -> Query
    ) async throws -> Position {
        let snapshot = try await CatalogueState.read(for: position, on: connection)
        try expect(snapshot)
        announce(snapshot)
        var reached = after
        while reached < snapshot.position.token {
            let end: Int = try await connection.query(
                """
                select coalesce(max(token), \(snapshot.position.token)) as token
                from (select token, sum(changes) over (order by token) - changes as before
                      from (select token, changes from history.transaction
                            where token > \(reached) order by token limit \(Self.stretch)) as next) as stretch
                where before < \(Self.stretch)
                """, to: "find the end of a stretch")[0].decode("token")
            try await connection.copy(rowsOf: "select \(lines(reached, end))", to: "read the changes") {
                row in
                try take(&row)
                counter?.countRow()
            }
            reached = end
        }
        return snapshot.position
    }

    /// Calls `body` with each change in token order, with the values that selections depend on. A fresh start is not supported.
    ///
    /// - Parameter namesAuthors: whether the changes have their author and their context; if not, both are null.
    /// - Returns: the position that the view has reached once it has applied all changes.
    public func forEachChange(
        namesAuthors: Bool, _ body: @Sendable (PassChange) throws -> Void
    ) async throws -> Position {
        let query = PassChange.query(after: after, namesAuthors: namesAuthors)
        return try await read(query, columns: PassChange.width) { try body(PassChange(&$0)) }
    }

    /// Reads only the position, for a view that needs no rows.
    public func skip() async throws -> Position {
        let snapshot = try await CatalogueState.read(for: position, on: connection)
        try expect(snapshot)
        return snapshot.position
    }

    /// Like `skip`, but also logs the pass, because the view then reads the rows itself. The view must have begun a REPEATABLE
    /// READ transaction that locks the table.
    func begin() async throws -> Position {
        let snapshot = try await CatalogueState.read(for: position, on: connection)
        try expect(snapshot)
        announce(snapshot)
        return snapshot.position
    }

    private func expect(_ snapshot: CatalogueState) throws {
        guard snapshot.shape == table.signature, freshStart != nil || snapshot.freshStart == nil else {
            throw Mismatch(snapshot: snapshot)
        }
    }

    var after: Int { position?.token ?? 0 }

    /// Reads the snapshot's state, and then the selected rows.
    private func read(
        _ selected: Query, columns: Int, _ body: @Sendable (inout Row) throws -> Void
    ) async throws -> Position {
        let query = Query.row(
            CatalogueState.query(for: position), width: CatalogueState.width, before: selected,
            columns: columns)
        let reached = Mutex<Position?>(nil)
        @Sendable func take(_ row: inout Row) throws {
            if reached.withLock({ $0 == nil }) {
                let snapshot = try CatalogueState(&row, for: position)
                try expect(snapshot)
                announce(snapshot)
                reached.withLock { $0 = snapshot.position }
            } else {
                try row.skip(CatalogueState.width)
                try body(&row)
                counter?.countRow()
            }
        }
        let operation = "read the changes"
        if isPrepared {
            try await connection.forEachRow(preparing: query, to: operation, take)
        } else {
            try await holding { try await connection.copy(rowsOf: query, to: operation, take) }
        }
        guard let position = reached.withLock({ $0 }) else { throw RowError.other }
        return position
    }

    func counter(telling observer: @escaping @Sendable (PassProgress) -> Void) async throws -> PassCounter {
        let isSnapshot = freshStart != nil
        let expected =
            isSnapshot
            ? try await CatalogueStatus.count(on: connection).count
            : try await connection.query(
                "select count(*) as count from history.changed_keys(\(after), 'quake')",
                to: "count the changes")[0]
                .decode("count")
        return PassCounter(isSnapshot: isSnapshot, expected: expected, observer: observer)
    }

    private func announce(_ snapshot: CatalogueState) {
        let token = snapshot.position.token
        switch freshStart {
        case nil: logger.debug("applying the changes up to token \(token)")
        case .first?: logger.notice("first start: taking a snapshot at token \(token)")
        case let reason?: logger.notice("\(reason); taking a fresh snapshot at token \(token)")
        }
    }
}
