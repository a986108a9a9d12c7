-- Settling decides from documents which events are gone.
--
-- A document is a statement that one service made at one moment. For each event, the newest statement about it decides:
--
--   a statement made at G that …              decides about event E …                    and says that E …
--   ----------------------------------------  -----------------------------------------  --------------------------------
--   lists E, revised at U                     always                                     exists, in the revision of U
--   has a feature of E that was rejected      always                                     exists, in an unreadable version:
--                                                                                        nothing changes
--   is complete for a window, and lacks E     if E's origin time is inside the window    is gone: retracted by FEED
--                                             by more than a minute, and E was revised
--                                             before G - 5 min
--   lists E among the ids of A, and has no    if E is of the statement's service, at     is gone: superseded by A
--   feature of E                              most 5 min from A in origin time, and not
--                                             revised after G
--   says that E was deleted at D, or does     if E is of the statement's service, and    is gone: deleted by SERVICE
--   not exist (without a time D)              was revised before D; without D, before G
--
-- If two statements have different versions of an event, the version that was revised later wins; if both were revised at the
-- same time, the version that was stated later wins. If one statement says that the event is gone and another of the same moment
-- does not, the event is gone.
--
-- The servers of one service can disagree for hours, so a newer document may list an event in an earlier revision. Then the event
-- exists in its later revision, and the ids of the earlier revision rename nothing.
--
-- Documents may arrive in any order. The table always ends up as if they had arrived in the order in which they were made. There
-- are two exceptions. Both need a document that lists an event in an earlier revision than a previous document did. First, if the
-- event was gone between the two documents, it may come back in either revision. Second, if the later revision arrives after the
-- earlier one, a conclusion that was drawn from the earlier revision stays until the next document. A document that arrives late
-- is compared with the newer documents. Three things are known about the newer documents:
--
-- - The events that are gone: import.withdrawn has all events that were deleted, and all that would have been deleted if the
--   table had contained them.
-- - The events that a newer document lacks: those in its window that are not in the table, except for the events that the
--   document has in an unreadable version (settled.rejected) and the events that a person has deleted (import.deleted).
-- - The events that a newer document lists: every row in its window. Listed events that are outside the window, were revised too
--   late to be covered, or have no row, are in settled.codes.

create table import.settled (
    service text collate "C" not null,
    feed text collate "C" not null,
    generated import.moment not null,
    covers tstzrange,
    codes text[] not null default '{}',
    rejected text[] not null default '{}',
    primary key (service, feed, generated),
    constraint settled_covers check (
        covers is null or isempty(covers) or coalesce(isfinite(lower(covers)) and isfinite(upper(covers)), false))
);
comment on constraint settled_covers on import.settled is 'covers has a beginning and an end, unless it is null or empty.';
comment on table import.settled is
    'The settled documents of the last 40 days. A document that arrives late is compared with the newer ones.';
comment on column import.settled.service is 'Host of the service that the document says it comes from.';
comment on column import.settled.feed is 'The feed, such as all_day.';
comment on column import.settled.generated is 'When the document was made.';
comment on column import.settled.covers is
    'Origin times for which the document has every event of its service; null if the document has only some events. The range is a minute shorter at either end than the document''s window, because a revision may move an event across an end of the window.';
comment on column import.settled.codes is
    'Events that the document lists but does not cover: events outside covers, events that were revised too late, events of another service, and events that are gone according to a newer statement. What counts is the document''s version of the event, or a later version in the table. An event that the feed''s next document lists in the same way is kept only in that document''s row.';
comment on column import.settled.rejected is 'Events of which the document has only versions that were rejected.';

create index settled_covers on import.settled using gist (covers, tstzrange(null, generated, '(]'))
    where covers is not null;
comment on index import.settled_covers is 'The documents that cover an origin time and were made at or after a given time; the cost does not depend on the number of other documents.';
create index settled_made on import.settled (generated);
comment on index import.settled_made is 'Whether any document is newer than a given one.';
create index settled_codes on import.settled (generated) where codes <> '{}';
comment on index import.settled_codes is 'Events that newer documents list without covering them.';

create table import.withdrawn (
    code text collate "C" not null,
    generated import.moment not null,
    reason text collate "C" not null,
    service text collate "C" not null default '',
    updated timestamptz not null default 'infinity',
    time timestamptz not null default '-infinity',
    primary key (code, service, reason, time)
);
comment on table import.withdrawn is
    'Events that are gone, according to a statement of the last 40 days. They were deleted, or would have been if the table had contained them. Only a later document or a later revision brings them back.';
comment on column import.withdrawn.code is 'The event that is gone.';
comment on column import.withdrawn.generated is 'When the latest statement that the event is gone was made.';
comment on column import.withdrawn.reason is
    'The reason of the deletion in the history: superseded by CODE, retracted by FEED, or deleted by SERVICE.';
comment on column import.withdrawn.service is 'Host of the event''s URL; empty if it has none.';
comment on column import.withdrawn.updated is 'Revisions of the event up to this time are gone. Later revisions are not affected.';
comment on column import.withdrawn.time is
    'For a renamed event, the origin time under the new code. Only an event whose origin time is at most 5 minutes away counts as gone. -infinity means any origin time.';

create index withdrawn_generated on import.withdrawn (generated);
comment on index import.withdrawn_generated is 'Whether a statement that is newer than a given document says that some event is gone.';

create function import.service_of(url text) returns text
language sql immutable parallel safe
return lower(substring(url from '^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?(\[[^]/?#]*\]|[^/?#:@]+)(?::[^/?#@]*)?(?:[/?#]|$)') collate "C");
comment on function import.service_of(text) is 'The host of a URL, which identifies the service that an event or a feed comes from.';

create function import.is_too_many(gone bigint, of bigint) returns boolean
language sql immutable parallel safe
return gone > greatest(5, of / 10.0);
comment on function import.is_too_many(bigint, bigint) is
    'The brake: whether this number of deletions is probably a mistake, because it is more than 5 and more than a tenth of this number of events.';

-- In 120 hours of real documents, the two origin times of a renamed event differ by at most 0.6 seconds, and a revision moves an
-- origin time by at most 8 seconds. Events of one sequence that are hours apart never have the same id. Five minutes leave room
-- for a network that locates an event badly at first.
create function import.is_same_time(one timestamptz, other timestamptz) returns boolean
language sql immutable parallel safe
return one between other - interval '5 minutes' and other + interval '5 minutes';
comment on function import.is_same_time(timestamptz, timestamptz) is
    'Whether two origin times are close enough for one event under two codes: at most 5 minutes apart.';

-- Events that a person deletes.

create table import.deleted (
    code text collate "C" primary key,
    service text,
    time import.moment not null,
    updated import.moment not null,
    deleted_at import.moment not null default clock_timestamp(),
    transaction xid8 not null default pg_current_xact_id()
);
comment on table import.deleted is
    'Events that a person or another program deleted in the last 40 days. No document says that they are gone, so the next import of a document that has them brings them back.';
comment on column import.deleted.code is 'Code of the deleted event.';
comment on column import.deleted.service is 'Host of the event''s URL.';
comment on column import.deleted.time is 'Origin time of the event.';
comment on column import.deleted.updated is 'When the event was last revised.';
comment on column import.deleted.deleted_at is 'When the event was deleted.';
comment on column import.deleted.transaction is
    'The transaction that deleted the event. Sources that were fetched before the commit of this transaction are fetched again.';

create index deleted_at on import.deleted (deleted_at);
comment on index import.deleted_at is 'Whether anything was deleted since a source was fetched.';
create index deleted_time on import.deleted (time);
comment on index import.deleted_time is 'The deleted events in the window of a document.';

create function import.note_deleted() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op = 'UPDATE' then
        insert into import.deleted (code, service, time, updated)
        values (old.code, import.service_of(old.url), old.time, old.updated)
        on conflict (code) do update
        set (service, time, updated, deleted_at, transaction) =
            row (excluded.service, excluded.time, excluded.updated, excluded.deleted_at, excluded.transaction);
    else
        insert into import.deleted (code, service, time, updated)
        select gone.code, import.service_of(gone.url), gone.time, gone.updated from old_rows as gone
        on conflict (code) do update
        set (service, time, updated, deleted_at, transaction) =
            row (excluded.service, excluded.time, excluded.updated, excluded.deleted_at, excluded.transaction);
    end if;
    return null;
end
$$;
comment on function import.note_deleted() is 'Trigger: notes the events that anyone except the import worker deleted.';

create trigger import_deleted after delete on public.quake referencing old table as old_rows
    for each statement when (current_setting('import.settling', true) is distinct from 'on')
    execute function import.note_deleted();
create trigger import_renamed after update of code on public.quake
    for each row when (old.code <> new.code)
    execute function import.note_deleted();

-- What newer documents say.

create function import.is_late(made timestamptz) returns boolean
language sql stable
begin atomic
    select exists (select from import.settled s where s.generated >= made)
           or exists (select from import.withdrawn w where w.generated >= made);
end;
comment on function import.is_late(timestamptz) is
    'Whether a document that was made at this time is late: a statement of the same time or later is known.';

-- Returns the documents, made at `made` or later, that would list the event in this revision if it existed. A revision made less
-- than 5 minutes before a document may have been too late to be part of it. The function is in SQL, so that the planner inlines
-- it.
create function import.covering(service text, made timestamptz, origin timestamptz, revised timestamptz)
returns setof import.settled
language sql stable
begin atomic
    select s.* from import.settled s
    where s.covers @> origin
      and tstzrange(null, s.generated, '(]') @> greatest(made, revised + interval '5 minutes')
      and s.service = $1 and s.generated > revised + interval '5 minutes';
end;
comment on function import.covering(text, timestamptz, timestamptz, timestamptz) is
    'The settled documents, made at a given time or later, that would list an event with this origin time and revision if it existed.';

-- Call this function for an event that is not in the table, or is there only in an earlier revision. If a document lists an
-- event, only a newer document can show that the event is gone.
create function import.gone(
    code text, service text, origin timestamptz, revised timestamptz, made timestamptz, source text, feed text, listed timestamptz)
returns table (generated timestamptz, reason text)
language sql stable
begin atomic
    select w.generated, w.reason from import.withdrawn w
    where w.code = $1 and w.generated >= greatest(made, listed) and revised <= w.updated
      and w.service = coalesce($2, '')
      and (w.time = '-infinity' or import.is_same_time(origin, w.time))
    union all
    select s.generated, format('retracted by %s', s.feed)
    from import.covering(service, greatest(made, listed), origin, revised) s
    where (s.generated > made or (s.service, s.feed) <> (source, $7)) and $1 <> all (s.rejected) and $1 <> all (s.codes)
      and not exists (select from only public.quake q
                      where q.code = $1 and import.service_of(q.url) = s.service
                        and s.covers @> q.time and s.generated > q.updated + interval '5 minutes')
      and not exists (select from import.deleted d where d.code = $1)
    limit 1;
end;
comment on function import.gone(text, text, timestamptz, timestamptz, timestamptz, text, text, timestamptz) is
    'Finds a statement that an event is gone, although a document lists it. source and feed are that document''s service and feed, and made is the time at which it was made; listed is the time at which the newest document that lists the event was made, or null.';

create function import.is_misdated(updated timestamptz) returns boolean
language sql stable parallel safe
return updated > now() + interval '1 day';
comment on function import.is_misdated(timestamptz) is
    'Whether a time of revision is so far in the future that it must be wrong. Any version replaces such a row, and any statement that its event is gone deletes it. Some clocks are ahead by minutes, so a day is allowed.';

-- Removes from pg_temp.incoming the features that newer documents contradict.
--
-- - An event may be gone. Then its row is deleted, too, if the row is an earlier revision than the feature: the newer document
--   would have listed the event if the event had existed.
-- - The event's row may be a later revision than the feature, or an equal revision that was stated later.
--
-- A newer document may also list the event in the row's revision although the feature is a later revision, because the servers of
-- one service can disagree. Then the event exists in the feature's revision. The newer document may not cover that revision, so
-- the event is added to that document's settled.codes.
--
-- The document still lists the removed features. Their ids count, too (is_current), unless the table has a later revision of the
-- event that no newer document lists.
create function import.sift(made timestamptz, service text, feed text, notes_presence boolean, dry_run boolean,
                            out stale bigint, out retracted bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    late record;
    deleted bigint;
    -- The codes that newer documents list without covering them, and when the newest of these documents was made.
    newer text[];
    newer_made timestamptz[];
begin
    select coalesce(array_agg(n.code), '{}'), array_agg(n.generated) into newer, newer_made
    from (select listed.code, max(s.generated) as generated
          from import.settled s cross join unnest(s.codes) as listed(code)
          where s.codes <> '{}' and s.generated >= made and (s.generated, s.feed, s.service) > (made, feed, service)
            -- Because of "is true", the incoming codes are hashed once; a join would search all of them for each code.
            and (listed.code in (select i.code from pg_temp.incoming i)) is true
          group by listed.code) as n;
    stale := 0;
    retracted := 0;
    perform set_config('import.settling', 'on', true);
    for late in
        select i.ctid as slot, i.code, i.ids, i.time, i.updated, import.service_of(i.url) as service,
               q.code is not null as is_stored, known.updated > i.updated as is_earlier, row.is_listed,
               import.service_of(q.url) as row_service, q.time as row_time, q.updated as row_updated,
               last.listed, gone.generated, gone.reason
        from pg_temp.incoming i
        -- Because of `offset 0`, here and below, each code is looked up in the index. A plain join may read the whole table for
        -- each code, if the statistics describe an empty table.
        left join lateral (select * from only public.quake where quake.code = i.code offset 0) as q on true
        -- A version that does not say when it was revised has its origin time instead. If both the row and the feature lack a
        -- revision time, neither counts as older, because a revision may move the origin time either way. Neither does if the
        -- row's time is in the future, because that is wrong.
        cross join lateral (
            select case when q.updated = q.time and i.updated = i.time or import.is_misdated(q.updated) then i.updated
                        else q.updated end as updated
        ) as known
        left join lateral (
            select greatest(
                newer_made[array_position(newer, i.code)],
                (select max(s.generated) from import.covering(import.service_of(q.url), made, q.time, q.updated) s
                 where i.code <> all (s.rejected))) as listed
        ) as last on q.code is null or known.updated < i.updated
        left join lateral import.gone(i.code, import.service_of(i.url), i.time, i.updated, made, service, feed, last.listed) as gone
          on q.code is null or known.updated < i.updated
        left join lateral (
            select q.code = any (newer)
                   or exists (select from import.covering(import.service_of(q.url), made, q.time, q.updated) s
                              where (s.generated, s.feed, s.service) > (made, feed, service) and q.code <> all (s.rejected)) as is_listed
        ) as row on known.updated >= i.updated
        where gone.reason is not null or known.updated > i.updated or row.is_listed
              or known.updated < i.updated and last.listed is not null
        order by i.code
    loop
        if late.reason is null and late.listed is not null then
            if not dry_run then
                update import.settled s set codes = s.codes || late.code
                where s.generated = late.listed and s.service = late.row_service and s.covers @> late.row_time
                  and late.code <> all (s.codes) and late.code <> all (s.rejected);
            end if;
            continue;
        end if;
        stale := stale + 1;
        if late.reason is not null and not dry_run then
            if late.is_stored then
                perform set_config('history.reason', late.reason, true);
                delete from only public.quake q where q.code = late.code and q.updated < late.updated;
                get diagnostics deleted = row_count;
                retracted := retracted + deleted;
            end if;
            insert into import.withdrawn as w (code, generated, reason, service, updated)
            values (late.code, late.generated, late.reason, coalesce(late.service, ''), late.updated)
            on conflict on constraint withdrawn_pkey do update
            set generated = greatest(w.generated, excluded.generated), updated = greatest(w.updated, excluded.updated);
        end if;
        if notes_presence then
            -- If the document lists the event in an earlier revision, what matters is whether the document covers the row.
            insert into pg_temp.present (code, ids, time, updated, is_current)
            values (late.code, late.ids, case when late.is_earlier then late.row_time else late.time end,
                    case when late.is_earlier then late.row_updated else late.updated end,
                    late.is_earlier is not true or late.is_listed);
        end if;
        delete from pg_temp.incoming i where i.ctid = late.slot;
    end loop;
    perform set_config('history.reason', '', true);
    perform set_config('import.settling', '', true);
end
$$;
comment on function import.sift(timestamptz, text, text, boolean, boolean) is
    'Removes the features of a late document that newer documents contradict, before the others are merged. If the event of a removed feature is gone, an earlier revision of the event in the table is deleted, too.';

-- Settles a document. Its features are in pg_temp.present (code, ids, time, updated, is_current; a rejected feature has no time).
-- The deletions that it states, if it states any, are in pg_temp.stated (code, deleted_at, service). These tables have no
-- statistics, so the queries use "not in", which hashes a table once. "not exists" might search the whole table for each row. A
-- document without a feed name is not a feed: it only states which events are gone, and is not stored in import.settled.
--
-- A document decides about every event in its window that no newer document lists. The lock keeps other workers from merging at
-- the same time. All earlier merges are committed, and all later features are compared with this document. If another program
-- changes a row meanwhile, the deletion checks that row again.
create function import.settle(
    service text, feed text, generated timestamptz, window_start timestamptz, window_end timestamptz,
    has_deletions boolean, features bigint, force boolean, dry_run boolean,
    out superseded bigint, out retracted bigint, out in_window bigint, out would_supersede bigint,
    out would_retract bigint, out is_braked boolean, out is_ahead boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
#variable_conflict use_variable
declare
    -- The document has every event with an origin time in this range. The range is shorter than the window, because revisions
    -- move origin times by seconds.
    covers constant tstzrange := case
        when window_start is null then null
        when window_end - window_start <= interval '2 minutes' then 'empty'
        else tstzrange(window_start + interval '1 minute', window_end - interval '1 minute', '()') end;
    -- The codes that other events of the document list among their ids, the codes and origin times of those events, and whether
    -- the listed events are gone.
    old_codes text[];
    new_codes text[];
    times timestamptz[];
    are_gone boolean[];
    -- For each of old_codes, when the deleted row was last revised; null if no row was deleted.
    renamed_updated timestamptz[];
    -- The codes in old_codes whose events are gone; the events that are missing from the document, and those of them that were
    -- dropped; and the events that were deleted according to the document.
    renamed text[];
    missing text[] := '{}';
    dropped_codes text[];
    dropped_updated timestamptz[];
    withdrawn text[] := '{}';
    renamed_in_window bigint := 0;
    -- The codes that newer documents list without covering them.
    newer text[];
    -- The codes that this document lists without covering them, including events of other services; and the codes of events that
    -- it has only in an unreadable version.
    uncovered text[];
    foreign_codes text[] := '{}';
    rejected text[];
    deleted bigint;
    deleted_updated timestamptz;
    speaker text;
    -- Whether newer statements may have removed features of this document.
    is_late boolean;
begin
    superseded := 0;
    retracted := 0;
    in_window := 0;
    would_supersede := 0;
    would_retract := 0;
    is_braked := false;
    is_ahead := generated > clock_timestamp() + interval '5 minutes';
    if is_ahead then return; end if;
    -- Keeps out other documents and all batches. The lock is on a private table, because anyone who may connect can take an
    -- advisory lock. A dry run blocks no other session.
    if not dry_run then
        lock table import.settled in share row exclusive mode;
    end if;
    if exists (select from import.settled s
               where s.service = service and s.feed = feed and s.generated = generated) then
        return;
    end if;
    newer := array(select listed.code from import.settled s cross join unnest(s.codes) as listed(code)
                   where s.codes <> '{}' and s.generated > generated);

    -- Renamed events. Codes that are not in the table, or whose rows don't match, are included, too: an older document that
    -- contains them may still arrive.
    select coalesce(array_agg(r.old_code), '{}'), array_agg(r.new_code), array_agg(r.time), array_agg(r.is_gone),
           coalesce(array_agg(distinct r.old_code) filter (where r.is_gone), '{}')
    into old_codes, new_codes, times, are_gone, renamed
    from (select distinct listed.code as old_code, new.code as new_code, new.time,
                 import.service_of(old.url) = service and import.is_same_time(old.time, new.time)
                 and (old.updated <= generated or import.is_misdated(old.updated))
                 and not (old.code = any (newer)
                          or exists (select from import.covering(service, generated, old.time, old.updated) s
                                     where s.generated > generated and old.code <> all (s.rejected))) as is_gone
          from pg_temp.present new
          cross join unnest(new.ids) as listed(code)
          left join lateral (select * from only public.quake where quake.code = listed.code offset 0) as old on true
          -- No event has a longer code, and import.withdrawn can't keep one.
          where new.is_current and listed.code <> new.code and octet_length(listed.code) <= 64
            and listed.code not in (select p.code from pg_temp.present p)
          order by old_code, new_code) as r;

    -- Events that were deleted, according to their service or to another service that passes the deletion on.
    if has_deletions then
        features := features + (select count(distinct said.code) from pg_temp.stated said);
        select coalesce(array_agg(distinct q.code), '{}') into withdrawn
        from pg_temp.stated said
        cross join lateral (select * from only public.quake where quake.code = said.code offset 0) as q
        where coalesce(import.service_of(q.url), '') = said.service
          and (q.updated < said.deleted_at or import.is_misdated(q.updated))
          and q.code <> all (renamed)
          and not (q.code = any (newer)
                   or exists (select from import.covering(said.service, generated, q.time, q.updated) s
                              where s.generated > generated and q.code <> all (s.rejected)));
    end if;

    -- Missing events: those in the document's window that are not in the document.
    if window_start is not null then
        select count(*) filter (where q.is_own), count(*) filter (where q.is_own and q.code = any (renamed)),
               coalesce(array_agg(q.code order by q.code) filter (
                   where q.is_own and (q.updated < generated - interval '5 minutes' or import.is_misdated(q.updated))
                     and not q.is_present and q.code <> all (renamed) and q.code <> all (withdrawn)
                     and not (q.code = any (newer)
                              or exists (select from import.covering(service, generated, q.time, q.updated) s
                                         where s.generated > generated and q.code <> all (s.rejected)))), '{}'),
               coalesce(array_agg(q.code) filter (where q.is_own is not true and q.is_present), '{}')
        into in_window, renamed_in_window, missing, foreign_codes
        from (select q.code, q.time, q.updated, import.service_of(q.url) = service as is_own,
                     q.code in (select p.code from pg_temp.present p) as is_present
              from only public.quake q
              where q.time > lower(covers) and q.time < upper(covers)
              -- Without `offset 0`, is_own and is_present would be computed again in each expression that uses them.
              offset 0) as q;
        -- A real import has already inserted the new events at this point. A dry run has not, so they are added here.
        if dry_run then
            in_window := in_window + (
                select count(distinct p.code) from pg_temp.present p
                where p.time > lower(covers) and p.time < upper(covers)
                  and not exists (select from only public.quake q where q.code = p.code offset 0));
        end if;
    end if;

    -- The brake.
    would_supersede := cardinality(renamed);
    would_retract := cardinality(missing) + cardinality(withdrawn);
    is_braked := not force and (
        import.is_too_many(would_supersede + cardinality(withdrawn), features)
        or in_window > 0
           and (import.is_too_many(would_supersede + would_retract, in_window)
                or renamed_in_window + cardinality(missing) = in_window));
    if is_braked then return; end if;
    if dry_run then
        superseded := would_supersede;
        retracted := would_retract;
        return;
    end if;

    -- Delete.
    perform set_config('import.settling', 'on', true);
    renamed_updated := array_fill(null::timestamptz, array[cardinality(old_codes)]);
    for i in 1 .. cardinality(old_codes) loop
        continue when are_gone[i] is not true;
        perform set_config('history.reason', format('superseded by %s', new_codes[i]), true);
        delete from only public.quake q where q.code = old_codes[i] and (q.updated <= generated or import.is_misdated(q.updated))
        returning q.updated into deleted_updated;
        if found then
            superseded := superseded + 1;
            renamed_updated[i] := deleted_updated;
        end if;
    end loop;
    if missing <> '{}' then
        perform set_config('history.reason', format('retracted by %s', feed), true);
        with dropped as (
            delete from only public.quake q
            where q.code = any (missing) and q.time <@ covers
              and (q.updated < generated - interval '5 minutes' or import.is_misdated(q.updated))
            returning q.code, q.updated)
        select array_agg(d.code), array_agg(d.updated), count(*) into dropped_codes, dropped_updated, retracted from dropped d;
    end if;
    if withdrawn <> '{}' then
        for speaker in select distinct said.service from pg_temp.stated said order by 1 loop
            perform set_config('history.reason', format('deleted by %s', coalesce(nullif(speaker, ''), 'its document')), true);
            delete from only public.quake q
            using pg_temp.stated said
            where q.code = said.code and q.code = any (withdrawn) and (q.updated < said.deleted_at or import.is_misdated(q.updated))
              and said.service = speaker and coalesce(import.service_of(q.url), '') = speaker;
            get diagnostics deleted = row_count;
            retracted := retracted + deleted;
        end loop;
    end if;
    perform set_config('history.reason', '', true);
    perform set_config('import.settling', '', true);

    -- Remember what is gone. The entry for an event that a person deleted is removed from import.deleted if the event is back, or
    -- if this document lacks the event, too.
    if exists (select from import.deleted) then
        delete from import.deleted d using pg_temp.present p
        where d.code = p.code and exists (select from only public.quake q where q.code = d.code offset 0);
    end if;
    if has_deletions then
        insert into import.withdrawn as w (code, generated, reason, service, updated)
        select said.code, generated, format('deleted by %s', coalesce(nullif(said.service, ''), 'its document')), said.service,
               max(said.deleted_at) - interval '1 microsecond'
        from pg_temp.stated said
        group by said.code, said.service
        on conflict on constraint withdrawn_pkey do update
        set generated = greatest(w.generated, excluded.generated), updated = greatest(w.updated, excluded.updated);
    end if;
    with lacking as (
        delete from import.deleted d
        where d.service = service and d.time > lower(covers) and d.time < upper(covers)
          and d.updated < generated - interval '5 minutes'
          and d.code not in (select p.code from pg_temp.present p)
          and d.code <> all (newer)
          and not exists (select from import.covering(service, generated, d.time, d.updated) s
                          where s.generated > generated)
        returning d.code, d.updated)
    insert into import.withdrawn as w (code, generated, reason, service, updated, time)
    select g.code, generated, g.reason, g.service, max(g.updated), g.time
    from (select o.code, format('superseded by %s', o.new_code) as reason, service, generated as updated, o.time
          from unnest(old_codes, new_codes, times) as o(code, new_code, time)
          union all
          -- For a deleted row, every revision up to the deleted one is gone, regardless of its origin time (-infinity).
          select o.code, format('superseded by %s', o.new_code), service, o.updated, '-infinity'
          from unnest(old_codes, new_codes, renamed_updated) as o(code, new_code, updated) where o.updated is not null
          union all
          select d.code, format('retracted by %s', feed), service, d.updated, '-infinity'
          from (select d.code, d.updated from unnest(dropped_codes, dropped_updated) as d(code, updated)
                union all select l.code, l.updated from lacking l) as d) as g
    group by g.code, g.reason, g.service, g.time
    on conflict on constraint withdrawn_pkey do update
    set generated = greatest(w.generated, excluded.generated), updated = greatest(w.updated, excluded.updated);

    delete from import.settled s where s.generated < generated - interval '40 days';
    delete from import.withdrawn w where w.generated < generated - interval '40 days';
    delete from import.deleted d where d.deleted_at < clock_timestamp() - interval '40 days';
    if feed is null then return; end if;

    -- Remember the document.
    rejected := array(select p.code from pg_temp.present p where p.time is null);
    if rejected <> '{}' then
        rejected := array(select listed.code from unnest(rejected) as listed(code)
                          except select p.code from pg_temp.present p where p.time is not null);
        foreign_codes := array(select listed.code from unnest(foreign_codes) as listed(code)
                               where listed.code <> all (rejected));
    end if;
    is_late := import.is_late(generated);
    uncovered := foreign_codes || array(
        select p.code from pg_temp.present p
        where p.time is not null
          and (covers is null or isempty(covers) or p.time <= lower(covers) or p.time >= upper(covers)
               or p.updated >= generated - interval '5 minutes'
               or is_late and not exists (select from only public.quake q where q.code = p.code offset 0)));
    insert into import.settled (service, feed, generated, covers, codes, rejected)
    values (service, feed, generated, covers, uncovered, rejected);
    if uncovered <> '{}' then
        -- The entry of the feed's previous document need not keep these codes any longer.
        update import.settled s
        set codes = array(select listed.code from unnest(s.codes) as listed(code)
                          where listed.code not in (select own.code from unnest(uncovered) as own(code)))
        where s.service = service and s.feed = feed and s.codes && uncovered
          and s.generated = (select max(before.generated) from import.settled before
                             where before.service = service and before.feed = feed and before.generated < generated);
    end if;
end
$$;
comment on function import.settle(
    text, text, timestamptz, timestamptz, timestamptz, boolean, bigint, boolean, boolean) is
    'Deletes the events that a document shows to be renamed or withdrawn, and the events that it says were deleted. Unless force is true, a brake prevents mistakes: nothing is deleted if all events in the document''s window would be deleted, or more than 5 that are also more than a tenth of the events in the window or in the document. A document that claims to be made more than 5 minutes in the future settles nothing either.';

-- Coverage: the origin times that were imported completely.
--
-- The table has events, but it cannot show their absence: if it has no earthquakes in a month, either none happened, or the month
-- was never imported. So import.coverage notes which periods were imported completely, by settled documents (summary feeds, and
-- sweeps by origin times), by backfills, and by single queries to an event service. Triggers on the worker's tables do this,
-- because the worker does not depend on reports.

create table import.coverage (
    service text collate "C" not null,
    minimum_magnitude double precision not null default '-infinity',
    south double precision not null default -90,
    west double precision not null default -180,
    north double precision not null default 90,
    east double precision not null default 180,
    periods tstzmultirange not null,
    noted_at import.moment not null default clock_timestamp(),
    primary key (service, minimum_magnitude, south, west, north, east),
    constraint coverage_magnitude check (minimum_magnitude = '-infinity' or minimum_magnitude between -12 and 12),
    constraint coverage_area check (
        south between -90 and 90 and north between south and 90 and west between -360 and 360 and east between -360 and 360),
    constraint coverage_times check (
        not isempty(periods) and not lower_inf(periods) and not upper_inf(periods)
        and lower(periods) >= '0001-01-01 00:00:00+00' and upper(periods) <= '9999-12-31 23:59:59.999999+00')
);
comment on constraint coverage_magnitude on import.coverage is 'minimum_magnitude is between -12 and 12, or it is -infinity.';
comment on constraint coverage_area on import.coverage is
    'Latitudes are between -90 and 90, with the southern edge not north of the northern edge; longitudes are between -360 and 360.';
comment on constraint coverage_times on import.coverage is
    'The periods begin and end in the years 1 to 9999, in UTC.';
comment on table import.coverage is
    'Periods of origin times that were imported completely, by service, smallest magnitude and area: every event that the service had published at the time of the import is included. Deletions that were made here later are not taken into account.';
comment on column import.coverage.service is 'Host of the service that published the events.';
comment on column import.coverage.minimum_magnitude is 'The smallest magnitude that was imported; -infinity if all magnitudes were.';
comment on column import.coverage.south is 'The area''s southern edge, in degrees.';
comment on column import.coverage.west is 'The area''s western edge, in degrees.';
comment on column import.coverage.north is 'The area''s northern edge, in degrees.';
comment on column import.coverage.east is 'The area''s eastern edge, in degrees. If the western edge is greater, the area lies across the date line.';
comment on column import.coverage.periods is 'The periods of origin times.';
comment on column import.coverage.noted_at is 'When the periods of this service, magnitude and area last grew.';

create function import.note_coverage(
    service text, minimum_magnitude double precision, period tstzrange, south double precision default -90,
    west double precision default -180, north double precision default 90, east double precision default 180) returns void
-- A function in SQL would be planned at each call, in every round of a daemon, and would cost five times as much.
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into import.coverage as known (service, minimum_magnitude, south, west, north, east, periods)
    select $1, coalesce($2, '-infinity'), $4, $5, $6, $7, tstzmultirange(possible.period)
    from (select $3 * tstzrange('0001-01-01 00:00:00+00', '9999-12-31 00:00:00+00') as period) as possible
    where $1 is not null and isfinite(lower($3)) and isfinite(upper($3)) and not isempty(possible.period)
    on conflict on constraint coverage_pkey do update
    set periods = known.periods + excluded.periods, noted_at = excluded.noted_at
    where not known.periods @> excluded.periods;
end
$$;
comment on function import.note_coverage(
    text, double precision, tstzrange, double precision, double precision, double precision, double precision) is
    'Notes that all events of a service with these origin times, of at least this magnitude and in this area, were imported.';

create function import.note_settled() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
    -- The summary feeds are complete above a magnitude, except for the feeds of significant events, which are a selection.
    name constant text[] := regexp_match(new.feed, '^(all|[0-9.]+)_(hour|day|week|month)$');
begin
    if name is not null then
        perform import.note_coverage(
            new.service, case when name[1] <> 'all' then name[1]::double precision end,
            tstzrange(new.generated - case name[2] when 'month' then interval '30 days' else ('1 ' || name[2])::interval end,
                      new.generated));
    else
        perform import.note_coverage(new.service, null, new.covers * tstzrange(null, new.generated));
    end if;
    return null;
end
$$;
comment on function import.note_settled() is 'Trigger: notes the coverage of a settled document.';
create trigger settled_coverage after insert on import.settled for each row execute function import.note_settled();

create function import.note_backfill() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform import.note_coverage(
        import.service_of(new.service), new.minimum_magnitude,
        -- The catalogue cannot hold a period in the future. With newest_first, the last window was read when the backfill began.
        case when new.newest_first then tstzrange(new.reached, new.window_end) * tstzrange(null, new.began_at)
             else tstzrange(new.window_start, new.reached) * tstzrange(null, clock_timestamp()) end);
    return null;
end
$$;
comment on function import.note_backfill() is 'Trigger: notes the period that a backfill has imported.';
create trigger backfill_coverage after insert or update of reached on import.backfill
    for each row execute function import.note_backfill();

create function import.note_query() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
    parameters jsonb;
    since timestamptz;
    until timestamptz;
    west double precision;
    east double precision;
begin
    select jsonb_object_agg(
               case name[1] when 'start' then 'starttime' when 'end' then 'endtime' when 'minmag' then 'minmagnitude'
                            when 'minlat' then 'minlatitude' when 'maxlat' then 'maxlatitude'
                            when 'minlon' then 'minlongitude' when 'maxlon' then 'maxlongitude' else name[1] end,
               replace(replace(name[2], '%3A', ':'), '%2B', '+'))
    into parameters
    from regexp_split_to_table(split_part(new.feed, '?', 2), '&') as parameter, regexp_match(parameter, '^([^=]*)=?(.*)$') as name
    where parameter <> '';
    -- An empty response proves nothing: a broken service also gives empty responses, and a document may claim to be from any URL.
    -- Any other parameter selects fewer events. A response ends at the time of the request at the latest. For a file, that is the
    -- time at which the document was made.
    if new.seen = new.rejected or parameters - '{format,orderby,nodata,starttime,endtime,minmagnitude,minlatitude,maxlatitude,minlongitude,maxlongitude}'::text[]
       <> '{}' or not parameters ? 'starttime' or new.generated is null and new.source !~* '^https?://' then
        return null;
    end if;
    -- Refuses words that only PostgreSQL accepts as a time, such as epoch.
    if parameters ->> 'starttime' !~ '^[0-9]{4}-[0-9T:.Z+-]+$' or parameters ->> 'endtime' !~ '^[0-9]{4}-[0-9T:.Z+-]+$' then
        return null;
    end if;
    since := (parameters ->> 'starttime')::timestamptz;
    until := least((parameters ->> 'endtime')::timestamptz, new.generated, new.started);
    west := coalesce((parameters ->> 'minlongitude')::double precision, -180);
    east := coalesce((parameters ->> 'maxlongitude')::double precision, 180);
    -- Some services also accept longitudes beyond 180 degrees. Between 180 degrees west and east, a box may lie across the date
    -- line, with the greater longitude in the west.
    if west = east or west > east and (west > 180 or east < -180) then return null; end if;
    if east - west >= 360 then
        west := -180;
        east := 180;
    else
        west := west - 360 * floor((west + 180) / 360);
        east := east - 360 * ceil((east - 180) / 360);
    end if;
    if since < until then
        perform import.note_coverage(
            import.service_of(new.feed), (parameters ->> 'minmagnitude')::double precision, tstzrange(since, until),
            coalesce((parameters ->> 'minlatitude')::double precision, -90), west,
            coalesce((parameters ->> 'maxlatitude')::double precision, 90), east);
    end if;
    return null;
exception when data_exception or check_violation then
    -- A service may accept other forms of a parameter, so the texts may not be valid times or numbers here.
    return null;
end
$$;
comment on function import.note_query() is 'Trigger: notes the coverage of a query to an event service whose answer was imported completely.';
create trigger run_coverage after update of outcome on import.run
    for each row when (new.outcome = 'done' and new.feed ~ '/fdsnws/event/1/query[?]') execute function import.note_query();

-- A login that may execute a trigger function can attach it to its own table, and the casts of that table's types then run the
-- login's code with the rights of the function's owner.
revoke execute on function import.note_deleted(), import.note_settled(), import.note_backfill(), import.note_query() from public;
