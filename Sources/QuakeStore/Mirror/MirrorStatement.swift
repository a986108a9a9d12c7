import Feed

/// The SQL that makes the table the same as that of another Quakes.
enum MirrorStatement {
    /// The temporary table for the lines of one answer, and the function that takes them in.
    ///
    /// The other one's rows are what is right: they overwrite, whatever their `updated`. Of each key, the last change counts. What
    /// was deleted there is deleted here, for the same reason, and by the author there. A snapshot says of each event that it
    /// lacks that it is gone; the brake then holds like anywhere else.
    static let preparation = """
        set client_min_messages = warning;
        create temporary table if not exists mirrored (ordinal bigint primary key, line jsonb not null) on commit delete rows;
        create temporary table if not exists changed (
            key text collate "C" primary key, reason text not null, "row" jsonb) on commit delete rows;
        set client_min_messages = notice;
        create or replace function pg_temp.take_changes(
            source text, host text, force boolean,
            out seen bigint, out inserted bigint, out updated bigint, out deleted bigint, out total bigint,
            out is_braked boolean)
        language plpgsql as $$
        #variable_conflict use_variable
        declare
            snapshot constant bigint := (select max(m.ordinal) from pg_temp.mirrored m where m.line ? 'snapshot');
            position constant jsonb := (select m.line from pg_temp.mirrored m where m.line ? 'store'
                                        order by m.ordinal desc limit 1);
            author text;
            change record;
            gone text[] := '{}';
            count_new bigint;
            count_all bigint;
        begin
            insert into pg_temp.changed (key, reason, "row")
            select distinct on (coalesce(m.line ->> 'key', m.line -> 'row' ->> 'code'))
                   coalesce(m.line ->> 'key', m.line -> 'row' ->> 'code'), coalesce(m.line ->> 'reason', ''),
                   nullif(m.line -> 'row', 'null')
            from pg_temp.mirrored m
            where m.ordinal > coalesce(snapshot, 0) and (m.line ? 'key' or m.line ? 'row')
            order by coalesce(m.line ->> 'key', m.line -> 'row' ->> 'code'), m.ordinal desc;
            select string_agg(distinct m.line ->> 'author', ', ') into author from pg_temp.mirrored m;
            perform set_config('history.author', left(concat_ws(' at ', author, host), 200), true),
                    set_config('import.settling', 'on', true);
            seen := (select count(*) from pg_temp.changed c where c."row" is not null);
            inserted := 0;
            updated := 0;
            deleted := 0;
            is_braked := false;
            total := (select count(*) from only public.quake);
            if snapshot is not null then
                gone := array(select q.code from only public.quake q
                              where not exists (select from pg_temp.changed c where c.key = q.code));
                is_braked := not force and cardinality(gone) > greatest(5, total / 10.0);
                deleted := cardinality(gone);
            end if;
            for change in select distinct c.reason from pg_temp.changed c order by 1 loop
                perform set_config('history.reason', change.reason, true);
                delete from only public.quake q using pg_temp.changed c
                where c.reason = change.reason and c."row" is null and q.code = c.key;
                get diagnostics count_all = row_count;
                deleted := deleted + count_all;
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
            if is_braked then return; end if;
            if gone <> '{}' then
                perform set_config('history.reason', format('absent from %s', host), true);
                delete from only public.quake q where q.code = any (gone);
            end if;
            insert into import.mirror (source, position)
            values (source, concat_ws('_', position ->> 'token', position ->> 'committed_at', position ->> 'nonce',
                                       position ->> 'store'))
            on conflict on constraint mirror_pkey do update set position = excluded.position, changed_at = clock_timestamp();
            insert into import.feed (source, checked_at) values (source, clock_timestamp())
            on conflict on constraint feed_pkey do update set checked_at = excluded.checked_at;
        end
        $$
        """
}
