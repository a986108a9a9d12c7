import Feed
import PostgreSQL

extension SelectedQuakes {
    static let columns = Property.allCases.list()
    private static let declarations = Property.allCases.declarations

    /// The table as it was at `token`. For the past, every later change of the present rows is undone. Only columns that Quakes
    /// defines are included, because the types of other columns may have changed.
    ///
    /// - Parameter codes: only these events are read, as an array in SQL; nil for all.
    func table(of codes: Query?) -> Query { table("quake", Self.columns, Self.declarations, of: codes) }

    /// Any tracked table of the schema `public` that has the key `code`, as it was at `token`.
    func table(_ name: String, _ columns: String, _ declarations: String, of codes: Query? = nil) -> Query {
        guard isPast else { return "only public.\(unescaped: name)" }
        let changes =
            codes.map { Self.changes(of: $0, in: name, after: token) }
            ?? "history.since(\(token), '\(unescaped: name)')"
        let isWanted = codes.map { "present.code = any(\($0))" as Query } ?? "true"
        return """
            (with undone as (\(HistoryText.undone(of: changes)))
            select \(unescaped: columns)
            from only public.\(unescaped: name) as present
            where \(isWanted) and not exists (select from undone where undone.key = present.code)
            union all
            select past.*
            from undone left join only public.\(unescaped: name) as present on present.code = undone.key
            cross join lateral jsonb_to_record(coalesce(to_jsonb(present.*), '{}') || undone.before)
                as past (\(unescaped: declarations))
            where undone.operation <> 'insert')
            """
    }

    /// The events that were deleted up to `token` and were not in the table at `token`. They have their last values, except that
    /// `status` is `deleted` and `updated` is the time of the deletion, or the last `updated` if that is later. Deletions that
    /// were pruned are missing.
    func tombstones(of codes: Query?) -> Query {
        let changes =
            codes.map { Self.changes(of: $0) }
                // This query uses the index on deletions.
                ?? """
                (select * from history.change c join history.transaction t on t.id = c.transaction where c.entity = 'quake')
                """
        return """
            (select past.*
            from (
                select distinct on (key) key, before, committed_at
                from \(changes) as change
                where operation = 'delete' and token <= \(token)
                order by key, token desc, ordinal desc
            ) as deleted
            cross join lateral jsonb_to_record(
                before || jsonb_build_object(
                    'status', 'deleted', 'updated', greatest((before ->> 'updated')::timestamptz, committed_at)))
                as past (\(unescaped: Self.declarations))
            where not exists (select from \(table(of: codes)) as quake where quake.code = deleted.key))
            """
    }

    /// The changes of the rows with these codes after a token, for a FROM clause.
    private static func changes(of codes: Query, in table: String = "quake", after token: Int = 0) -> Query {
        "(select change.* from unnest(\(codes)) as code, history.of_key(\(table), code, \(token)) as change)"
    }
}
