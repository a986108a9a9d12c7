-- One row per earthquake, and what happened on the way in.

create table public.quake (
    code text primary key,
    net text not null,
    net_code text not null,
    magnitude double precision,
    magnitude_type text,
    place text,
    title text,
    url text,
    detail text,
    status text,
    alert text,
    type text,
    time timestamptz not null,
    updated timestamptz not null,
    tz integer,
    felt integer,
    sig integer,
    nst integer,
    cdi double precision,
    mmi double precision,
    dmin double precision,
    rms double precision,
    gap double precision,
    tsunami boolean,
    ids text[],
    sources text[],
    types text[],
    longitude double precision not null,
    latitude double precision not null,
    depth double precision,
    extra jsonb,
    imported_at timestamptz not null default now()
);

create index quake_time on public.quake (time);

comment on table public.quake is
    'Earthquakes and other seismic events, one row each, as the USGS GeoJSON summary feeds describe them (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).';
comment on column public.quake.code is 'Network-qualified event id, such as us7000abcd: unique, and the key of every import.';
comment on column public.quake.net is 'Network that is preferred for the event, such as us or ci.';
comment on column public.quake.net_code is 'The network''s own code for the event; unique only within the network.';
comment on column public.quake.magnitude is 'Magnitude; can be negative.';
comment on column public.quake.magnitude_type is 'Method behind the magnitude, such as mww, ml or md.';
comment on column public.quake.place is 'Named place near the epicentre.';
comment on column public.quake.title is 'Headline of the event.';
comment on column public.quake.url is 'Event page; its host names the service the row came from.';
comment on column public.quake.detail is 'URL of the detail feed.';
comment on column public.quake.status is 'automatic, reviewed or deleted.';
comment on column public.quake.alert is 'PAGER alert level: green, yellow, orange or red.';
comment on column public.quake.type is 'Kind of event: earthquake, quarry blast, explosion, ice quake and others.';
comment on column public.quake.time is 'Origin time, to the millisecond.';
comment on column public.quake.updated is 'When the event was last revised upstream, to the millisecond. An import never overwrites a row by one with an older value.';
comment on column public.quake.tz is 'Offset of local time from UTC at the epicentre, in minutes.';
comment on column public.quake.felt is 'Number of felt reports.';
comment on column public.quake.sig is 'Significance, 0 to about 1000: larger is more significant.';
comment on column public.quake.nst is 'Number of seismic stations used for the location.';
comment on column public.quake.cdi is 'Maximum reported intensity (community internet intensity), 0 to 10.';
comment on column public.quake.mmi is 'Maximum estimated instrumental intensity (modified Mercalli), 0 to 10.';
comment on column public.quake.dmin is 'Distance from the epicentre to the nearest station, in degrees.';
comment on column public.quake.rms is 'Root-mean-square travel time residual, in seconds.';
comment on column public.quake.gap is 'Largest azimuthal gap between adjacent stations, in degrees.';
comment on column public.quake.tsunami is 'Whether the event page links to a tsunami service; no statement that there was a tsunami.';
comment on column public.quake.ids is 'Every id the event ever had.';
comment on column public.quake.sources is 'Networks that contributed.';
comment on column public.quake.types is 'Product types that exist for the event.';
comment on column public.quake.longitude is 'Longitude of the epicentre, in degrees, positive east.';
comment on column public.quake.latitude is 'Latitude of the epicentre, in degrees, positive north.';
comment on column public.quake.depth is 'Depth of the hypocentre, in km; negative above sea level.';
comment on column public.quake.extra is 'Properties of the feed that this version does not know; null when there are none.';
comment on column public.quake.imported_at is 'When the row first came in. Never overwritten.';
comment on index public.quake_time is 'The newest events, and windows of time.';

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
    error text
);

create index run_started on import.run (started);

comment on table import.run is
    'Imports, one row each. The counts are updated in the transaction of each batch: they tell what was committed, also for a run that broke.';
comment on column import.run.id is 'Number of the run.';
comment on column import.run.source is 'What was imported: a URL, a path, or - for standard input.';
comment on column import.run.feed is 'Which feed the document says it is (its metadata''s url).';
comment on column import.run.started is 'When the run began.';
comment on column import.run.finished is 'When it ended; null while it runs, or when the worker died.';
comment on column import.run.outcome is 'running, done, failed or cancelled.';
comment on column import.run.seen is 'Features of the document; always inserted + updated + unchanged + stale + rejected.';
comment on column import.run.inserted is 'Events that were new.';
comment on column import.run.updated is 'Events whose row was changed.';
comment on column import.run.unchanged is 'Features that said what the table already held.';
comment on column import.run.stale is 'Features older than the row, or than another feature of the document, with the same code.';
comment on column import.run.superseded is 'Events deleted because they were renamed.';
comment on column import.run.retracted is 'Events deleted because they were withdrawn upstream.';
comment on column import.run.rejected is 'Features that could not be imported; see import.reject.';
comment on column import.run.bytes is 'Size of the document after inflation, in bytes, as far as it was committed.';
comment on column import.run.first_token is 'History token of the run''s first transaction that changed something.';
comment on column import.run.last_token is 'History token of its last one.';
comment on column import.run.error is 'What went wrong, in one line.';
comment on index import.run_started is 'The last runs.';

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

create index reject_run on import.reject (run);

comment on table import.reject is
    'Features that could not be imported. The same broken bytes are kept once and counted.';
comment on column import.reject.id is 'Number of the reject.';
comment on column import.reject.run is 'The last run that met it.';
comment on column import.reject.ordinal is 'The feature''s place in that run''s document, from 1.';
comment on column import.reject.byte_offset is 'Where it began in that document after inflation, in bytes from 0.';
comment on column import.reject.reason is 'syntax, encoding, missing, type, range, duplicate, size or refused.';
comment on column import.reject.message is 'What is wrong, naming the member.';
comment on column import.reject.raw is 'The feature''s bytes, at most 64 KiB of them.';
comment on column import.reject.size is 'The feature''s size in the document, in bytes.';
comment on column import.reject.cut is 'Whether raw holds only the beginning.';
comment on column import.reject.hash is 'SHA-256 of raw.';
comment on column import.reject.count is 'How often these bytes were met.';
comment on column import.reject.first_seen is 'When they were first met.';
comment on column import.reject.last_seen is 'When they were last met.';
comment on constraint reject_hash_size_reason_key on import.reject is 'The same bytes are kept once.';
comment on index import.reject_run is 'The rejects of a run.';
