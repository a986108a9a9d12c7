import PostgreSQL

// Which rows are one earthquake is kept in other tables, so a row's earthquake changes without the row. Readers over HTTP
// follow rows with their earthquakes: such a change comes to them as one of the row, which overwrites nothing of it.
extension Pass {
    /// For a clause FROM, in token order: the changes of rows, and one for each row whose earthquake has changed, with the columns of
    /// `history.changes`.
    static func changesWithEarthquakes(after token: Int, upTo end: Int? = nil) -> Query {
        """
        (select *
         from (select * from history.changes(\(token), 'quake', \(end))
               union all
               select moved.*, to_jsonb(quake)
               from \(regrouped(after: token, upTo: end)) as moved
               join only public.quake on quake.code = moved.key) as change
         order by token, ordinal)
        """
    }

    /// For a clause FROM: the existing rows whose earthquake is another one, or has another preferred solution, as changes without `row`.
    static func regrouped(after token: Int, upTo end: Int? = nil) -> Query {
        """
        (select distinct on (code) token, committed_at, author, context, ordinal, code as key, 'update'::text as operation, reason,
                '{}'::jsonb as before
         from (select c.*, c.key as code from history.changes(\(token), 'earthquake_member', \(end)) as c
               union all
               select c.*, m.code
               from history.changes(\(token), 'earthquake', \(end)) as c
               join only public.earthquake_member as m on m.earthquake = c.key) as moved
         where exists (select from only public.quake where quake.code = moved.code)
         order by code, token desc, ordinal desc)
        """
    }

    /// A line with its row's earthquake as the last member, if the row describes it together with others.
    ///
    /// - Parameters:
    ///   - record: the line's record in SQL.
    ///   - code: the row's code; null for none.
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
                    from only public.earthquake_member as o join only public.quake as q on q.code = o.code
                    where o.earthquake = e.code) as listed
                where m.code = \(unescaped: code)), '') || '}'
        """
    }
}
