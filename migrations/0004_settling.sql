-- Settling: deleting what a feed no longer has, because it was renamed or withdrawn upstream.

create table import.settled (
    service text not null,
    feed text not null,
    generated timestamptz not null,
    window_start timestamptz,
    window_end timestamptz,
    settled_at timestamptz not null default clock_timestamp(),
    codes text[],
    primary key (service, feed, generated)
);
comment on table import.settled is
    'Documents of the last 40 days that were settled. An event in the window of such a document that is missing from the table is known to be gone, so an older document does not bring it back.';
comment on column import.settled.service is 'Host that the document names as its own.';
comment on column import.settled.feed is 'The feed, such as all_day.';
comment on column import.settled.generated is 'When the document was made.';
comment on column import.settled.window_start is
    'The document has every event of its service with an origin time from here to window_end; null if it has only some.';
comment on column import.settled.window_end is 'See window_start.';
comment on column import.settled.settled_at is 'When the document was settled here.';
comment on column import.settled.codes is
    'The events of a document that has only some, without those of the feed''s next document; null for a complete document.';

create index settled_generated on import.settled (service, generated) where window_start is not null;
comment on index import.settled_generated is 'Complete documents newer than a given one.';
create index settled_made on import.settled (generated);
comment on index import.settled_made is 'Whether any document is newer than a given one.';

create table import.withdrawn (
    code text primary key,
    generated timestamptz not null,
    reason text not null,
    service text,
    updated timestamptz not null default 'infinity',
    time timestamptz
);
comment on table import.withdrawn is
    'Events of the last 40 days that a document shows to be gone: they were deleted, or would have been if an older document had brought them first. Only a document made later brings them back.';
comment on column import.withdrawn.code is 'The event that is gone.';
comment on column import.withdrawn.generated is 'When the document was made that no longer had it.';
comment on column import.withdrawn.reason is 'The reason kept in history: superseded by CODE, or retracted by FEED.';
comment on column import.withdrawn.service is 'Host of the event''s URL; null for any.';
comment on column import.withdrawn.updated is 'The event is gone as it was revised up to this time. A later revision is another matter.';
comment on column import.withdrawn.time is
    'For a renamed event: the origin time under the new code, which the event has to be close to; null for any.';

create index withdrawn_generated on import.withdrawn (generated);
comment on index import.withdrawn_generated is 'Whether a document newer than a given one no longer had some event.';

create function import.service_of(url text) returns text
language sql immutable parallel safe
return lower(substring(url from '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]+)'));
comment on function import.service_of(text) is 'The host of a URL, which tells the service that an event or a feed comes from.';

-- In 120 real hours, the two codes of a renamed event differ by at most 0.6 seconds, and a revision moves an event by at
-- most 8. Events of one sequence that are hours apart never have the same id. Five minutes leave room for a network that
-- locates an event badly at first.
create function import.is_same_time(one timestamptz, other timestamptz) returns boolean
language sql immutable parallel safe
return one between other - interval '5 minutes' and other + interval '5 minutes';
comment on function import.is_same_time(timestamptz, timestamptz) is
    'Whether two origin times are close enough for one event under two codes: at most 5 minutes apart.';

-- Whether a document that covers an event is newer than one made at `made`, which then can neither bring the event nor
-- take it away. A row that was revised less than 5 minutes before a document was made may have come too late for it.
-- Of two documents made at the same time, the one that lacks an event decides: if `feed` is given, another feed's
-- document of that time counts as newer.
create function import.is_known_better(
    service text, made timestamptz, origin timestamptz, revised timestamptz, feed text default null)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
return exists (
    select from import.settled s
    where s.service = $1 and s.generated >= made and (s.generated > made or s.feed <> $5) and s.window_start is not null
      and origin between s.window_start and s.window_end
      and revised < s.generated - interval '5 minutes');
comment on function import.is_known_better(text, timestamptz, timestamptz, timestamptz, text) is
    'Whether a document newer than one made at a given time covers an event. The older document then has no say about it.';

-- An older document may have a later revision of an event than the table, because the document arrived late. A newer one
-- covers the event as it is in that revision, and lacks it: so the event is gone, with the earlier revision that the
-- newer document did not cover. It would have the event only if it covered the row as well.
create function import.retract_late(feed text, made timestamptz) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    gone record;
    deleted bigint;
    retracted bigint := 0;
begin
    for gone in
        select i.code, i.updated, better.service, better.generated, better.reason
        from pg_temp.incoming i left join public.quake q on q.code = i.code
        cross join lateral (
            select s.service, s.generated, format('retracted by %s', s.feed) as reason
            from import.settled s
            where s.service = import.service_of(i.url) and s.generated >= made
              and (s.generated > made or s.feed <> feed) and s.window_start is not null
              and i.time between s.window_start and s.window_end and i.updated < s.generated - interval '5 minutes'
            order by s.generated desc, s.feed limit 1) as better
        where q.code is null
           or q.updated < i.updated
              and not import.is_known_better(better.service, better.generated, q.time, q.updated, '')
        order by i.code
    loop
        perform set_config('history.reason', gone.reason, true);
        delete from public.quake q where q.code = gone.code and q.updated < gone.updated;
        get diagnostics deleted = row_count;
        retracted := retracted + deleted;
        insert into import.withdrawn as w (code, generated, reason, service, updated)
        values (gone.code, gone.generated, gone.reason, gone.service, gone.updated)
        on conflict (code) do update
        set generated = excluded.generated, reason = excluded.reason, service = excluded.service,
            updated = excluded.updated, time = null
        where (excluded.generated, excluded.updated) > (w.generated, w.updated);
    end loop;
    perform set_config('history.reason', '', true);
    return retracted;
end
$$;
comment on function import.retract_late(text, timestamptz) is
    'Before a late document''s features are merged: deletes the events of which they have a later revision that is known to be gone, and notes what else is gone.';

-- Settles a document whose features are in pg_temp.present (code, ids, time, is_current). That table has no statistics:
-- "not in" hashes it once, where "not exists" may search all of it for each row.
--
-- A document decides about everything in its window that no newer one covers or has, so that documents may be settled in
-- any order. The lock keeps other workers from merging meanwhile: what they merged is committed, and what they will merge
-- is compared with what was settled here. A row that another program changes meanwhile is looked at again as it is deleted.
create function import.settle(
    service text, feed text, generated timestamptz, window_start timestamptz, window_end timestamptz,
    force boolean, dry_run boolean,
    out superseded bigint, out retracted bigint, out in_window bigint, out would_supersede bigint,
    out would_retract bigint, out is_braked boolean, out is_ahead boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
#variable_conflict use_variable
declare
    -- The codes that other events of the document list.
    old_codes text[];
    new_codes text[];
    times timestamptz[];
    -- Those of them that are in the table.
    stored text[];
    gone text[];
    -- What newer documents have that have only some events.
    newer text[];
    stored_in_window bigint;
    features bigint;
    deleted bigint;
begin
    superseded := 0;
    retracted := 0;
    would_supersede := 0;
    would_retract := 0;
    is_braked := false;
    is_ahead := generated > clock_timestamp() + interval '5 minutes';
    if is_ahead then return; end if;
    -- Keeps out other documents and all batches. A lock on a private table, because anyone who may connect can take an
    -- advisory lock. A dry run keeps nobody waiting.
    if not dry_run then
        lock table import.settled in share row exclusive mode;
    end if;
    if exists (select from import.settled s
               where s.service = service and s.feed = feed and s.generated = generated) then
        return;
    end if;
    select coalesce(array_agg(listed.code), '{}') into newer
    from import.settled s cross join unnest(s.codes) as listed(code)
    where s.service = service and s.generated > generated;

    -- Renamed: another event of the document lists its id, and the document has no event of that id. What is not in the
    -- table is noted, too: an older document may still bring it.
    select coalesce(array_agg(r.old_code), '{}'), array_agg(r.new_code), array_agg(r.time),
           coalesce(array_agg(r.old_code order by r.old_code) filter (where r.is_stored), '{}')
    into old_codes, new_codes, times, stored
    from (select distinct on (listed.code)
                 listed.code as old_code, new.code as new_code, new.time, old.code is not null as is_stored
          from pg_temp.present new
          cross join unnest(new.ids) as listed(code)
          left join public.quake old on old.code = listed.code
          where new.is_current and listed.code <> new.code
            and listed.code not in (select p.code from pg_temp.present p)
            and listed.code <> all (newer)
            and (old.code is null
                 or import.service_of(old.url) = service and import.is_same_time(old.time, new.time)
                    and old.updated <= generated
                    and not import.is_known_better(service, generated, old.time, old.updated))
          order by listed.code, new.code) as r;

    -- Withdrawn: in the document's window, but not in the document.
    select count(*), count(*) filter (where q.code = any (stored)), coalesce(array_agg(q.code order by q.code) filter (
               where q.updated < generated - interval '5 minutes'
                 and q.code <> all (stored)
                 and q.code not in (select p.code from pg_temp.present p)
                 and q.code <> all (newer)
                 and not import.is_known_better(service, generated, q.time, q.updated)), '{}')
    into in_window, stored_in_window, gone
    from public.quake q
    where q.time between window_start and window_end and import.service_of(q.url) = service;

    would_supersede := cardinality(stored);
    would_retract := cardinality(gone);
    -- Where there is nothing to do, a statement is left out: planning it takes longer than the rest of a short run.
    if would_supersede > 5 then
        features := (select count(*) from pg_temp.present);
    end if;
    is_braked := not force and (
        would_supersede > greatest(5, features / 10.0)
        or window_start is not null and in_window > 0
           and (would_supersede + would_retract > greatest(5, in_window / 10.0)
                or stored_in_window + would_retract = in_window));
    if is_braked then return; end if;
    if dry_run then
        superseded := would_supersede;
        retracted := would_retract;
        return;
    end if;

    for i in 1 .. cardinality(old_codes) loop
        continue when old_codes[i] <> all (stored);
        perform set_config('history.reason', format('superseded by %s', new_codes[i]), true);
        delete from public.quake q where q.code = old_codes[i] and q.updated <= generated;
        get diagnostics deleted = row_count;
        superseded := superseded + deleted;
    end loop;
    if gone <> '{}' then
        perform set_config('history.reason', format('retracted by %s', feed), true);
        with dropped as (
            delete from public.quake q
            where q.code = any (gone) and q.updated < generated - interval '5 minutes'
              and q.time between window_start and window_end
            returning q.code, q.updated),
        noted as (
            insert into import.withdrawn as w (code, generated, reason, service, updated)
            select d.code, generated, format('retracted by %s', feed), service, d.updated from dropped d
            on conflict (code) do update
            set generated = excluded.generated, reason = excluded.reason, service = excluded.service,
                updated = excluded.updated, time = null
            where excluded.generated >= w.generated)
        select count(*) into retracted from dropped;
    end if;
    perform set_config('history.reason', '', true);

    if old_codes <> '{}' then
        insert into import.withdrawn as w (code, generated, reason, service, updated, time)
        select o.code, generated, format('superseded by %s', o.new_code), service, generated, o.time
        from unnest(old_codes, new_codes, times) as o(code, new_code, time)
        on conflict (code) do update
        set generated = excluded.generated, reason = excluded.reason, service = excluded.service,
            updated = excluded.updated, time = excluded.time
        where excluded.generated >= w.generated;
    end if;
    insert into import.settled (service, feed, generated, window_start, window_end, codes)
    values (service, feed, generated, window_start, window_end,
            case when window_start is null then array(select p.code from pg_temp.present p) end);
    if window_start is null then
        -- What the document has is news of it, no longer of the one before.
        update import.settled s
        set codes = array(select listed.code from unnest(s.codes) as listed(code)
                          where listed.code not in (select p.code from pg_temp.present p))
        where s.service = service and s.feed = feed and s.codes <> '{}'
          and s.generated = (select max(before.generated) from import.settled before
                             where before.service = service and before.feed = feed and before.generated < generated);
    end if;
    delete from import.settled s where s.generated < generated - interval '40 days';
    delete from import.withdrawn w where w.generated < generated - interval '40 days';
end
$$;
comment on function import.settle(text, text, timestamptz, timestamptz, timestamptz, boolean, boolean) is
    'Deletes the events that a document shows to be renamed or withdrawn. A brake holds it back: if all events of the window would go, or more than 5 that are also more than a tenth of them, it deletes nothing. A document that claims to be made more than 5 minutes from now settles nothing either.';
