import Feed
import PostgreSQL

extension SelectedQuakes {
    static let columns = Property.allCases.list()
    private static let declarations = Property.allCases.declarations

    /// The table at that moment. In the past, it is the present rows, with every later change undone. When a column changed
    /// several times, the earliest change tells what it held. A column that is not of the catalogue does not take part: it may have
    /// had another type.
    ///
    /// - Parameter codes: only these events are wanted, as an array in SQL; then nothing else is read. nil for all.
    func table(of codes: Query?) -> Query {
        guard isPast else { return "only public.quake" }
        // What there is to read is known, and how to find it, too: nothing is left to what the planner believes.
        let (changes, isWanted): (Query, Query) =
            if let codes {
                (
                    """
                    unnest(\(codes)) as wanted (key) cross join lateral \(Query.changes(of: "wanted.key"))
                    where t.token > \(token)
                    """, "quake.code = any(\(codes))"
                )
            } else {
                (
                    """
                    (select * from history.transaction where token > \(token) offset 0) as t
                    cross join lateral (
                        select * from history.change where transaction = t.id and entity = 'quake' offset 0) as c
                    """, "true"
                )
            }
        return """
            (with undone as (
                select c.key, history.overwritten(c.before order by t.token desc, c.ordinal desc) as before,
                       (array_agg(c.operation order by t.token desc, c.ordinal desc))[count(*)] as operation
                from \(changes)
                group by c.key
            )
            select \(unescaped: Self.columns)
            from only public.quake
            where \(isWanted) and not exists (select from undone where undone.key = quake.code)
            union all
            select past.*
            from undone left join only public.quake on quake.code = undone.key
            cross join lateral jsonb_to_record(coalesce(to_jsonb(quake.*), '{}') || undone.before)
                as past (\(unescaped: Self.declarations))
            where undone.operation <> 'insert')
            """
    }

    /// The events that were deleted until then, and are not in the table, as they were at last: `deleted`, and revised when
    /// they were deleted. History knows of no deletion that was pruned.
    func tombstones(of codes: Query?) -> Query {
        let changes: Query =
            if let codes {
                "unnest(\(codes)) as wanted (key) cross join lateral \(Query.changes(of: "wanted.key"))"
            } else {
                "history.change c join history.transaction t on t.id = c.transaction"
            }
        return """
            (select past.*
            from (
                select distinct on (c.key) c.key, c.before, t.committed_at
                from \(changes)
                where c.entity = 'quake' and c.operation = 'delete' and t.token <= \(token)
                order by c.key, t.token desc, c.ordinal desc
            ) as deleted
            cross join lateral jsonb_to_record(
                before || jsonb_build_object(
                    'status', 'deleted', 'updated', greatest((before ->> 'updated')::timestamptz, committed_at)))
                as past (\(unescaped: Self.declarations))
            where not exists (select from \(table(of: codes)) as quake where quake.code = deleted.key))
            """
    }
}
