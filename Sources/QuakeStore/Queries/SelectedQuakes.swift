import Feed
import PostgreSQL
import Synchronization

extension QuakeSelection {
    /// Runs `body` with what is selected, in one snapshot: what it counts is what it reads.
    ///
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`; what `body` throws.
    public func read<Result>(
        on connection: Connection, _ body: (SelectedQuakes) async throws -> Result
    ) async throws -> Result {
        try await connection.holdingCatalogue(with: ["jit": "off"], to: "read earthquakes") {
            try await body(try await selected(on: connection))
        }
    }

    /// The same in the open transaction, which has to be REPEATABLE READ.
    ///
    /// - Parameter newest: the snapshot's newest token, if it is known.
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`.
    public func selected(on connection: Connection, newest: Int? = nil) async throws -> SelectedQuakes {
        let newest = if let newest { newest } else { try await PastMoment.newestToken(on: connection) }
        let token = try await asOf?.token(on: connection) ?? newest
        if token != newest || deleted != .excluded {
            try await connection.execute(script: HistoryText.settings, to: "read the past")
        }
        return SelectedQuakes(token: token, isPast: token != newest, connection: connection, selection: self)
    }

    /// The codes of the only events that are wanted, as an array in SQL; nil if they are not named.
    fileprivate var codes: Query? {
        if let code { return "array[\(code)]" }
        return values[.code].map { Property.array(of: $0) }
    }

    /// Hands over the catalogue's state, and then the columns of each earthquake, in the order of `properties` and in the table's
    /// own types: all of one statement, which the server need not parse again. It is for the present, from the first earthquake
    /// on.
    ///
    /// - Parameters:
    ///   - most: how many there are at most.
    ///   - connection: with its own session.
    /// - Throws: `PostgresError`; with `40001` if the table was rewritten after the statement's snapshot was taken, to which it is
    ///   empty.
    public func readAtOnce(
        _ properties: [Property], most: Int, on connection: isolated Connection,
        _ told: @Sendable (CatalogueState) -> Void, _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        let isTold = Atomic(false)
        // Nothing is read of settled documents.
        try connection.forEachRow(
            preparing: .row(
                CatalogueState.queryOfWhole, width: CatalogueState.width,
                before: "few.* from (\(shortQuery(properties.list(), most: most))) as few",
                columns: properties.count), to: CatalogueState.operation
        ) { row in
            if isTold.exchange(true, ordering: .relaxed) {
                try row.skip(CatalogueState.width)
                try body(&row)
            } else {
                told(try CatalogueState(&row))
            }
        }
    }
}

/// The earthquakes of a selection, as one snapshot has them. Valid only within that transaction.
public struct SelectedQuakes {
    /// The state of the catalogue: the newest token of the snapshot, or that of `asOf`.
    public let token: Int
    let isPast: Bool
    fileprivate let connection: Connection
    fileprivate let selection: QuakeSelection

    private var source: Query {
        let codes = selection.codes
        return switch selection.deleted {
        case .excluded: table(of: codes)
        case .included:
            "(select \(unescaped: Self.columns) from \(table(of: codes)) as quake union all \(tombstones(of: codes)))"
        case .only: tombstones(of: codes)
        }
    }

    /// No more than `bound` are counted.
    public func count(upTo bound: Int? = nil) async throws -> Int {
        try await connection.query(
            selection.countQuery(from: source, upTo: bound), to: "count the earthquakes")[0].decode("count")
    }

    public func forEachQuake(_ body: @Sendable (Quake) throws -> Void) async throws {
        try await connection.forEachRow(of: selection.query(from: source), to: "read earthquakes") {
            try body(Quake(&$0))
        }
    }

    /// Hands over the columns of each earthquake as it arrives, in the order of `properties` and in the table's own types.
    public func forEachRow(
        of properties: [Property], _ body: @Sendable (inout Row) throws -> Void
    ) async throws {
        try await connection.copy(
            rowsOf: selection.query(properties.list(), from: source), to: "read earthquakes", body)
    }

    /// The current code of a renamed event: sources give an event the code of another network when they prefer its origin. The
    /// reasons of deletions in the history say so, and a code may change several times.
    ///
    /// - Returns: a code in the table; nil if the event was not renamed, if it is not there under its last code either, or if
    ///   there is an event with its old code: another one, or the same one, which was renamed back.
    public func newCode(of code: String) async throws -> String? {
        // Ten steps are enough for any event, and end where two codes name each other.
        let codes = try await connection.query(
            """
            with recursive renamed (code, steps) as (
                select \(code)::text, 0
                union all
                select substr(last.reason, length('superseded by ') + 1), steps + 1
                from renamed cross join lateral (
                    select reason from history.of_key('quake', renamed.code)
                    where operation = 'delete' and token <= \(token)
                    order by token desc, ordinal desc limit 1) as last
                where steps < 10 and last.reason like 'superseded by %'
            )
            select array_agg(code order by steps) as codes from renamed having count(*) > 1
            """, to: "look for the event under another code"
        ).first?.decode("codes", as: [String].self)
        guard let codes else { return nil }
        let found = try await connection.query(
            """
            select renamed.code, renamed.steps from unnest(\(codes)) with ordinality as renamed (code, steps)
            join \(table(of: "\(codes)")) as quake on quake.code = renamed.code
            order by steps limit 1
            """, to: "look for the event under another code"
        ).first
        guard let found, try found.decode("steps") > 1 else { return nil }
        return try found.decode("code")
    }

    /// Whether there was an event with this code, which is no longer there.
    public func isDeleted(_ code: String) async throws -> Bool {
        try await connection.query(
            "select exists (select from \(tombstones(of: "array[\(code)]")) as deleted) as is_deleted",
            to: "look for a deleted earthquake")[0].decode("is_deleted")
    }
}
