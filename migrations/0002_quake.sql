-- The catalogue: one row per earthquake.

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
)
-- Leaves room for revisions: two thirds of them stay on their page and touch no index (heap-only tuples).
with (fillfactor = 90);

create index quake_time on public.quake (time);
comment on index public.quake_time is 'The newest events, and windows of time.';
-- The expression of report.day(), spelled out: every writer would need the right to execute a function of ours.
create index quake_day on public.quake (date_bin('1 day', time, timestamptz '1970-01-01 00:00:00+00'));
comment on index public.quake_day is 'Whole days, for report.daily_activity and report.daily_energy.';

comment on table public.quake is
    'Earthquakes and other seismic events, one row per event, as the USGS GeoJSON summary feeds describe them (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).';
-- `quakes migrate` adds the comments of the other columns, from the declarations in Sources/Feed/Model/Property.swift.
comment on column public.quake.imported_at is 'When the event was first imported. Never overwritten.';

-- Every change from here on is recorded, and readers listen on this channel.
select history.track('public.quake', 'code', 'quake_changes');
