import Feed
import PostgreSQL

extension Pass {
    /// What is set for the transaction that reads selected changes: rows are looked up by index, as the functions of the history
    /// do, because the planner's statistics may be older than the last load.
    static let byIndex: KeyValuePairs = ["jit": "off", "enable_seqscan": "off"]

    /// Each change after a token of the events that a selection holds before or after these changes, as a query that follows a
    /// SELECT.
    ///
    /// What is wide is looked up line by line, at the end. Until then, tokens and keys are enough: sorting whole rows would
    /// take gigabytes of temporary files.
    ///
    /// An event at the token is its row as it is, with what was overwritten since put back. Only the columns that the selection
    /// looks at are, and most changes touch none of them.
    static func lines(of selection: QuakeSelection, after token: Int) -> Query {
        let properties = Property.allCases.filter(selection.properties.contains)
        let columns = properties.map(\.column).joined(separator: ",")
        return """
            row_to_json(line)::text from (
                select change.token, t.committed_at, t.author, t.context, change.ordinal, change.key, change.operation,
                       c.reason, c.before, to_jsonb(quake) as "row", change.selected
                from (
                    select * from (
                        select change.*, bool_or(at_end) over of_key as selected,
                               bool_or(at_end or at_start) over of_key as ever
                        from (
                            select t.token, t.id as transaction, c.ordinal, c.key, c.operation,
                                   lead(c.ordinal) over in_order is null as is_last,
                                   first_value(c.operation) over in_order as first_operation
                            from (select token, id from history.transaction where token > \(token) offset 0) as t
                            cross join lateral (
                                select ordinal, key, operation from history.change c
                                where c.transaction = t.id and c.entity = 'quake' offset 0
                            ) as c
                            window in_order as (partition by c.key order by t.token, c.ordinal)
                        ) as change
                        left join lateral (
                            select jsonb_object_agg(member.name, member.value order by c.token desc, c.ordinal desc) as state
                            from (
                                select t.token, c.ordinal, c.before
                                from (select transaction, ordinal, before from history.change c
                                      where c.key = change.key and c.operation <> 'insert' and c.entity = 'quake' offset 0) as c
                                cross join lateral (
                                    select token from history.transaction t
                                    where t.id = c.transaction and t.token > \(token) offset 0
                                ) as t
                                offset 0
                            ) as c
                            cross join lateral jsonb_each(c.before) as member (name, value)
                            where change.is_last and change.first_operation <> 'insert'
                              and member.name = any(string_to_array(\(columns), ','))
                        ) as earlier on true
                        left join lateral (
                            select change.operation <> 'delete' and exists (select \(selection.source(
                                "(select * from only public.quake where quake.code = change.key offset 0)"))) as at_end
                        ) as at_end on change.is_last
                        left join lateral (
                            select case
                                when change.first_operation = 'insert' then false
                                when earlier.state is null then at_end
                                else exists (select \(selection.source(
                                    """
                                    (select * from jsonb_to_record(
                                        coalesce((select to_jsonb(quake) from only public.quake where quake.code = change.key), '{}')
                                        || earlier.state) as state (\(unescaped: properties.declarations)))
                                    """)))
                            end as at_start
                        ) as at_start on change.is_last
                        window of_key as (partition by change.key)
                    ) as change
                    where ever
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
}
