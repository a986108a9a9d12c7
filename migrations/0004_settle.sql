-- What a feed no longer has: renamed events, and those that were withdrawn upstream.

create table import.settled (
    service text not null,
    feed text not null,
    generated timestamptz not null,
    window_start timestamptz,
    window_end timestamptz,
    settled_at timestamptz not null default clock_timestamp(),
    primary key (service, feed, generated)
);
create index settled_generated on import.settled (service, generated) where window_start is not null;
comment on table import.settled is
    'Documents of the last 40 days that told the whole of a feed. What lies in the window of a newer one, and is not in the table, is known to be gone: an older document does not bring it back.';
comment on column import.settled.service is 'Host that the document names as its own.';
comment on column import.settled.feed is 'The feed, such as all_day.';
comment on column import.settled.generated is 'When the document was made.';
comment on column import.settled.window_start is
    'From this origin time on, up to window_end, the document has every event of its service; null when it has only some.';
comment on column import.settled.window_end is 'See window_start.';
comment on column import.settled.settled_at is 'When it was settled here.';
comment on index import.settled_generated is 'Documents that are newer than another one.';

create table import.withdrawn (
    code text primary key,
    generated timestamptz not null,
    reason text not null
);
comment on table import.withdrawn is
    'Events that were deleted because a document no longer had them, in the last 40 days. A document made no later does not bring them back.';
comment on column import.withdrawn.code is 'The event that was deleted.';
comment on column import.withdrawn.generated is 'When the document was made that told so.';
comment on column import.withdrawn.reason is 'As in history: superseded by CODE, or retracted by FEED.';

create table import.feed (
    source text primary key,
    etag text,
    last_modified text,
    generated timestamptz,
    checked_at timestamptz not null
);
comment on table import.feed is
    'What a requested URL said of itself when it was last imported well: an unchanged document need not be fetched again.';
comment on column import.feed.source is 'The URL, without user and password.';
comment on column import.feed.etag is 'Its entity tag (RFC 9110, 8.8.3).';
comment on column import.feed.last_modified is 'When the server said that it was last modified (RFC 9110, 8.8.2).';
comment on column import.feed.generated is 'When the document was made, by its own account.';
comment on column import.feed.checked_at is 'When it was last asked for with success, changed or not.';

create function import.service_of(url text) returns text
language sql immutable parallel safe
return lower(substring(url from '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]+)'));
comment on function import.service_of(text) is 'The host of a URL: which service an event or a feed comes from.';

-- Whether a newer document than one made at `made` would have had an event: then that older one can neither bring the
-- event nor take it away. A row that was revised less than 5 minutes before a document was made may have come too late
-- for it.
create function import.is_known_better(service text, made timestamptz, origin timestamptz, revised timestamptz)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
return exists (
    select from import.settled s
    where s.service = $1 and s.generated > made and s.window_start is not null
      and origin between s.window_start and s.window_end
      and revised < s.generated - interval '5 minutes');
comment on function import.is_known_better(text, timestamptz, timestamptz, timestamptz) is
    'Whether a document newer than one made at a time covers an event of a service: the older one has nothing to say about it.';

-- Settles a document whose features stand in pg_temp.present (code, ids, is_current). "not in" builds one hash of it,
-- where "not exists", of a table without statistics, may look through all of it for each row.
create function import.settle(
    service text, feed text, generated timestamptz, window_start timestamptz, window_end timestamptz,
    force boolean, dry_run boolean,
    out superseded bigint, out retracted bigint, out in_window bigint, out would_retract bigint, out is_braked boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
#variable_conflict use_variable
declare
    old_codes text[];
    new_codes text[];
    gone text[];
begin
    superseded := 0;
    retracted := 0;
    would_retract := 0;
    is_braked := false;
    -- One at a time for each service.
    perform pg_advisory_xact_lock(x'7175616c'::int, hashtext(service));
    -- A late document has nothing to say.
    if exists (select from import.settled s
               where s.service = service and s.feed = feed and s.generated >= generated) then
        return;
    end if;

    -- Renamed: another event of the document lists it among its ids, and it is no event of the document itself.
    select array_agg(r.old_code order by r.old_code), array_agg(r.new_code order by r.old_code)
    into old_codes, new_codes
    from (select old.code as old_code, min(new.code) as new_code
          from pg_temp.present new
          cross join unnest(new.ids) as listed(code)
          join public.quake old on old.code = listed.code
          where new.is_current and listed.code <> new.code
            and listed.code not in (select p.code from pg_temp.present p)
            and old.updated <= generated
            and not import.is_known_better(service, generated, old.time, old.updated)
          group by old.code) as r;

    -- Withdrawn: in the document's window, and not in the document.
    select count(*), array_agg(q.code order by q.code) filter (
               where q.updated < generated - interval '5 minutes'
                 and q.code <> all (coalesce(old_codes, '{}'))
                 and q.code not in (select p.code from pg_temp.present p)
                 and not import.is_known_better(service, generated, q.time, q.updated))
    into in_window, gone
    from public.quake q
    where q.time between window_start and window_end and import.service_of(q.url) = service;

    would_retract := coalesce(cardinality(gone), 0);
    is_braked := not force and would_retract > 0
        and (would_retract > greatest(5, in_window / 10.0) or would_retract = in_window);
    if is_braked then return; end if;
    superseded := coalesce(cardinality(old_codes), 0);
    retracted := would_retract;
    if dry_run then return; end if;

    for i in 1 .. superseded loop
        perform set_config('history.reason', format('superseded by %s', new_codes[i]), true);
        delete from public.quake where code = old_codes[i];
    end loop;
    perform set_config('history.reason', format('retracted by %s', feed), true);
    delete from public.quake where code = any (gone);
    perform set_config('history.reason', '', true);

    insert into import.withdrawn as w (code, generated, reason)
    select o.code, generated, format('superseded by %s', new_codes[o.place])
    from unnest(old_codes) with ordinality as o(code, place)
    union all
    select g.code, generated, format('retracted by %s', feed) from unnest(gone) as g(code)
    on conflict (code) do update set generated = excluded.generated, reason = excluded.reason;
    insert into import.settled (service, feed, generated, window_start, window_end)
    values (service, feed, generated, window_start, window_end);
    delete from import.settled s where s.generated < generated - interval '40 days';
    delete from import.withdrawn w where w.generated < generated - interval '40 days';
end
$$;
comment on function import.settle(text, text, timestamptz, timestamptz, timestamptz, boolean, boolean) is
    'Deletes the events that a document shows to be renamed or withdrawn. Held by a brake: when more than 5 and more than a tenth of the window''s events would be retracted, or all of them, nothing is deleted.';

create table import.backfill (
    id bigint generated always as identity primary key,
    service text not null,
    window_start timestamptz not null,
    window_end timestamptz not null,
    minimum_magnitude double precision,
    newest_first boolean not null,
    reached timestamptz not null,
    events bigint not null default 0,
    expected bigint,
    requests bigint not null default 0,
    started_at timestamptz not null default now(),
    finished_at timestamptz
);
create unique index backfill_unfinished on import.backfill (service, newest_first, (coalesce(minimum_magnitude, '-infinity')))
    where finished_at is null;
comment on table import.backfill is 'Imports of a stretch of the past, window by window; one that was interrupted goes on where it was.';
comment on column import.backfill.id is 'Number of the backfill.';
comment on column import.backfill.service is 'URL of the FDSN event service.';
comment on column import.backfill.window_start is 'From this origin time on.';
comment on column import.backfill.window_end is 'Up to this origin time, exclusive.';
comment on column import.backfill.minimum_magnitude is 'Only events of this magnitude or more; null for all.';
comment on column import.backfill.newest_first is 'Whether it goes from the end to the start.';
comment on column import.backfill.reached is 'How far it has come: all between its beginning and this time is imported.';
comment on column import.backfill.events is 'Features that were imported so far.';
comment on column import.backfill.expected is 'How many the service counted at first.';
comment on column import.backfill.requests is 'Requests that were made so far.';
comment on column import.backfill.started_at is 'When it was begun.';
comment on column import.backfill.finished_at is 'When it was complete; null before.';
comment on index import.backfill_unfinished is 'One unfinished backfill of a kind.';
