import PostgreSQL

// The lines of a pass for a reader that wants only some of the events. Each query is what follows a SELECT.
extension QuakeSelection {
    /// Each selected row as `{"row":{…}}`.
    var rowLines: Query {
        "row_to_json(line)::text from (select to_jsonb(quake) as row \(source("only public.quake"))) as line"
    }

    /// Each change after a token of the events that are selected before or after all of these changes.
    ///
    /// The row as it was before them is the row as it is, with what was overwritten put back, the earliest last.
    func changeLines(after token: Int) -> Query {
        """
        row_to_json(line)::text from (
            with change as materialized (select * from history.changes(\(token), 'quake')),
            first as (select distinct on (key) key, operation from change order by key, token, ordinal),
            last as (select distinct on (key) key, "row" as state from change order by key, token desc, ordinal desc),
            overwritten as (
                select key, history.overwritten(before order by token desc, ordinal desc) as state from change group by key
            ),
            image as (
                select key, true as is_last, state from last where state is not null
                union all
                select key, false, coalesce(last.state, '{}') || overwritten.state
                from first join last using (key) join overwritten using (key)
                where first.operation <> 'insert'
            ),
            selected as (
                select key, bool_or(is_last) as selected from image
                where exists (select \(source("jsonb_populate_record(null::public.quake, image.state)")))
                group by key
            )
            select change.*, selected.selected from change join selected using (key)
            order by change.token, change.ordinal
        ) as line
        """
    }
}
