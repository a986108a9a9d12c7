import Feed

/// The SQL that makes the table equal to the table of another Quakes server.
enum MirrorStatement {
    /// The temporary tables for the lines of one answer, and the function that imports them.
    ///
    /// The other server's rows overwrite the rows here, even if their `updated` is older. For each key, the last change counts.
    /// An event that was deleted on the other server is deleted here, with the other server's reason and author. An event that a
    /// snapshot lacks is deleted, too. The brake applies to both kinds of deletions: if too many events would be deleted, none is
    /// deleted and the position does not move, while the other rows are imported.
    static let preparation =
        MergeStatement.quietly(
            """
            create temporary table if not exists mirrored (ordinal bigint primary key, line jsonb not null) on commit delete rows;
            create temporary table if not exists changed (
                key text collate "C" primary key, reason text not null, "row" jsonb) on commit delete rows;
            create index if not exists changed_reason on pg_temp.changed using hash (reason)
            """) + "; " + takeChanges

    private static let takeChanges = """
        create or replace function pg_temp.take_changes(
            source text, host text, force boolean, keeps boolean,
            out fault text, out word text, out seen bigint, out inserted bigint, out updated bigint, out deleted bigint,
            out total bigint, out is_braked boolean)
        language plpgsql
        set search_path = pg_catalog, pg_temp
        as $$
        #variable_conflict use_variable
        declare
            last constant bigint := (select max(m.ordinal) from pg_temp.mirrored m);
            snapshot constant bigint := (select max(m.ordinal) from pg_temp.mirrored m where m.line ? 'snapshot');
            author text;
            change record;
            count_new bigint;
            count_all bigint;
            lost bigint;
        begin
            fault := (
                select format('line %s %s', m.ordinal, found.fault)
                from pg_temp.mirrored m cross join lateral (select \(fault)) as found(fault)
                where found.fault is not null order by m.ordinal limit 1);
            if fault is not null then return; end if;
            word := (select concat_ws('_', m.line ->> 'token', m.line ->> 'committed_at', m.line ->> 'nonce', m.line ->> 'store')
                     from pg_temp.mirrored m where m.ordinal = last);

            insert into pg_temp.changed (key, reason, "row")
            select distinct on (coalesce(m.line ->> 'key', m.line -> 'row' ->> 'code'))
                   coalesce(m.line ->> 'key', m.line -> 'row' ->> 'code'), coalesce(m.line ->> 'reason', ''),
                   nullif(m.line -> 'row', 'null')
            from pg_temp.mirrored m
            where m.line ? 'row'
            order by coalesce(m.line ->> 'key', m.line -> 'row' ->> 'code'), m.ordinal desc;
            seen := (select count(*) from pg_temp.changed c where c."row" is not null);
            if snapshot is not null then
                insert into pg_temp.changed (key, reason)
                select q.code, format('absent from %s', host) from only public.quake q
                where not exists (select from pg_temp.changed c where c.key = q.code);
            end if;
            select string_agg(distinct m.line ->> 'author', ', ') into author from pg_temp.mirrored m;
            perform set_config('history.author', concat_ws(' at ', author, host), true),
                    set_config('import.settling', 'on', true);

            -- The rows that this answer adds do not count, nor do those that earlier answers added while the brake held.
            -- Otherwise many new rows would release the brake.
            total := (select count(*) from only public.quake) - coalesce((
                select sum(r.inserted) from import.run r
                where r.source = source and r.id > coalesce((
                    select max(d.id) from import.run d where d.source = source and d.outcome = 'done'), 0)), 0);
            inserted := 0;
            updated := 0;
            for change in select distinct c.reason from pg_temp.changed c where c."row" is not null order by 1 loop
                perform set_config('history.reason', change.reason, true);
                with merged as (
                    insert into public.quake (\(Property.allCases.list()))
                    select \(Property.allCases.list("r."))
                    from pg_temp.changed c cross join lateral jsonb_populate_record(null::public.quake, c."row") r
                    where c.reason = change.reason and c."row" is not null
                    order by c.key
                    on conflict (code) do update set \(Property.assignments)
                    where (\(Property.allCases.list("quake."))) is distinct from (\(Property.allCases.list("excluded.")))
                    returning xmax = 0 as is_new)
                select count(*) filter (where m.is_new), count(*) into count_new, count_all from merged m;
                inserted := inserted + count_new;
                updated := updated + count_all - count_new;
            end loop;

            deleted := (select count(*) from pg_temp.changed c
                        where c."row" is null and exists (select from only public.quake q where q.code = c.key offset 0));
            -- A renamed event is not lost.
            lost := deleted - (select count(*) from pg_temp.changed c join pg_temp.changed n on c.reason = 'superseded by ' || n.key
                               where c."row" is null and n."row" is not null);
            is_braked := not force and not keeps and (import.is_too_many(lost, total) or lost > 0 and lost >= total);
            if is_braked then return; end if;
            if keeps then
                deleted := 0;
            else
                for change in select distinct c.reason from pg_temp.changed c where c."row" is null order by 1 loop
                    perform set_config('history.reason', change.reason, true);
                    delete from only public.quake q
                    where q.code = any (array(select c.key from pg_temp.changed c where c.reason = change.reason and c."row" is null));
                end loop;
            end if;
            insert into import.mirror (source, position) values (source, word)
            on conflict on constraint mirror_pkey do update set position = excluded.position;
            insert into import.feed (source, checked_at) values (source, clock_timestamp())
            on conflict on constraint feed_pkey do update set checked_at = excluded.checked_at;
        end
        $$
        """

    /// The fault of the line `m`; null if it has none. A line is the beginning of a snapshot, a row of a snapshot, a change, or
    /// the position. The position is the last line.
    private static let fault = """
        case
            when jsonb_typeof(m.line) <> 'object' then 'is not an object'
            when m.line ? 'store' then case when m.ordinal < last then 'is a position, but not the last line' end
            when m.ordinal = last then 'is the last line, but not a position'
            when m.line ? 'snapshot' then case when m.ordinal > 1 then 'begins a snapshot after other lines' end
            when m.line ? 'operation' then case
                when coalesce(m.line ->> 'operation' not in ('insert', 'update', 'delete'), true)
                     or jsonb_typeof(m.line -> 'key') is distinct from 'string'
                     or coalesce(jsonb_typeof(m.line -> 'reason') not in ('string', 'null'), false)
                     or coalesce(jsonb_typeof(m.line -> 'row') not in ('object', 'null'), true)
                    then 'is not a change'
                when m.line -> 'row' <> 'null' and m.line -> 'row' -> 'code' is distinct from m.line -> 'key'
                    then 'has the row of another event'
                end
            when not m.line ? 'row' then 'is of an unknown kind'
            when snapshot is null then 'is a row outside a snapshot'
            when jsonb_typeof(m.line #> '{row,code}') is distinct from 'string' then 'is a row without a code'
        end
        """
}
