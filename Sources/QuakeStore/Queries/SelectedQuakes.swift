import Feed
import PostgreSQL

extension QuakeSelection {
    /// Runs `body` with what is selected, in one snapshot: what it counts is what it reads.
    ///
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`; what `body` throws.
    public func read<Result>(
        on connection: Connection, _ body: (SelectedQuakes) async throws -> Result
    ) async throws -> Result {
        // Compiling a plan would take longer than most answers do.
        try await connection.holdingCatalogue(with: ["jit": "off"], to: "read earthquakes") {
            try await body(try await selected(on: connection))
        }
    }

    /// What is selected in the snapshot of the open transaction, which has to be REPEATABLE READ.
    ///
    /// - Parameter newest: the snapshot's newest token, if it is known.
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`.
    public func selected(on connection: Connection, newest: Int? = nil) async throws -> SelectedQuakes {
        let newest = if let newest { newest } else { try await Self.newestToken(on: connection) }
        let token = try await asOf?.token(on: connection) ?? newest
        let table: Query = token == newest ? "only public.quake" : Self.table(after: token)
        let source: Query =
            switch deleted {
            case .excluded: table
            case .included:
                "(select * from \(table) as quake union all \(Self.tombstones(upTo: token, beside: table)))"
            case .only: Self.tombstones(upTo: token, beside: table)
            }
        return SelectedQuakes(
            token: token, connection: connection, selection: self, table: table, source: source)
    }

    private static func newestToken(on connection: Connection) async throws -> Int {
        try await connection.query(
            "select history.current_token() as newest", to: "read the newest token")[0].decode("newest")
    }
}

/// The earthquakes of a selection, as one snapshot has them. Valid only within that transaction.
public struct SelectedQuakes {
    /// The state of the catalogue: the newest token of the snapshot, or that of `asOf`.
    public let token: Int
    fileprivate let connection: Connection
    fileprivate let selection: QuakeSelection
    /// The table at that moment.
    fileprivate let table: Query
    /// What is selected from.
    fileprivate let source: Query

    /// How many there are. No more than `bound` are counted.
    public func count(upTo bound: Int? = nil) async throws -> Int {
        try await connection.query(
            selection.countQuery(from: source, upTo: bound), to: "count the earthquakes")[0].decode("count")
    }

    /// Hands over each earthquake as it arrives.
    public func forEachQuake(_ body: @Sendable (Quake) throws -> Void) async throws {
        try await connection.forEachRow(of: selection.query(from: source), to: "read earthquakes") {
            try body(Quake($0.value))
        }
    }

    /// Hands over the columns of each earthquake as it arrives, in the order of `properties` and in the table's own types.
    public func forEachRow(
        of properties: [Property], _ body: @Sendable (inout BinaryRow) throws -> Void
    ) async throws {
        let columns = properties.map(\.column).joined(separator: ", ")
        let statement = try await connection.text(of: selection.query(columns, from: source))
        try await connection.copy(rowsOf: statement, to: "read earthquakes", body)
    }

    /// The code that an event goes on under, if it was renamed and there is none with its old code.
    public func newCode(of code: String) async throws -> String? {
        try await RenamedEvent.code(of: code, upTo: token, in: table, on: connection)
    }

    /// Whether there was an event with this code, which is no longer there.
    public func isDeleted(_ code: String) async throws -> Bool {
        let deletions = QuakeSelection.tombstones(upTo: token, beside: table)
        return try await connection.query(
            "select exists (select from \(deletions) as deleted where code = \(code)) as is_deleted",
            to: "look for a deleted earthquake")[0].decode("is_deleted")
    }
}
