import Feed
import PostgreSQL

/// What changed between two moments of the history. It never changes, even if the table does: rows are as of its end.
public struct HistoryStretch: Sendable {
    public let after: End
    public let until: End
    /// Only these events; nil for all.
    public let selection: QuakeSelection?

    /// One of its ends.
    public enum End: Sendable {
        case position(Position)
        /// A position of which only this is known. Whether the database was restored since is not noticed.
        case token(Int)

        public var token: Int {
            switch self {
            case .position(let position): position.token
            case .token(let token): token
            }
        }

        fileprivate func position(on connection: Connection) async throws -> Position {
            switch self {
            case .position(let position): position
            case .token(let token): try await .known(by: token, on: connection)
            }
        }
    }

    public init(after: End, until: End, selection: QuakeSelection?) {
        (self.after, self.until, self.selection) = (after, until, selection)
    }

    /// Whether both ends say to which store they belong, so that they can never mean another stretch.
    public var namesPositions: Bool {
        if case .position = after, case .position = until { true } else { false }
    }

    /// Hands over each change in token order, as `Pass.forEachLine` does for a pass from the first end to the second. Call it
    /// in a transaction that is REPEATABLE READ.
    ///
    /// - Returns: the position of the second end.
    /// - Throws: `StretchError` if an end no longer holds, or lies in the future; `PostgresError`; what `body` throws.
    public func forEachLine(
        on connection: Connection, _ body: @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> Position {
        let last = try await until.position(on: connection)
        for position in [try await after.position(on: connection), last] {
            // It makes the text of values the same in every session, too.
            if let reason = try await SnapshotState.read(of: position, on: connection).freshStart {
                throw StretchError(reason: reason)
            }
        }
        try await connection.execute(
            script: Self.byIndex.map { "set local \($0.key) = \($0.value)" }.joined(separator: "; "),
            to: "read a stretch of the history")
        let lines: Query = "select \(Self.lines(of: selection, after: after.token, until: last.token))"
        try await connection.copy(rowsOf: lines, to: "read a stretch of the history") { row in
            guard let line = try row.nextBytes() else { throw RowError.other }
            try body(line)
        }
        return last
    }
}

/// A stretch of the history that does not exist.
public struct StretchError: Error, CustomStringConvertible {
    let reason: FreshStart

    /// Whether there may be such a stretch later.
    public var isFuture: Bool { if case .future = reason { true } else { false } }
    public var description: String { "\(reason)" }
}

// The lines of changes, as a query that follows a SELECT.
extension HistoryStretch {
    /// The settings of the transaction that reads them: rows are looked up by index, as in the functions of the history,
    /// because the planner's statistics may be older than the last load.
    static let byIndex: KeyValuePairs = ["jit": "off", "enable_seqscan": "off"]

    /// Each change after a token, up to another one if there is one, of the events that are selected at either end.
    ///
    /// Wide values are looked up line by line, at the end. Until then, tokens and keys are enough: sorting whole rows would
    /// take gigabytes of temporary files. Everything is looked up by index.
    static func lines(of selection: QuakeSelection?, after: Int, until: Int = .max) -> Query {
        let decided: Query = selection.map { decisions($0, after: after, until: until) } ?? ""
        let (selected, condition) = selection == nil ? ("", "") : (", change.selected", "where ever")
        let marks =
            selection == nil
            ? ""
            : ", bool_or(at_end) over of_key as selected, bool_or(at_end or at_start) over of_key as ever"
        return """
            row_to_json(line)::text from (
                select change.token, t.committed_at, t.author, t.context, change.ordinal, change.key, change.operation,
                       c.reason, c.before,
                       case when change.later is not null then coalesce(to_jsonb(quake), '{}') || change.later
                            else to_jsonb(quake) end as "row"\(unescaped: selected)
                from (
                    select * from (
                        select change.*, later.state as later\(unescaped: marks)
                        from (
                            select t.token, t.id as transaction, c.ordinal, c.key, c.operation,
                                   lead(c.ordinal) over in_order is null as is_last,
                                   first_value(c.operation) over in_order as first_operation
                            from (select token, id from history.transaction
                                  where token > \(after) and token <= \(until) offset 0) as t
                            cross join lateral (
                                select ordinal, key, operation from history.change c
                                where c.transaction = t.id and c.entity = 'quake' offset 0
                            ) as c
                            window in_order as (partition by c.key order by t.token, c.ordinal)
                        ) as change
                        \(overwritten("later", after: until, until: Int.max, nil,
                            where: "change.is_last and change.operation <> 'delete' and \(until) < (select history.current_token())"))
                        \(decided)
                        window of_key as (partition by change.key)
                    ) as change
                    \(unescaped: condition)
                    order by token, ordinal
                ) as change
                cross join lateral (
                    select committed_at, author, context from history.transaction where id = change.transaction offset 0
                ) as t
                cross join lateral (
                    select reason, before from history.change c
                    where c.transaction = change.transaction and c.ordinal = change.ordinal offset 0
                ) as c
                left join lateral (
                    select * from only public.quake
                    where change.is_last and change.operation <> 'delete' and quake.code = change.key offset 0
                ) as quake on true
                order by change.token, change.ordinal
            ) as line
            """
    }

    /// What was overwritten of an event between two tokens, the earliest value of each column.
    private static func overwritten(
        _ name: String, after: Int, until: Int, _ columns: [String]?, where condition: Query
    ) -> Query {
        let wanted: Query =
            columns.map { "and member.name = any(string_to_array(\($0.joined(separator: ",")), ','))" } ?? ""
        return """
            left join lateral (
                select jsonb_object_agg(member.name, member.value order by c.token desc, c.ordinal desc) as state
                from (
                    select t.token, c.ordinal, c.before
                    from (select transaction, ordinal, before from history.change c
                          where c.key = change.key and c.operation <> 'insert' and c.entity = 'quake' offset 0) as c
                    cross join lateral (
                        select token from history.transaction t
                        where t.id = c.transaction and t.token > \(after) and t.token <= \(until) offset 0
                    ) as t
                    offset 0
                ) as c
                cross join lateral jsonb_each(c.before) as member (name, value)
                where \(condition) \(wanted)
            ) as \(unescaped: name) on true
            """
    }

    /// Whether the event of each last change is selected at the end, and whether it was at the start.
    ///
    /// An event at a token is its row as it is, with what was overwritten since put back. Only the columns that the selection
    /// looks at are, and most changes touch none of them.
    private static func decisions(_ selection: QuakeSelection, after: Int, until: Int) -> Query {
        let properties = Property.allCases.filter(selection.properties.contains)
        func isSelected(_ state: Query) -> Query {
            "exists (select \(selection.source("(select * from jsonb_to_record(\(state)) as state (\(unescaped: properties.declarations)))")))"
        }
        let row: Query = "(select to_jsonb(quake) from only public.quake where quake.code = change.key)"
        return """
            \(overwritten("earlier", after: after, until: until, properties.map(\.column),
                where: "change.is_last and change.first_operation <> 'insert'"))
            left join lateral (
                select case
                    when change.operation = 'delete' then false
                    when later.state is null then
                        exists (select \(selection.source("(select * from only public.quake where quake.code = change.key offset 0)")))
                    else \(isSelected("coalesce(\(row), '{}') || later.state"))
                end as at_end
            ) as at_end on change.is_last
            left join lateral (
                select case
                    when change.first_operation = 'insert' then false
                    when earlier.state is null then at_end
                    else \(isSelected("coalesce(\(row), '{}') || coalesce(later.state, '{}') || earlier.state"))
                end as at_start
            ) as at_start on change.is_last
            """
    }
}
