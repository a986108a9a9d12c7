import Feed
import PostgreSQL

extension Pass {
    /// The text after SELECT for the lines of the changes after `reached`, up to `end`. Only changes of events that the selection
    /// includes at the beginning or at the end of the whole pass are included.
    ///
    /// To decide whether the selection included an event before the pass, the overwritten values are put back into the event's
    /// row. This is rarely necessary. If the changes overwrote no value that the selection depends on, or changed only the row's
    /// earthquake, the answer is the same as for the row after the pass.
    func lines(
        of selection: QuakeSelection, after reached: Int, upTo end: Int, namesAuthors: Bool
    ) -> Query {
        let properties = Property.allCases.filter(selection.properties.contains)
        let columns = properties.map(\.column).joined(separator: ",")
        return """
            \(Self.line("line", of: "line.\"row\" ->> 'code'"))
            from (
                select token, committed_at, \(HistoryText.author(isNamed: namesAuthors)), ordinal, key, operation, reason,
                       before, to_jsonb(quake.*) as "row", selected
                from (
                    select change.*, bool_or(at_end) over of_key as selected,
                           bool_or(at_end or at_start) over of_key as ever
                    from (
                        select c.*, lead(ordinal) over (partition by key collate "C" order by token, ordinal) is null as is_last
                        from (select * from history.since(\(reached), 'quake', \(end))
                              union all
                              select * from \(Self.regrouped(after: reached, upTo: end)) as moved) as c
                    ) as change
                    left join lateral (
                        select at_end,
                               case when first.operation is null then at_end
                                    when first.operation = 'insert' then false
                                    when not first.overwritten ?| string_to_array(\(columns), ',') then at_end
                                    else exists (select \(selection.source(
                                        """
                                        (select * from jsonb_to_record(
                                            coalesce((select to_jsonb(quake.*) from only public.quake where code = change.key), '{}')
                                            || first.overwritten) as past (\(unescaped: properties.declarations)))
                                        """)))
                               end as at_start
                        from (select exists (select \(selection.source(
                            "(select * from only public.quake where code = change.key offset 0)"))) as at_end) as present
                        left join lateral (
                            select operation, later || coalesce(before, '{}') as overwritten
                            from history.of_key('quake', change.key, \(after)) order by token, ordinal limit 1) as first on true
                    ) as held on change.is_last
                    window of_key as (partition by change.key collate "C")
                ) as change
                left join lateral (
                    select * from only public.quake where change.is_last and quake.code = change.key offset 0
                ) as quake on true
                where ever
                order by token, ordinal
            ) as line
            """
    }
}
