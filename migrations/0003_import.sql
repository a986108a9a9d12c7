-- What the import worker keeps about its own work. The schema itself holds the list of applied migrations too, so the
-- migrator creates it.

-- Runs.

create table import.run (
    id bigint generated always as identity primary key,
    source text not null,
    feed text,
    started timestamptz not null default clock_timestamp(),
    finished timestamptz,
    outcome text not null default 'running'
        check (outcome in ('running', 'done', 'failed', 'cancelled')),
    seen bigint not null default 0,
    inserted bigint not null default 0,
    updated bigint not null default 0,
    unchanged bigint not null default 0,
    stale bigint not null default 0,
    superseded bigint not null default 0,
    retracted bigint not null default 0,
    rejected bigint not null default 0,
    bytes bigint not null default 0,
    first_token bigint,
    last_token bigint,
    error text,
    every interval,
    forgotten boolean not null default false
);
comment on table import.run is
    'Imports, one row per run. Each batch updates the counts in its own transaction, so they tell what was committed even if the run failed later.';
comment on column import.run.id is 'Number of the run.';
comment on column import.run.source is 'What was imported: a URL without its secrets, a path, or - for standard input.';
comment on column import.run.feed is 'Which feed the document says it is: the url in its metadata, without secrets.';
comment on column import.run.started is 'When the run began.';
comment on column import.run.finished is 'When the run ended; null while it runs, or if the worker died.';
comment on column import.run.outcome is 'running, done, failed or cancelled.';
comment on column import.run.seen is 'Features in the document; always inserted + updated + unchanged + stale + rejected.';
comment on column import.run.inserted is 'Events that were new.';
comment on column import.run.updated is 'Events whose row changed.';
comment on column import.run.unchanged is 'Features that equalled the stored row.';
comment on column import.run.stale is
    'Features older than the stored row, or than another feature of the document with the same code.';
comment on column import.run.superseded is 'Events deleted because they were renamed.';
comment on column import.run.retracted is 'Events deleted because they were withdrawn upstream.';
comment on column import.run.rejected is 'Features that could not be imported; see import.reject.';
comment on column import.run.bytes is 'Size of the document in bytes after decompression, as far as it was committed.';
comment on column import.run.first_token is 'History token of the run''s first transaction that changed something.';
comment on column import.run.last_token is 'History token of the run''s last transaction that changed something.';
comment on column import.run.error is 'What went wrong, in one line. If the run is done all the same: what is wrong with its document.';

comment on column import.run.every is 'The interval at which the daemon that made the run imports the source; null for a run of its own.';
comment on column import.run.forgotten is
    'Whether `quakes forget` has dropped the source since. Such a run stays only because a reject names it.';

create index run_started on import.run (started);
comment on index import.run_started is 'The latest runs.';
create index run_source on import.run (source, id);
comment on index import.run_source is 'The sources, and the last run of each.';
create index run_running on import.run (source) where outcome = 'running';
comment on index import.run_running is 'Runs whose worker may have died.';
create index run_done on import.run (source, finished) where outcome = 'done' and not forgotten;
comment on index import.run_done is 'When a source was last imported successfully.';

create table import.reject (
    id bigint generated always as identity primary key,
    run bigint not null references import.run,
    ordinal bigint not null,
    byte_offset bigint not null,
    reason text not null,
    message text not null,
    raw bytea not null,
    size bigint not null,
    cut boolean not null generated always as (octet_length(raw) < size) stored,
    hash bytea not null generated always as (sha256(raw)) stored,
    count bigint not null default 1,
    first_seen timestamptz not null default now(),
    last_seen timestamptz not null default now(),
    unique (hash, size, reason)
);
comment on table import.reject is
    'Features that could not be imported. The same broken bytes are stored once and counted.';
comment on column import.reject.id is 'Number of the reject.';
comment on column import.reject.run is 'The last run that met it.';
comment on column import.reject.ordinal is 'Position of the feature in that run''s document, from 1.';
comment on column import.reject.byte_offset is 'Where the feature began in that document after decompression, in bytes from 0.';
comment on column import.reject.reason is 'syntax, encoding, missing, type, range, duplicate, size or refused.';
comment on column import.reject.message is 'What is wrong, naming the member.';
comment on column import.reject.raw is 'The feature''s bytes, at most the first 64 KiB.';
comment on column import.reject.size is 'Size of the feature in the document, in bytes.';
comment on column import.reject.cut is 'Whether raw holds only the beginning.';
comment on column import.reject.hash is 'SHA-256 of raw.';
comment on column import.reject.count is 'How often these bytes were met.';
comment on column import.reject.first_seen is 'When they were first met.';
comment on column import.reject.last_seen is 'When they were last met.';
comment on constraint reject_hash_size_reason_key on import.reject is 'Stores the same bytes once.';

create index reject_run on import.reject (run);
comment on index import.reject_run is 'The rejects of a run.';

create table import.feed (
    source text primary key,
    etag text,
    last_modified text,
    generated timestamptz,
    checked_at timestamptz not null
);
comment on table import.feed is
    'What each URL said about itself when it was last imported successfully. An unchanged document is not fetched again.';
comment on column import.feed.source is
    'The URL without its secrets: user, password, and the query except for the parameters of an event service.';
comment on column import.feed.etag is 'Its entity tag (RFC 9110, 8.8.3).';
comment on column import.feed.last_modified is 'When it was last modified, in the server''s words (RFC 9110, 8.8.2).';
comment on column import.feed.generated is 'When the document was made, by its own account.';
comment on column import.feed.checked_at is 'When it was last asked for successfully, changed or not.';

-- One index look-up per source, however many runs there are.
create view import.last_run as
with recursive last as (
    (select * from import.run where not forgotten order by source desc, id desc limit 1)
    union all
    select next.*
    from last, lateral (select * from import.run where run.source < last.source and not forgotten
                        order by source desc, id desc limit 1) as next),
fresh as (
    select last.*, feed.generated,
           greatest((select max(finished) from import.run
                     where run.source = last.source and outcome = 'done' and not run.forgotten),
                    feed.checked_at) as fresh_at
    from last left join import.feed on feed.source = last.source)
select source, id as run, outcome, started, seen, inserted, updated, superseded, retracted, rejected, error, fresh_at,
       generated, every, every is not null or source ~* '^https?://' and fresh_at is not null as is_monitored
from fresh;
comment on view import.last_run is 'The last run of each source, and how fresh the source is.';
comment on column import.last_run.source is 'A URL, a path, or - for standard input.';
comment on column import.last_run.run is 'Number of the source''s last run.';
comment on column import.last_run.outcome is 'How that run ended: running, done, failed or cancelled.';
comment on column import.last_run.started is 'When that run began.';
comment on column import.last_run.seen is 'Features in its document.';
comment on column import.last_run.inserted is 'Events that were new.';
comment on column import.last_run.updated is 'Events whose row changed.';
comment on column import.last_run.superseded is 'Events deleted because they were renamed.';
comment on column import.last_run.retracted is 'Events deleted because they were withdrawn upstream.';
comment on column import.last_run.rejected is 'Features that could not be imported.';
comment on column import.last_run.error is 'What went wrong, in one line.';
comment on column import.last_run.fresh_at is
    'When the source was last imported successfully, or asked for and found unchanged; null if never.';
comment on column import.last_run.generated is
    'When the newest document of a URL that was imported successfully was made, by its own account.';
comment on column import.last_run.every is 'The interval at which a daemon imports the source; null if the last run was made by none.';
comment on column import.last_run.is_monitored is
    'Whether a monitor should expect the source to be fresh: a daemon imports it, or it is a URL that was imported successfully at least once. A file, standard input and a URL that never worked do not count.';

-- What keeps two runs away from one source.
--
-- An advisory lock alone would not do: anyone who may connect can take one, and pg_locks shows everyone the keys of those
-- that are held. So each source has a key drawn at random, noted here, where only workers can write, with the session that
-- took it. The same lock in another session's hands means nothing: the next run draws another key.

create table import.lock (
    name text primary key,
    key bigint not null default 0,
    pid integer not null default 0
);
comment on table import.lock is 'Which session imports a source, or was the last to import it.';
comment on column import.lock.name is 'The source.';
comment on column import.lock.key is 'Key of that session''s advisory lock, drawn at random.';
comment on column import.lock.pid is 'Process number of that session.';

create function import.try_lock(name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    last import.lock;
begin
    -- The commit need not wait for the disk: what a crash would lose is of sessions that it has ended.
    perform set_config('synchronous_commit', 'off', true);
    -- From here on, one session at a time.
    select l.* into last from import.lock l where l.name = name for update;
    if not found then
        insert into import.lock (name) values (name) on conflict do nothing;
        select l.* into last from import.lock l where l.name = name for update;
    end if;
    -- Whoever gets the lock of the last run, or has it already, may keep it: the lock counts how often.
    if last.key = 0 or not pg_try_advisory_lock(last.key) then
        if exists (select from pg_locks k
                   where k.locktype = 'advisory' and k.granted and k.pid = last.pid
                     and k.database = (select d.oid from pg_database d where d.datname = current_database())
                     and k.objsubid = 1 and (k.classid::bigint << 32 | k.objid::bigint) = last.key) then
            return false;
        end if;
        -- Somebody else has it, so this run needs another one.
        last.key := ('x' || translate(left(gen_random_uuid()::text, 18), '-', ''))::bit(64)::bigint;
        perform pg_advisory_lock(last.key);
    end if;
    update import.lock l set key = last.key, pid = pg_backend_pid() where l.name = name;
    return true;
end
$$;
comment on function import.try_lock(text) is
    'Takes a source for this session, until unlock or the session''s end. False if another session has it.';

create function import.unlock(name text) returns boolean
language sql
set search_path = pg_catalog, pg_temp
return (select pg_advisory_unlock(l.key) from import.lock l where l.name = $1 and l.pid = pg_backend_pid());
comment on function import.unlock(text) is 'Gives back a source that this session has taken.';

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

-- Backfills.

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
comment on table import.backfill is
    'Imports of a stretch of the past, window by window. An interrupted one continues where it stopped.';
comment on column import.backfill.id is 'Number of the backfill.';
comment on column import.backfill.service is 'URL of the FDSN event service, without user and password.';
comment on column import.backfill.window_start is 'Earliest origin time.';
comment on column import.backfill.window_end is 'Latest origin time, exclusive.';
comment on column import.backfill.minimum_magnitude is 'Smallest magnitude; null for all.';
comment on column import.backfill.newest_first is 'Whether it goes from the end to the start.';
comment on column import.backfill.reached is 'How far it has come: everything between where it began and this time is imported.';
comment on column import.backfill.events is 'Features imported so far.';
comment on column import.backfill.expected is 'How many events the service counted at the start.';
comment on column import.backfill.requests is 'Requests made so far.';
comment on column import.backfill.started_at is 'When it was started.';
comment on column import.backfill.finished_at is 'When it was complete; null until then.';

create unique index backfill_unfinished on import.backfill (service, newest_first, (coalesce(minimum_magnitude, '-infinity')))
    where finished_at is null;
comment on index import.backfill_unfinished is 'One unfinished backfill of each kind.';
