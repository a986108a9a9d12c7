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
comment on column public.quake.code is 'Network-qualified event id, such as us7000abcd: unique, and the key of every import.';
comment on column public.quake.net is 'Preferred network of the event, such as us or ci.';
comment on column public.quake.net_code is 'The network''s own code for the event; unique only within the network.';
comment on column public.quake.magnitude is 'Magnitude; can be negative.';
comment on column public.quake.magnitude_type is 'Method behind the magnitude, such as mww, ml or md.';
comment on column public.quake.place is 'Named place near the epicentre.';
comment on column public.quake.title is 'Headline of the event.';
comment on column public.quake.url is 'Event page. Its host tells which service the row came from.';
comment on column public.quake.detail is 'URL of the detail feed.';
comment on column public.quake.status is 'automatic, reviewed or deleted.';
comment on column public.quake.alert is 'PAGER alert level: green, yellow, orange or red.';
comment on column public.quake.type is 'Kind of event: earthquake, quarry blast, explosion, ice quake and others.';
comment on column public.quake.time is 'Origin time, to the millisecond.';
comment on column public.quake.updated is 'When the event was last revised upstream, to the millisecond. An import never replaces a row with an older version.';
comment on column public.quake.tz is 'Offset of local time from UTC at the epicentre, in minutes.';
comment on column public.quake.felt is 'Number of felt reports.';
comment on column public.quake.sig is 'Significance, 0 to about 1000: larger is more significant.';
comment on column public.quake.nst is 'Number of seismic stations used for the location.';
comment on column public.quake.cdi is 'Maximum reported intensity (community internet intensity), 0 to 10.';
comment on column public.quake.mmi is 'Maximum estimated instrumental intensity (modified Mercalli), 0 to 10.';
comment on column public.quake.dmin is 'Distance from the epicentre to the nearest station, in degrees.';
comment on column public.quake.rms is 'Root-mean-square travel time residual, in seconds.';
comment on column public.quake.gap is 'Largest azimuthal gap between adjacent stations, in degrees.';
comment on column public.quake.tsunami is 'Whether the event page links to a tsunami service. It does not say that there was a tsunami.';
comment on column public.quake.ids is 'All ids the event has ever had.';
comment on column public.quake.sources is 'Networks that contributed to the event.';
comment on column public.quake.types is 'Types of the products that exist for the event.';
comment on column public.quake.longitude is 'Longitude of the epicentre, in degrees, positive east.';
comment on column public.quake.latitude is 'Latitude of the epicentre, in degrees, positive north.';
comment on column public.quake.depth is 'Depth of the hypocentre, in km; negative above sea level.';
comment on column public.quake.extra is 'Properties of the feed that this version does not know; null if there are none.';
comment on column public.quake.imported_at is 'When the event was first imported. Never overwritten.';

-- Every change from here on is recorded, and readers listen on this channel.
select history.track('public.quake', 'code', 'quake_changes');
