import PostgreSQL

// Other tables record which rows describe one earthquake. So a row's earthquake can change while the row stays the same. Readers
// over HTTP follow rows together with their earthquakes. If only the earthquake changes, they receive an update of the row
// without overwritten values.
extension Pass {
    /// The changes of rows, and one more change for each row whose earthquake has changed. All changes have the columns of
    /// `history.changes` and are in token order. For use in a FROM clause.
    static func changesWithEarthquakes(
        after token: Int, upTo end: Int? = nil, namesAuthors: Bool
    ) -> Query {
        """
        (select token, committed_at, \(HistoryText.author(isNamed: namesAuthors)), ordinal, key, operation, reason, before, "row"
         from (select * from history.changes(\(token), 'quake', \(end))
               union all
               select moved.*, to_jsonb(quake.*)
               from \(regrouped(after: token, upTo: end)) as moved
               cross join lateral (
                   select * from only public.quake where quake.code = moved.key offset 0) as quake) as change
         order by token, ordinal)
        """
    }

    /// One change for each existing row whose earthquake was changed, got or lost a row, or was replaced by another earthquake. The
    /// changes have the columns of `history.changes` without `row`. For use in a FROM clause.
    static func regrouped(after token: Int, upTo end: Int? = nil) -> Query {
        let columns: Query = "token, committed_at, author, context, ordinal, key, operation, reason, before"
        return """
            (select distinct on (code) token, committed_at, author, context, ordinal, code as key, 'update'::text as operation, reason,
                    '{}'::jsonb as before
             from (with of_member as (
                       -- Only a key's last change has the row, so a key whose row has moved counts with all its changes.
                       select *, bool_or(operation <> 'update' or before ? 'earthquake') over (partition by key) as has_moved
                       from history.changes(\(token), 'earthquake_member', \(end))),
                   changed as (
                       select \(columns), unnest(array["row" ->> 'earthquake', before ->> 'earthquake']) as earthquake
                       from of_member where has_moved
                       union all
                       select \(columns), key from history.changes(\(token), 'earthquake', \(end)))
                   select \(columns), key as code from of_member
                   union all
                   select \(columns), m.code from changed
                   cross join lateral (
                       select code from only public.earthquake_member as m where m.earthquake = changed.earthquake offset 0) as m
                  ) as moved
             where exists (select from only public.quake where quake.code = moved.code offset 0)
             order by code, token desc, ordinal desc)
            """
    }

    /// The SQL expression for a line of JSON. The line's last member is the row's earthquake, if several rows describe that
    /// earthquake.
    ///
    /// - Parameters:
    ///   - record: the name in SQL of the record with the line's other members.
    ///   - code: an expression for the row's code; its value may be null.
    static func line(_ record: String, of code: String) -> Query {
        """
        left(row_to_json(\(unescaped: record))::text, -1)
            || coalesce(',"earthquake":' || (
                select json_build_object(
                           'code', e.code, 'preferred', e.preferred, 'magnitude_from', e.magnitude_from,
                           'networks', listed.networks, 'members', listed.members)::text
                from only public.earthquake_member as m
                join only public.earthquake as e on e.code = m.earthquake
                cross join lateral (
                    select array_agg(distinct q.net collate "C") as networks, array_agg(o.code order by o.code) as members
                    from only public.earthquake_member as o
                    cross join lateral (select net from only public.quake where quake.code = o.code offset 0) as q
                    where o.earthquake = e.code) as listed
                where m.code = \(unescaped: code)), '') || '}'
        """
    }
}
