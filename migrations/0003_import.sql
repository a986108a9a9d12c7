-- The import worker's own records. The migrator creates the schema import before this migration, because the list of applied
-- migrations is also in this schema.

-- These domains refuse absurd times and counts, because a single absurd value would break status, metrics and reports for
-- everyone.
create domain import.moment as timestamptz check (value between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00');
comment on domain import.moment is 'A time in the years 1 to 9999, in UTC.';
create domain import.amount as bigint check (value between 0 and 1000000000000);
comment on domain import.amount is 'A number of events, bytes or the like: not negative, and at most 10^12.';

-- Runs.

create table import.run (
    id bigint generated always as identity primary key,
    source text collate "C" not null,
    feed text,
    generated import.moment,
    started import.moment not null default clock_timestamp(),
    finished import.moment,
    outcome text not null default 'running'
        check (outcome in ('running', 'done', 'failed', 'cancelled')),
    seen import.amount not null default 0,
    inserted import.amount not null default 0,
    updated import.amount not null default 0,
    unchanged import.amount not null default 0,
    stale import.amount not null default 0,
    superseded import.amount not null default 0,
    retracted import.amount not null default 0,
    rejected import.amount not null default 0,
    bytes import.amount not null default 0,
    first_token bigint,
    last_token bigint,
    error text,
    every interval check (every between '0' and '1000 years'
                          and date_part('year', every) = 0 and date_part('month', every) = 0),
    snapshot pg_snapshot not null default pg_current_snapshot()
);
comment on table import.run is
    'Imports, one row per run. Each batch updates the counts in its own transaction, so the counts include exactly what was committed, even if the run failed later.';
comment on column import.run.id is 'Number of the run.';
comment on column import.run.source is 'The imported source: a URL without its secrets, a path, or - for standard input.';
comment on column import.run.feed is 'The URL of the feed, as the document''s metadata gives it, without secrets. For a query to an event service whose complete answer does not give it, the requested URL.';
comment on column import.run.generated is 'When the document was made, according to the document itself.';
comment on column import.run.started is 'When the run began.';
comment on column import.run.finished is 'When the run ended, or when a later import found that its worker had died; null until then.';
comment on column import.run.outcome is 'running, done, failed or cancelled.';
comment on column import.run.seen is 'Features in the document; always inserted + updated + unchanged + stale + rejected.';
comment on column import.run.inserted is 'Events that were new.';
comment on column import.run.updated is 'Events whose row changed.';
comment on column import.run.unchanged is 'Features that equalled the stored row.';
comment on column import.run.stale is
    'Features older than the stored row, or than another feature of the document with the same code.';
comment on column import.run.superseded is 'Events deleted because they were renamed.';
comment on column import.run.retracted is 'Events deleted because they were withdrawn upstream.';
comment on column import.run.rejected is 'Features that could not be imported; the rejects say why.';
comment on column import.run.bytes is 'Size in bytes, after decompression, of the part of the document that was committed.';
comment on column import.run.first_token is 'History token of the run''s first transaction that changed something.';
comment on column import.run.last_token is 'History token of the run''s last transaction that changed something.';
comment on column import.run.error is 'The error of the run, in one line; for a run that is done, what is wrong with its document.';
comment on column import.run.every is 'The interval at which the daemon that made the run imports the source; null for a single run.';
comment on column import.run.snapshot is
    'The transactions that were committed before the run began. The run may not have seen deletions that others committed later.';

create index run_started on import.run (started);
comment on index import.run_started is 'The latest runs.';
create index run_source on import.run (source, id);
comment on index import.run_source is 'The sources, and the last run of each.';
create index run_running on import.run (source) where outcome = 'running';
comment on index import.run_running is 'Runs whose worker may have died.';
create index run_done on import.run (source, finished) where outcome = 'done';
comment on index import.run_done is 'When a source was last imported successfully.';

create table import.reject (
    id bigint generated always as identity primary key,
    run bigint not null,
    source text collate "C" not null,
    ordinal import.amount not null,
    byte_offset import.amount not null,
    reason text collate "C" not null,
    message text not null,
    raw bytea not null,
    size import.amount not null,
    cut boolean not null generated always as (octet_length(raw) < size) stored,
    hash bytea not null generated always as (sha256(raw)) stored,
    count import.amount not null default 1,
    first_seen import.moment not null default now(),
    last_seen import.moment not null default now(),
    unique (hash, size, reason)
);
comment on table import.reject is
    'Features that could not be imported. The same broken bytes are stored once and counted.';
comment on column import.reject.id is 'Number of the reject.';
comment on column import.reject.run is 'The last run that rejected these bytes. The run itself may have been pruned or forgotten.';
comment on column import.reject.source is 'The source that this run imported.';
comment on column import.reject.ordinal is 'Position of the feature in that run''s document, from 1.';
comment on column import.reject.byte_offset is 'Where the feature began in that document after decompression, in bytes from 0.';
comment on column import.reject.reason is
    'syntax, encoding, missing, type, range, duplicate, size or refused; for a deletion that a service states, also unnamed (the deletion names no event) or status (the event exists, or the document states more than 100,000 deletions).';
comment on column import.reject.message is 'What is wrong with the feature, with the name of the member that is wrong.';
comment on column import.reject.raw is 'The feature''s bytes, at most the first 64 KiB.';
comment on column import.reject.size is 'Size of the feature in the document, in bytes.';
comment on column import.reject.cut is 'Whether raw has only the beginning of the feature.';
comment on column import.reject.hash is 'SHA-256 of raw.';
comment on column import.reject.count is 'How often the same bytes were rejected.';
comment on column import.reject.first_seen is 'When the same bytes were first rejected.';
comment on column import.reject.last_seen is 'When the same bytes were last rejected.';
comment on constraint reject_hash_size_reason_key on import.reject is 'Bytes that are rejected again for the same reason are stored once.';

create table import.feed (
    source text collate "C" primary key,
    etag text,
    last_modified text,
    generated import.moment,
    checked_at import.moment not null,
    fetched_at import.moment,
    snapshot pg_snapshot
);
comment on table import.feed is
    'The state of each URL when it was last imported successfully. An unchanged document is not fetched again.';
comment on column import.feed.source is
    'The URL without its secrets: user, password, and the query except for the parameters of an event service.';
comment on column import.feed.etag is 'The document''s entity tag (RFC 9110, 8.8.3).';
comment on column import.feed.last_modified is 'When the document was last modified, in the server''s words (RFC 9110, 8.8.2).';
comment on column import.feed.generated is 'When the document was made, according to the document itself.';
comment on column import.feed.checked_at is 'When the URL was last requested successfully, even if the document was unchanged.';
comment on column import.feed.fetched_at is 'When the run that last fetched the document began.';
comment on column import.feed.snapshot is
    'The transactions that were committed before that run began. If others have deleted earthquakes since, the document is fetched again, even if it is unchanged.';

-- Sweeps of event services.

create table import.sweep (
    source text collate "C" primary key,
    cursor import.moment,
    lacks text[] not null default '{}',
    has text[] not null default '{}',
    long_at import.moment
);
comment on table import.sweep is 'The event services that are swept, one row per service, and the time up to which each was swept.';
comment on column import.sweep.source is 'URL of the service, without its secrets.';
comment on column import.sweep.cursor is
    'Everything that the service revised or deleted before this time, by the service''s clock, is imported. The next sweep begins 10 minutes earlier. Null until the first sweep is complete.';
comment on column import.sweep.lacks is 'The abilities that the service lacks: updates, deletions, counts, geojson or limits.';
comment on column import.sweep.has is 'The abilities that requests used when the service returned events in a complete sweep. If the service later refuses a request that needs only these, the sweep fails.';
comment on column import.sweep.long_at is
    'When the last complete long sweep began. A service that lacks updates is swept by origin times. A usual sweep covers the last 3 days; once a day, a long sweep covers the last 30 days.';

-- Mirrors of another Quakes.

create table import.mirror (
    source text collate "C" primary key,
    position text not null
);
comment on table import.mirror is 'The other Quakes servers that are mirrored, one row per server, and the position up to which their changes were imported.';
comment on column import.mirror.source is 'URL of the server''s changes, without secrets.';
comment on column import.mirror.position is
    'The position in the server''s history: token, commit time, nonce and store. It changes in the transaction that imports the changes.';

-- The recursion makes one index look-up per source, regardless of the number of runs.
create view import.last_run as
with recursive last as (
    (select * from import.run order by source desc, id desc limit 1)
    union all
    select next.*
    from last, lateral (select * from import.run where run.source < last.source
                        order by source desc, id desc limit 1) as next),
fresh as (
    select last.*, coalesce(sweep.cursor, feed.generated) as made,
           -- A time in the future is from a clock that was ahead.
           greatest((select max(finished) from import.run
                     where run.source = last.source and outcome = 'done' and finished <= statement_timestamp()),
                    case when feed.checked_at <= statement_timestamp() then feed.checked_at end) as fresh_at,
           coalesce((select max(finished) from import.run where run.source = last.source and outcome = 'done'),
                    feed.checked_at) is not null as was_imported
    from last left join import.feed on feed.source = last.source
              left join import.sweep on sweep.source = last.source)
select source, id as run, outcome, started, seen, inserted, updated, superseded, retracted, rejected, error, fresh_at,
       made as generated, every, every is not null or source ~* '^https?://' and was_imported as is_monitored
from fresh;
comment on view import.last_run is 'The last run of each source, and how fresh the source is.';
-- The end of 0006_report.sql copies the comments of the other columns from import.run.
comment on column import.last_run.run is 'Number of the source''s last run.';
comment on column import.last_run.fresh_at is
    'When the source was last imported successfully, or was requested and found unchanged; null if never. Times in the future do not count.';
comment on column import.last_run.generated is
    'For a URL, when its last successfully imported document was made, according to the document itself; for an event service, the time up to which it was swept.';
comment on column import.last_run.is_monitored is
    'Whether a monitor should expect the source to be fresh: a daemon imports it, or it is a URL that was imported successfully at least once. A file, standard input and a URL that never worked do not count.';

-- A run's session holds an advisory lock on its source. So no other run of the source can begin, and an unfinished run whose
-- source is not locked is dead.

create function import.lock_key(source text) returns bigint
language sql immutable
return hashtextextended(source collate "C", 1903518066);
comment on function import.lock_key(text) is
    'The key of the advisory lock that a run holds on its source. The lock is exclusive, except that the lock on standard input is shared.';

-- Backfills.

create table import.backfill (
    id bigint generated always as identity primary key,
    service text collate "C" not null,
    window_start import.moment not null,
    window_end import.moment not null,
    minimum_magnitude double precision check (minimum_magnitude between -12 and 12),
    newest_first boolean not null,
    reached import.moment not null,
    events import.amount not null default 0,
    expected import.amount,
    requests import.amount not null default 0,
    began_at import.moment not null default clock_timestamp(),
    finished_at import.moment,
    check (reached between window_start and window_end)
);
comment on table import.backfill is
    'Imports of a period of the past, window by window. An interrupted backfill continues where it stopped.';
comment on column import.backfill.id is 'Number of the backfill.';
comment on column import.backfill.service is 'URL of the FDSN event service, without user and password.';
comment on column import.backfill.window_start is 'Earliest origin time.';
comment on column import.backfill.window_end is 'Latest origin time, exclusive.';
comment on column import.backfill.minimum_magnitude is 'Smallest magnitude; null for all.';
comment on column import.backfill.began_at is 'When the backfill began.';
comment on column import.backfill.newest_first is 'Whether the backfill imports the newest window first and goes back in time.';
comment on column import.backfill.reached is 'How far the backfill has come: everything from window_start to this time is imported or, with newest_first, everything from this time to window_end.';
comment on column import.backfill.events is 'Features imported so far.';
comment on column import.backfill.expected is 'Number of events that the service counted at the start.';
comment on column import.backfill.requests is 'Requests made so far.';
comment on column import.backfill.finished_at is 'When the backfill was complete; null until then.';

create unique index backfill_unfinished on import.backfill (service, newest_first, (coalesce(minimum_magnitude, '-infinity')))
    where finished_at is null;
comment on index import.backfill_unfinished is 'Allows one unfinished backfill for each service, direction and smallest magnitude.';
