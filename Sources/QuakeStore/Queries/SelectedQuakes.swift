import Feed
import PostgreSQL
import Synchronization

extension QuakeSelection {
    /// Runs `body` with the selected earthquakes in one snapshot, so that counting and reading give the same earthquakes.
    ///
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`; any error of `body`.
    public func read<Result>(
        on connection: Connection, _ body: (SelectedQuakes) async throws -> Result
    ) async throws -> Result {
        try await connection.holdingCatalogue(with: ["jit": "off"], to: "read earthquakes") {
            try await body(try await selected(on: connection))
        }
    }

    /// The selected earthquakes in the open transaction, which has to be REPEATABLE READ.
    ///
    /// - Parameter newest: the snapshot's newest token, if it is known.
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`.
    public func selected(on connection: Connection, newest: Int? = nil) async throws -> SelectedQuakes {
        let newest = if let newest { newest } else { try await PastMoment.newestToken(on: connection) }
        let token = try await asOf?.token(on: connection) ?? newest
        if token != newest || deleted != .excluded {
            try await connection.execute(script: HistoryText.settings, to: "read the past")
        }
        var selected = SelectedQuakes(
            token: token, isPast: token != newest, connection: connection, selection: self)
        // When merging, an earthquake is selected by the code of any of its rows.
        if isMerged {
            if let codes = values[.code] {
                selected.selection.values[.code] = try await selected.members(of: codes)
            }
            selected.solutions = try await selected.findSolutions()
        }
        return selected
    }

    /// The codes to which the selection is limited, as an array in SQL; nil if it is not limited to codes.
    var codes: Query? { values[.code].map { "\($0)" } }

    /// Calls `told` with the catalogue's state, and then `body` with the columns of each earthquake, in the order of `properties`
    /// and in the table's own types. State and earthquakes are the result of one prepared statement, which the server parses only
    /// once per session. The statement reads only the present table, and ignores the offset.
    ///
    /// - Parameters:
    ///   - most: the greatest number of earthquakes.
    ///   - connection: a connection with its own session.
    /// - Throws: `PostgresError`; with SQLSTATE `40001` if the table was rewritten after the statement's snapshot was taken,
    ///   because that snapshot sees the table as empty.
    public func readAtOnce(
        _ properties: [Property], most: Int, on connection: isolated Connection,
        _ told: @Sendable (CatalogueState) -> Void, _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        let isTold = Atomic(false)
        // The state is read without the settled documents.
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

/// The earthquakes of a selection in one snapshot. Use them only within the snapshot's transaction.
public struct SelectedQuakes {
    /// The token of the catalogue's state: the newest token in the snapshot, or the token of `asOf`.
    public let token: Int
    let isPast: Bool
    let connection: Connection
    fileprivate(set) var selection: QuakeSelection
    /// If the selection is merged, the result of `findSolutions`.
    fileprivate(set) var solutions: [String]?

    /// A statement that applies the selection to the catalogue's rows. `query` receives a selection and the source of the rows, for
    /// a FROM clause, and returns the statement.
    ///
    /// - Parameter withGroups: whether the rows also have the columns of `EarthquakeGroup`.
    private func statement(
        withGroups: Bool = false, _ query: (QuakeSelection, Query) -> Query
    ) async throws -> Query {
        let codes = selection.codes
        if selection.isMerged || withGroups {
            var (selection, solutions) = (selection, solutions)
            if !selection.isMerged, isPast, let page = try await page() {
                solutions = try await members(of: page)
                selection.values[.code] = page
                (selection.limit, selection.offset) = (nil, 0)
            }
            let tables = try await groupTables(of: solutions)
            let source = grouped(tables, hasMembers: withGroups || selection.namesNetworks)
            return "\(tables.with)\(query(selection, source))"
        }
        let rows: Query =
            switch selection.deleted {
            case .excluded: table(of: codes)
            case .included:
                "(select \(unescaped: Self.columns) from \(table(of: codes)) as quake union all \(tombstones(of: codes)))"
            case .only: tombstones(of: codes)
            }
        return query(selection, rows)
    }

    /// Counts the selected earthquakes, at most `bound` of them.
    public func count(upTo bound: Int? = nil) async throws -> Int {
        let counting = try await statement { $0.countQuery(from: $1, upTo: bound) }
        return try await connection.query(counting, to: "count the earthquakes")[0].decode("count")
    }

    public func forEachQuake(_ body: @Sendable (Quake) throws -> Void) async throws {
        try await connection.forEachRow(
            of: try await statement { $0.query(from: $1) }, to: "read earthquakes"
        ) { try body(Quake(&$0)) }
    }

    /// Calls `body` with each row and the earthquake that it describes.
    public func forEachGrouped(_ body: @Sendable (Quake, EarthquakeGroup) throws -> Void) async throws {
        let columns = "\(Property.allCases.list()), \(EarthquakeGroup.columns)"
        try await connection.forEachRow(
            of: try await statement(withGroups: true) { $0.query(columns, from: $1) },
            to: "read earthquakes"
        ) { row in
            let quake = try Quake(&row)
            try body(quake, try EarthquakeGroup(&row))
        }
    }

    /// Calls `body` with the columns of each earthquake as it arrives, in the order of `properties` and in the table's own types.
    ///
    /// - Parameter withGroups: whether the columns of `EarthquakeGroup` follow.
    public func forEachRow(
        of properties: [Property], withGroups: Bool = false, _ body: @Sendable (inout Row) throws -> Void
    ) async throws {
        let columns = properties.list() + (withGroups ? ", \(EarthquakeGroup.columns)" : "")
        try await connection.copy(
            rowsOf: try await statement(withGroups: withGroups) { $0.query(columns, from: $1) },
            to: "read earthquakes", body)
    }

    /// The current code of a renamed event. Sources give an event the code of another network when they prefer that network's
    /// origin. The history records the new code as the reason of the old code's deletion. A code may change several times. In a
    /// merged selection, the deletion of an earthquake that had the event's code may also lead to the new code. `import.successor`
    /// finds the present code; this function finds the code of any moment.
    ///
    /// - Returns: the first of the event's later codes that is in the table; nil if the event was not renamed, if the table has
    ///   none of its later codes, or if the table has an event with the old code (another event, or the same event after it was
    ///   renamed back).
    public func newCode(of code: String) async throws -> String? {
        // Ten steps are enough for any event. The limit ends the search if two codes lead to each other.
        let codes = try await connection.query(
            """
            with recursive renamed (code, steps) as (
                select \(code)::text, 0
                union all
                select substr(last.reason, length('superseded by ') + 1), steps + 1
                from renamed cross join lateral (
                    select entity, last.reason
                    from unnest(\(selection.isMerged ? ["quake", "earthquake"] : ["quake"])) as one (entity)
                    cross join lateral (
                        select reason, token, ordinal from history.of_key(entity, renamed.code)
                        where operation = 'delete' and token <= \(token)
                        order by token desc, ordinal desc limit 1) as last
                    where last.reason like 'superseded by %'
                      -- The event may have left that earthquake since then.
                      and (entity = 'quake' or not exists (
                          select from history.of_key('earthquake_member', renamed.code) as left_it
                          where left_it.operation = 'delete' and left_it.reason = 'split' and left_it.token <= \(token)
                            and (left_it.token, left_it.ordinal) > (last.token, last.ordinal)))
                    order by entity desc limit 1) as last
                where steps < 10
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

    /// Whether an event with this code was deleted and is not in the table.
    public func isDeleted(_ code: String) async throws -> Bool {
        try await connection.query(
            "select exists (select from \(tombstones(of: "array[\(code)]")) as deleted) as is_deleted",
            to: "look for a deleted earthquake")[0].decode("is_deleted")
    }
}
