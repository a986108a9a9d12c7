-- The catalogue: one row per event.

create table public.quake (
    code text collate "C" primary key,
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
    imported_at timestamptz not null default now(),
    -- The limits that Sources/Feed/Model/Property.swift declares, enforced for all writers, because one absurd value would break
    -- the reports for everyone. PostgreSQL treats NaN as greater than any number, so NaN is refused, too.
    constraint quake_magnitude check (magnitude between -12 and 12),
    constraint quake_position check (latitude between -90 and 90 and longitude between -360 and 360 and depth between -6400 and 6400),
    constraint quake_numbers check (greatest(abs(cdi), abs(mmi), abs(dmin), abs(rms), abs(gap)) < 'infinity'),
    constraint quake_times check (
        least(time, updated, imported_at) >= '0001-01-01 00:00:00+00'
        and greatest(time, updated, imported_at) < '10000-01-01 00:00:00+00'),
    constraint quake_lists check (
        array_ndims(ids) = 1 and array_lower(ids, 1) = 1 and array_position(ids, null) is null
        and array_ndims(sources) = 1 and array_lower(sources, 1) = 1 and array_position(sources, null) is null
        and array_ndims(types) = 1 and array_lower(types, 1) = 1 and array_position(types, null) is null),
    constraint quake_extra check (jsonb_typeof(extra) = 'object' and extra <> '{}')
)
-- Leaves room for revisions: two thirds of the new row versions fit on the same page as the old version, and change no index
-- (heap-only tuples).
with (fillfactor = 90);

create index quake_time on public.quake (time);
comment on index public.quake_time is 'The newest events, and the events in a window of time.';
-- The index repeats the expression of report.day() instead of calling it, because every writer would otherwise need the right to
-- execute that function.
create index quake_day on public.quake (date_bin('1 day', time, timestamptz '1970-01-01 00:00:00+00'));
comment on index public.quake_day is 'Whole days, for report.daily_activity and report.daily_energy.';

comment on constraint quake_magnitude on public.quake is 'A magnitude is between -12 and 12; catalogues have magnitudes from -3 to 9.5.';
comment on constraint quake_position on public.quake is
    'A latitude is between -90 and 90 degrees, a longitude between -360 and 360 degrees, and a depth between -6400 and 6400 km.';
comment on constraint quake_numbers on public.quake is 'cdi, mmi, dmin, rms and gap are neither infinite nor NaN.';
comment on constraint quake_times on public.quake is 'time, updated and imported_at are in the years 1 to 9999, in UTC.';
comment on constraint quake_lists on public.quake is
    'ids, sources and types are plain lists: arrays of at most one dimension, with subscripts from 1 and without null elements.';
comment on constraint quake_extra on public.quake is 'extra is a JSON object that is not empty.';

comment on table public.quake is
    'Earthquakes and other seismic events, one row per event, as the USGS GeoJSON summary feeds describe them (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).';
-- `quakes migrate` adds the comments of the other columns, from the declarations in Sources/Feed/Model/Property.swift.
comment on column public.quake.imported_at is 'When the event was first imported. Never overwritten.';

-- From here on, every change is recorded and announced on this channel.
select history.track('public.quake', 'code', 'quake_changes');
