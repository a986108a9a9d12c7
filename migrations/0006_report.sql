-- Views for people who work in SQL and never run `quakes`, with the names and units of seismology. The columns are a
-- contract: new columns are only added at the end.
--
-- A view reads the tables with the rights of its owner, and a function reads the views with the rights of its caller, so a
-- login needs no rights outside this schema.

create schema report;
comment on schema report is
    'Reports: what is in the catalogue, how it was imported, and how it was revised. Days and months are in UTC.';

-- Functions for the computations in the reports. They are in SQL and have no SET clauses, so that the planner can inline them.

create type report.magnitude_class as enum ('micro', 'minor', 'light', 'moderate', 'strong', 'major', 'great');
comment on type report.magnitude_class is
    'Class of a magnitude: micro below 3, minor from 3, light from 4, moderate from 5, strong from 6, major from 7, great from 8.';

create function report.magnitude_class(magnitude double precision) returns report.magnitude_class
language sql immutable parallel safe
return case when magnitude is null then null
            when magnitude < 3 then 'micro'::report.magnitude_class
            when magnitude < 4 then 'minor'::report.magnitude_class
            when magnitude < 5 then 'light'::report.magnitude_class
            when magnitude < 6 then 'moderate'::report.magnitude_class
            when magnitude < 7 then 'strong'::report.magnitude_class
            when magnitude < 8 then 'major'::report.magnitude_class
            else 'great'::report.magnitude_class end;
comment on function report.magnitude_class(double precision) is 'The class of a magnitude; null for null.';

create function report.region(place text) returns text
language sql immutable parallel safe
return case split_part(place, ', ', -1) when 'CA' then 'California' when 'MX' then 'Mexico'
            else split_part(place, ', ', -1) end;
comment on function report.region(text) is
    'The region in a place name: the text after the last comma, or the whole name if it has no comma. CA becomes California, MX becomes Mexico.';

create function report.is_earthquake(type text) returns boolean
language sql immutable parallel safe
return type is null or type = 'earthquake';
comment on function report.is_earthquake(text) is
    'Whether a type of event is an earthquake. An event without a type counts as one, because older feeds give no type.';

-- Changes ASCII letters only: by the rules of Turkish, the I of REVIEWED would become a dotless ı.
create function report.review_status(status text) returns text
language sql immutable parallel safe
return lower(status collate "C") collate "default";
comment on function report.review_status(text) is
    'A review status in lower case: feeds write reviewed and REVIEWED.';

create function report.energy_joule(magnitude double precision) returns double precision
language sql immutable parallel safe
return power(10::double precision, 4.8 + 1.5 * magnitude);
comment on function report.energy_joule(double precision) is
    'Radiated seismic energy in joule, by log10 E = 4.8 + 1.5 M (Gutenberg and Richter 1956).';

create function report.equivalent_magnitude(energy_joule double precision) returns double precision
language sql immutable parallel safe
return case when energy_joule > 0 then (log(energy_joule) - 4.8) / 1.5 end;
comment on function report.equivalent_magnitude(double precision) is
    'Magnitude of a single event that would radiate this energy, given in joule; null for 0.';

-- The binary number closest to 2.55 is a little less than 2.55. The small addition moves it into the bin that begins at 2.55.
create function report.magnitude_bin(magnitude double precision) returns integer
language sql immutable parallel safe
return floor(magnitude * 10 + 0.500001)::integer;
comment on function report.magnitude_bin(double precision) is
    'Bin of a magnitude, in tenths: 25 for magnitudes from 2.45 to 2.55, exclusive.';

create function report.day(at timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin('1 day', at, timestamptz '1970-01-01 00:00:00+00');
comment on function report.day(timestamptz) is 'The start of the day in UTC that a time falls in.';

create function report.month(at timestamptz) returns timestamptz
language sql stable parallel safe
return date_trunc('month', at, 'UTC');
comment on function report.month(timestamptz) is 'The start of the month in UTC that a time falls in.';

create function report.distance_km(
    latitude_1 double precision, longitude_1 double precision,
    latitude_2 double precision, longitude_2 double precision) returns double precision
language sql immutable parallel safe
return 2 * 6371 * asin(least(1, sqrt(
    power(sind((latitude_2 - latitude_1) / 2), 2)
    + cosd(latitude_1) * cosd(latitude_2) * power(sind((longitude_2 - longitude_1) / 2), 2))));
comment on function report.distance_km(double precision, double precision, double precision, double precision) is
    'Great-circle distance in km, by the haversine formula on a sphere of radius 6371 km. It differs from the distance on the ellipsoid by at most 0.6 %; near antipodes rounding adds up to a metre.';

create function report.seconds(duration interval) returns double precision
language sql immutable parallel safe
return extract(epoch from duration)::double precision;
comment on function report.seconds(interval) is 'A duration in seconds.';

-- Coverage: the periods, magnitudes and areas that were imported completely (import.coverage).

create view report.coverage as
select lower(period) as held_from, upper(period) as held_until,
       report.seconds(upper(period) - lower(period)) / 86400 as days, service,
       nullif(minimum_magnitude, '-infinity') as minimum_magnitude,
       case when is_part then south end as south, case when is_part then west end as west,
       case when is_part then north end as north, case when is_part then east end as east, noted_at
from (select *, (south, west, north, east) <> (-90, -180, 90, 180) as is_part from import.coverage) as known,
     unnest(periods) as period;
comment on view report.coverage is
    'Which origin times, magnitudes and areas were imported completely. Outside of them, a lack of earthquakes in the catalogue does not mean that there were none. Each period has the events that the service had published when the period was imported.';
comment on column report.coverage.held_from is 'Beginning of the period of origin times.';
comment on column report.coverage.held_until is 'End of the period, exclusive.';
comment on column report.coverage.days is 'Length of the period, in days.';
comment on column report.coverage.minimum_magnitude is 'The smallest magnitude that was imported; null if all magnitudes were.';
comment on column report.coverage.south is 'Southern edge of the area, in degrees. All four edges are null for the whole world.';

create function report.held_until(
    at timestamptz, latitude double precision, longitude double precision,
    minimum_magnitude double precision default '-infinity', others text[] default '{}') returns timestamptz
language sql stable parallel safe
begin atomic
    with known as materialized (
        select tstzrange(c.held_from, c.held_until) as period, coalesce(c.minimum_magnitude, '-infinity') as magnitude
        from report.coverage c
        -- The longitude from -180 up to 180. A box may also contain it as a longitude that is greater or smaller by 360.
        cross join lateral (select $3 - 360 * floor(($3 + 180) / 360) as east_of_greenwich) as longitude
        where (c.service = any ($5)) is not true
          and (c.south is null
               or $2 between c.south and c.north
                  and case when c.west <= c.east
                           then east_of_greenwich between c.west and c.east or east_of_greenwich + 360 between c.west and c.east
                                or east_of_greenwich - 360 between c.west and c.east
                           else east_of_greenwich >= c.west or east_of_greenwich <= c.east end))
    select upper(held)
    from unnest((select range_agg(k.period) from known k
                 where k.magnitude <= greatest($4, (select min(now.magnitude) from known now where now.period @> $1)))) as held
    where held @> $1;
end;
comment on function report.held_until(timestamptz, double precision, double precision, double precision, text[]) is
    'The time until which report.coverage, without the services in others, has no gap at a place: the end of the covered period that contains the given time; null if the given time is not covered there. A period counts as covered if it is covered from the given magnitude on or, if that magnitude is not covered at the given time, from the smallest one that is.';

-- The catalogue.

create view report.event as
select time as origin_time, code, latitude, longitude, depth as depth_km,
       magnitude, magnitude_type, report.magnitude_class(magnitude) as magnitude_class,
       case when report.is_earthquake(type) then report.energy_joule(magnitude) end as energy_joule,
       coalesce(type, 'earthquake') as event_type, report.is_earthquake(type) as is_earthquake, report.region(place) as region, place, net as network,
       report.review_status(status) as review_status, felt as felt_reports, cdi as reported_intensity, mmi as estimated_intensity,
       alert as alert_level, sig as significance, nst as stations, gap as azimuthal_gap_deg,
       dmin as nearest_station_deg, rms as residual_s, url, updated as revised_at, imported_at
from only public.quake;
comment on view report.event is 'The catalogue, one row per event, in the terms of seismology.';
comment on column report.event.origin_time is 'Origin time, to the millisecond.';
comment on column report.event.code is 'Network-qualified event id, such as us7000abcd.';
comment on column report.event.latitude is 'Latitude of the epicentre, in degrees, positive north.';
comment on column report.event.longitude is 'Longitude of the epicentre, in degrees, positive east.';
comment on column report.event.depth_km is 'Depth of the hypocentre, in km; negative above sea level.';
comment on column report.event.magnitude is 'Magnitude; can be negative.';
comment on column report.event.magnitude_type is 'Method behind the magnitude, such as mww, ml or md.';
comment on column report.event.magnitude_class is 'micro below 3, minor from 3, light from 4, moderate from 5, strong from 6, major from 7, great from 8; sorted in this order. Null without a magnitude.';
comment on column report.event.energy_joule is 'Radiated seismic energy, in joule: log10 E = 4.8 + 1.5 M; null if the event is not an earthquake or has no magnitude.';
comment on column report.event.event_type is 'Kind of event: earthquake, quarry blast, explosion, ice quake and others.';
comment on column report.event.is_earthquake is 'Whether the event is an earthquake; an event without a type counts as one. A condition on this column is faster than one on event_type, because the planner knows how many earthquakes there are.';
comment on column report.event.region is 'The region: the text after the last comma of the place name, or the whole name if it has no comma.';
comment on column report.event.place is 'Named place near the epicentre.';
comment on column report.event.network is 'Preferred network of the event, such as us or ci.';
comment on column report.event.review_status is 'automatic, reviewed or deleted, in lower case: feeds write REVIEWED, too.';
comment on column report.event.felt_reports is 'Number of felt reports.';
comment on column report.event.reported_intensity is 'Maximum reported intensity (community internet intensity), 0 to 10.';
comment on column report.event.estimated_intensity is 'Maximum estimated instrumental intensity (modified Mercalli), 0 to 10.';
comment on column report.event.alert_level is 'PAGER alert level: green, yellow, orange or red.';
comment on column report.event.significance is 'Significance, 0 to about 1000.';
comment on column report.event.stations is 'Number of seismic stations used for the location.';
comment on column report.event.azimuthal_gap_deg is 'Largest azimuthal gap between adjacent stations, in degrees.';
comment on column report.event.nearest_station_deg is 'Distance from the epicentre to the nearest station, in degrees.';
comment on column report.event.residual_s is 'Root-mean-square travel time residual, in seconds.';
comment on column report.event.url is 'Event page.';
comment on column report.event.revised_at is 'When the event was last revised upstream.';
comment on column report.event.imported_at is 'When the event was first imported.';

-- The solutions of several agencies for one earthquake (0005_association.sql).

create function report.agency(network text) returns text
language sql immutable parallel safe
return case when lower(network collate "C") = any ('{ak,at,atlas,av,cdmg,cgs,choy,ci,duputel,ew,gcmt,hv,iscgem,iscgemsup,ismp,ismpkansas,ld,mb,
    nc,nm,nn,official,ok,ott,pde,pr,pt,se,tx,us,usauto,ushis,uu,uw,usgs}'::text[])
            then 'usgs' else lower(network collate "C") end;
comment on function report.agency(text) is
    'The agency of a network: usgs for the networks of the USGS''s catalogue, ComCat; otherwise the network itself in lower case, such as gfz.';

create view report.solution as
select q.time as origin_time, m.earthquake, m.code, report.agency(q.net) as agency, q.net as network,
       q.code = e.preferred as is_preferred, q.latitude, q.longitude, q.depth as depth_km, q.magnitude, q.magnitude_type,
       report.review_status(q.status) as review_status, q.nst as stations, q.gap as azimuthal_gap_deg, q.place, q.url,
       q.updated as revised_at, q.imported_at, m.partner, m.seconds as time_difference_s, m.km as distance_km,
       m.magnitudes as magnitude_difference, m.cost, m.rule, m.is_doubtful
from public.earthquake_member m
join public.earthquake e on e.code = m.earthquake
join only public.quake q on q.code = m.code;
comment on view report.solution is
    'The events that describe the same earthquake as other events, one row per event: the solution of each agency, and how well it agrees with another one.';
comment on column report.solution.earthquake is 'Code of the earthquake that the event describes, as in report.earthquake.';
comment on column report.solution.agency is 'The agency: usgs for all networks of the USGS''s catalogue, otherwise the network.';
comment on column report.solution.is_preferred is 'Whether this event is the preferred solution of its earthquake.';
comment on column report.solution.time_difference_s is 'How much later the event''s origin time is than the partner''s, in seconds.';
comment on column report.solution.distance_km is 'Distance between the event''s epicentre and the partner''s, in km.';
comment on column report.solution.magnitude_difference is 'How much larger the event''s magnitude is than the partner''s. Compare the magnitude types, too: an mb is not an Mw.';

-- If a preferred solution was deleted, the first of the other solutions replaces it until the associator has seen the deletion.
create view report.earthquake as
select q.time as origin_time, coalesce(e.code, q.code) as code, q.code as preferred, q.latitude, q.longitude, q.depth as depth_km,
       case when g.code is null then q.magnitude else g.magnitude end as magnitude,
       case when g.code is null then q.magnitude_type else g.magnitude_type end as magnitude_type,
       report.agency(coalesce(g.net, q.net)) as magnitude_agency,
       coalesce(q.type, 'earthquake') as event_type, report.is_earthquake(q.type) as is_earthquake,
       report.region(q.place) as region, q.place, report.agency(q.net) as agency, coalesce(e.agencies, 1) as agencies,
       case when e.code is null then report.agency(q.net)
            else (select string_agg(distinct s.agency, ' ' order by s.agency) from report.solution s where s.earthquake = e.code)
       end as agency_list,
       case when e.code is null then 1
            else (select count(*) from report.solution s where s.earthquake = e.code) end as solutions,
       report.review_status(q.status) as review_status,
       case when e.code is null then q.imported_at
            else (select min(s.imported_at) from report.solution s where s.earthquake = e.code) end as first_known_at,
       case when e.code is null then q.updated
            else (select max(s.revised_at) from report.solution s where s.earthquake = e.code) end as revised_at,
       e.code is not null and exists (select from public.earthquake_member o where o.earthquake = e.code and o.is_doubtful)
           as is_doubtful, q.url
from only public.quake q
left join public.earthquake_member m on m.code = q.code
left join public.earthquake e on e.code = m.earthquake
left join only public.quake g on g.code = e.magnitude_from and g.code <> q.code and g.magnitude is not null
where case when m.code is null or e.preferred = q.code then true
           when exists (select from only public.quake p where p.code = e.preferred) then false
           else q.code = (select min(o.code) from public.earthquake_member o join only public.quake p on p.code = o.code
                          where o.earthquake = m.earthquake) end;
comment on view report.earthquake is
    'Earthquakes, one row for each, regardless of how many agencies report it: the preferred solution, with a magnitude that is chosen separately. quakes associate decides which events are one earthquake.';
comment on column report.earthquake.origin_time is 'Origin time of the preferred solution, to the millisecond.';
comment on column report.earthquake.code is 'Code of the earthquake: the code of its event that was imported first.';
comment on column report.earthquake.preferred is 'Code of the event that is shown. Place, depth and time are from this event.';
comment on column report.earthquake.magnitude is 'Magnitude: a moment magnitude if any of the events has one.';
comment on column report.earthquake.magnitude_agency is 'The agency that determined the magnitude.';
comment on column report.earthquake.agency is 'The agency of the preferred solution: usgs for all networks of the USGS''s catalogue, otherwise the network.';
comment on column report.earthquake.agencies is 'Number of agencies that report the earthquake.';
comment on column report.earthquake.agency_list is 'The names of these agencies, in alphabetical order, separated by spaces.';
comment on column report.earthquake.solutions is 'Number of events that describe the earthquake. One agency may report it twice.';
comment on column report.earthquake.first_known_at is 'When the first of these events was first imported.';
comment on column report.earthquake.revised_at is 'When any of these events was last revised upstream.';
comment on column report.earthquake.is_doubtful is 'Whether any of these events would fit another earthquake nearly as well.';

-- The event that gives the magnitude is looked up only where it is another event. In a hash join, the keys of all other events
-- would be null, and PostgreSQL would put these events into one batch, which may not fit into memory.
create view report.event_earthquake as
select event.*, report.agency(event.network) as agency, coalesce(e.code, event.code) as earthquake,
       case when m.code is null or e.preferred = event.code then true
            when exists (select from only public.quake p where p.code = e.preferred) then false
            else event.code = (select min(s.code) from report.solution s where s.earthquake = m.earthquake) end as is_shown,
       case when e.magnitude_from <> event.code
            then coalesce((select g.magnitude from only public.quake g where g.code = e.magnitude_from), event.magnitude)
            else event.magnitude end as earthquake_magnitude,
       case when e.magnitude_from <> event.code
                 and exists (select from only public.quake g where g.code = e.magnitude_from and g.magnitude is not null)
            then (select g.magnitude_type from only public.quake g where g.code = e.magnitude_from)
            else event.magnitude_type end as earthquake_magnitude_type,
       case when e.code is null then array[report.agency(event.network)]
            else (select array_agg(distinct s.agency order by s.agency) from report.solution s where s.earthquake = e.code)
       end as agencies
from report.event
left join public.earthquake_member m on m.code = event.code
left join public.earthquake e on e.code = m.earthquake;
comment on view report.event_earthquake is
    'The catalogue, one row per event, with the earthquake that the event describes, alone or with events of other agencies.';
comment on column report.event_earthquake.agency is 'The agency: usgs for all networks of the USGS''s catalogue, otherwise the network.';
comment on column report.event_earthquake.earthquake is 'Code of the earthquake, as in report.earthquake.';
comment on column report.event_earthquake.is_shown is 'Whether this event is the one that is shown for its earthquake.';
comment on column report.event_earthquake.earthquake_magnitude is 'The magnitude of the earthquake, taken from one of its events.';
comment on column report.event_earthquake.earthquake_magnitude_type is 'The method behind the magnitude of the earthquake.';
comment on column report.event_earthquake.agencies is 'The agencies that report the earthquake.';

-- Without merge, the planner removes the joins of the view.
create function report.counted(agency text, merge boolean)
returns table (origin_time timestamptz, event text, code text, latitude double precision, longitude double precision,
               depth_km double precision, magnitude double precision, magnitude_type text, place text, network text,
               is_earthquake boolean)
language sql stable parallel safe
begin atomic
    select c.origin_time, c.code, case when $2 then c.earthquake else c.code end, c.latitude, c.longitude, c.depth_km,
           case when $2 then c.earthquake_magnitude else c.magnitude end,
           case when $2 then c.earthquake_magnitude_type else c.magnitude_type end, c.place, c.network, c.is_earthquake
    from report.event_earthquake c
    where case when $2 then c.is_shown else true end
      and ($1 is null or case when $2 then lower($1 collate "C") = any (c.agencies) else c.agency = lower($1 collate "C") end);
end;
comment on function report.counted(text, boolean) is
    'Private: the events of an agency, or all events if agency is null. With merge: the earthquakes that the agency reports, each once.';

create function report.counted_event(event text, merge boolean) returns text
language sql stable parallel safe
return case when merge then coalesce(
    (select s.code from report.solution s
     where s.earthquake = (select o.earthquake from report.solution o where o.code = event)
     order by s.is_preferred desc, s.code limit 1), event) else event end;
comment on function report.counted_event(text, boolean) is
    'Private: the code of the event itself or, with merge, the code of the event that is shown for its earthquake.';

create function report.largest_event(agency text default null, merge boolean default false)
returns table (rank bigint, code text, origin_time timestamptz, magnitude double precision, magnitude_type text,
               depth_km double precision, latitude double precision, longitude double precision, place text, region text,
               network text)
language sql stable parallel safe
begin atomic
    select rank() over (order by largest.magnitude desc), largest.code, largest.origin_time, largest.magnitude,
           largest.magnitude_type, largest.depth_km, largest.latitude, largest.longitude, largest.place,
           report.region(largest.place), largest.network
    from (select c.* from report.counted($1, $2) c where c.is_earthquake and c.magnitude is not null
          order by c.magnitude desc, c.origin_time desc, c.code collate "C" limit 100) as largest
    order by largest.magnitude desc, largest.origin_time desc, largest.code collate "C";
end;
comment on function report.largest_event(text, boolean) is
    'The rows of the view of the same name. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken.';

create view report.largest_event as select * from report.largest_event(null, false);
comment on view report.largest_event is 'The 100 earthquakes with the largest magnitudes; among equal magnitudes the latest come first.';
comment on column report.largest_event.rank is 'Rank by magnitude; equal magnitudes share a rank.';

-- Activity.

-- A floating-point sum depends on the order of its terms, and each replica may store the rows in a different order. If the terms
-- are added in the order of magnitudes, the sum is the same on every replica.
create function report.daily_activity(agency text default null, merge boolean default false)
returns table (day timestamptz, region text, magnitude_class report.magnitude_class, earthquakes bigint,
               largest_magnitude double precision, energy_joule double precision)
language sql stable parallel safe
begin atomic
    select report.day(c.origin_time), report.region(c.place), report.magnitude_class(c.magnitude), count(*), max(c.magnitude),
           sum(report.energy_joule(c.magnitude) order by c.magnitude)
    from report.counted($1, $2) c where c.is_earthquake
    group by report.day(c.origin_time), report.region(c.place), report.magnitude_class(c.magnitude);
end;
comment on function report.daily_activity(text, boolean) is
    'The rows of the view of the same name. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken.';

create view report.daily_activity as select * from report.daily_activity(null, false);
comment on view report.daily_activity is 'Earthquakes per day, region and magnitude class. Sum over the columns that you do not need.';
comment on column report.daily_activity.day is 'Start of the day, in UTC. A condition on this column uses an index.';
comment on column report.daily_activity.earthquakes is 'Number of earthquakes.';
comment on column report.daily_activity.largest_magnitude is 'Largest magnitude of these earthquakes.';
comment on column report.daily_activity.energy_joule is 'Total radiated seismic energy of these earthquakes, in joule.';

create function report.daily_energy(agency text default null, merge boolean default false)
returns table (day timestamptz, earthquakes bigint, largest_magnitude double precision, energy_joule double precision,
               equivalent_magnitude double precision)
language sql stable parallel safe
begin atomic
    select daily.day, daily.earthquakes, daily.largest, daily.energy, report.equivalent_magnitude(daily.energy)
    from (select report.day(c.origin_time) as day, count(*) as earthquakes, max(c.magnitude) as largest,
                 coalesce(sum(report.energy_joule(c.magnitude) order by c.magnitude), 0) as energy
          from report.counted($1, $2) c where c.is_earthquake
          group by report.day(c.origin_time)) as daily;
end;
comment on function report.daily_energy(text, boolean) is
    'The rows of the view of the same name. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken.';

create view report.daily_energy as select * from report.daily_energy(null, false);
comment on view report.daily_energy is 'Seismic energy radiated by earthquakes, per day.';
comment on column report.daily_energy.day is 'Start of the day, in UTC; days without an earthquake are missing. A condition on this column uses an index.';
comment on column report.daily_energy.largest_magnitude is 'Largest magnitude of the day.';
comment on column report.daily_energy.energy_joule is 'Radiated seismic energy of the day, in joule: log10 E = 4.8 + 1.5 M.';
comment on column report.daily_energy.equivalent_magnitude is 'Magnitude of a single event that would have radiated as much energy.';

-- Magnitude and frequency.

create type report.gutenberg_richter as (
    completeness double precision, earthquakes bigint, mean_magnitude double precision, b_value double precision,
    b_standard_error double precision, a_value double precision, goodness_percent double precision, is_good_fit boolean,
    good_from double precision, ks_distance double precision, completeness_method text, largest_deviation double precision);
comment on type report.gutenberg_richter is 'A fit of the Gutenberg–Richter relation.';
comment on column report.gutenberg_richter.completeness is 'Magnitude of completeness: the given one or, if none is given, an estimate by maximum curvature (Wiemer and Wyss 2000). The estimate is the bin with the most earthquakes; if several bins have equally many, the largest of them. It is not corrected, although it is known to be about 0.2 too low.';
comment on column report.gutenberg_richter.earthquakes is 'Number of earthquakes in the bin of the completeness and in all larger bins.';
comment on column report.gutenberg_richter.mean_magnitude is 'Mean magnitude of these earthquakes, computed from the middles of the bins.';
comment on column report.gutenberg_richter.b_value is 'b by maximum likelihood (Aki 1965), with Utsu''s correction for bins of 0.1; null unless the earthquakes are in at least two bins.';
comment on column report.gutenberg_richter.b_standard_error is 'Standard error of b (Shi and Bolt 1982).';
comment on column report.gutenberg_richter.a_value is 'log10 of the number of earthquakes with magnitude 0 or more in the window or month, according to the relation.';
comment on column report.gutenberg_richter.goodness_percent is 'The share of the cumulative numbers that the relation explains, in percent: 100 - 100 sum |observed - expected| / sum observed, over the bins from the completeness on (Wiemer and Wyss 2000). Below 90, b is not reliable.';
comment on column report.gutenberg_richter.is_good_fit is 'Whether the relation fits: goodness_percent is at least 90, ks_distance is at most 1.36 / sqrt(earthquakes), which is the limit of Kolmogorov and Smirnov at 5 %, and largest_deviation is at most 3. If the relation does not fit, the catalogue is not complete from the completeness on, or it is a mixture of several catalogues. Null without b.';
comment on column report.gutenberg_richter.good_from is 'The smallest magnitude, not below the completeness, from which the relation fits as in is_good_fit, with at least 50 earthquakes; null if there is none. It is a better value for the completeness than the estimate by maximum curvature.';
comment on column report.gutenberg_richter.ks_distance is 'Largest difference between the observed and the expected share of earthquakes that have a given magnitude or a larger one.';
comment on column report.gutenberg_richter.largest_deviation is 'The largest deviation of the cumulative numbers from the relation, in units of its random standard deviation: 2 sqrt(earthquakes) |asin sqrt(observed share) - asin sqrt(expected share)|. Unlike ks_distance, it shows a bend among the few large earthquakes.';
comment on column report.gutenberg_richter.completeness_method is 'How the completeness was chosen: maximum curvature or given. Maximum curvature takes the bin with the most earthquakes. This is about 0.2 too low for one network. Where catalogues of different completeness are mixed, it can be much lower.';

-- The computation works on counts in bins of a tenth, which are few even for a million magnitudes. Its sums over rows are
-- integers, so the result does not depend on the order of rows.
create function report.gutenberg_richter_fit(
    bins integer[], counts bigint[], given_completeness double precision default null)
returns report.gutenberg_richter
language sql immutable parallel safe
begin atomic
    with bin as (select tenths, n from unnest(bins, counts) as u (tenths, n) where n > 0),
    complete as (
        select coalesce(report.magnitude_bin(given_completeness),
                        (select tenths from bin order by n desc, tenths desc limit 1)) as tenths),
    -- One fit starts at the completeness, and one more at each larger bin, because the fit may be good only above some larger
    -- magnitude.
    candidate as (
        select tenths from complete union select bin.tenths from bin, complete where bin.tenths > complete.tenths),
    moment as (
        select candidate.tenths as mc, count(bin.n) as bins, sum(bin.n) as n, sum(bin.n * bin.tenths) as first,
               sum(bin.n * bin.tenths * bin.tenths) as second
        from candidate left join bin on bin.tenths >= candidate.tenths group by candidate.tenths),
    estimate as (
        select mc, n, first::double precision / (10 * n) as mean,
               case when bins > 1 then log(exp(1::double precision)) * 10 * n / (first - (mc - 0.5) * n) end::double precision as b,
               case when bins > 1 then sqrt((n * second - first * first) / (100.0 * n * n * (n - 1)))
               end::double precision as mean_error
        from moment),
    -- The grid includes bins without an earthquake. Its limits keep the grid small even if there is an impossible magnitude.
    grid as (
        select g as tenths, (select coalesce(sum(bin.n), 0) from bin where bin.tenths >= g)::double precision as larger
        from complete, generate_series(greatest(complete.tenths, -200), least((select max(bin.tenths) from bin), 200)) as g),
    fitness as (
        select e.mc, 100 - 100 * sum(abs(g.larger - m.larger) order by g.tenths) / sum(g.larger order by g.tenths) as goodness,
               max(abs(g.larger - m.larger)) / e.n::double precision as distance,
               max(2 * sqrt(e.n::double precision) * abs(asin(sqrt(g.larger / e.n::double precision))
                                                         - asin(sqrt(m.larger / e.n::double precision)))) as deviation
        from estimate e join grid g on g.tenths >= e.mc,
             lateral (select e.n::double precision * power(10::double precision, -e.b * (g.tenths - e.mc) / 10) as larger) as m
        where e.b is not null and e.mc >= -200
        group by e.mc, e.n),
    verdict as (
        select e.mc, f.goodness, f.distance, f.deviation,
               f.goodness >= 90 and f.distance <= 1.36 / sqrt(e.n::double precision) and f.deviation <= 3 as is_good, e.n
        from estimate e join fitness f on f.mc = e.mc)
    select e.mc / 10.0::double precision, coalesce(e.n, 0)::bigint, e.mean, e.b,
           ln(10::double precision) * e.b * e.b * e.mean_error, log(e.n::double precision) + e.b * e.mc / 10,
           v.goodness, v.is_good,
           (select min(verdict.mc) from verdict where verdict.is_good and verdict.n >= 50) / 10.0::double precision,
           v.distance,
           case when given_completeness is null then 'maximum curvature' else 'given' end, v.deviation
    from complete join estimate e on e.mc is not distinct from complete.tenths left join verdict v on v.mc = e.mc;
end;
comment on function report.gutenberg_richter_fit(integer[], bigint[], double precision) is
    'Gutenberg–Richter relation of earthquakes that are counted in the bins of report.magnitude_bin(). It gives: the completeness (the given one, otherwise by maximum curvature, which takes the largest of equal bins) and the method by which it was chosen; b by maximum likelihood (Aki 1965) with Utsu''s correction for bins of 0.1; the standard error of b (Shi and Bolt 1982); a; the goodness of the fit, in percent (Wiemer and Wyss 2000), as the distance of Kolmogorov and Smirnov, and in units of the random standard deviation; and the smallest magnitude from which the fit is good.';

create function report.monthly_magnitude_frequency(agency text default null, merge boolean default false)
returns table (month timestamptz, magnitude double precision, earthquakes bigint,
               earthquakes_or_larger bigint)
language sql stable parallel safe
begin atomic
    select monthly.month, monthly.bin / 10.0::double precision, monthly.earthquakes,
           sum(monthly.earthquakes) over (partition by monthly.month order by monthly.bin desc)::bigint
    from (select report.month(daily.day) as month, daily.bin, sum(daily.n)::bigint as earthquakes
          from (select report.day(c.origin_time) as day, report.magnitude_bin(c.magnitude) as bin, count(*) as n
                from report.counted($1, $2) c where c.is_earthquake and c.magnitude is not null
                group by report.day(c.origin_time), report.magnitude_bin(c.magnitude)) as daily
          group by report.month(daily.day), daily.bin) as monthly;
end;
comment on function report.monthly_magnitude_frequency(text, boolean) is
    'The rows of the view of the same name. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken.';

create view report.monthly_magnitude_frequency as select * from report.monthly_magnitude_frequency(null, false);
comment on view report.monthly_magnitude_frequency is
    'Magnitude–frequency distribution per month: earthquakes in bins of 0.1. For other windows and places see report.magnitude_frequency().';
comment on column report.monthly_magnitude_frequency.month is 'Start of the month, in UTC.';

create function report.monthly_gutenberg_richter(agency text default null, merge boolean default false)
returns table (month timestamptz, completeness double precision, earthquakes bigint, mean_magnitude double precision,
               b_value double precision, b_standard_error double precision, a_value double precision,
               goodness_percent double precision, is_good_fit boolean, good_from double precision,
               ks_distance double precision, completeness_method text, largest_deviation double precision)
language sql stable parallel safe
begin atomic
    select monthly.month, fit.*
    from (select f.month, array_agg(report.magnitude_bin(f.magnitude)) as bins, array_agg(f.earthquakes) as counts
          from report.monthly_magnitude_frequency($1, $2) f group by f.month) as monthly,
         lateral report.gutenberg_richter_fit(monthly.bins, monthly.counts) as fit;
end;
comment on function report.monthly_gutenberg_richter(text, boolean) is
    'The rows of the view of the same name. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken.';

create view report.monthly_gutenberg_richter as select * from report.monthly_gutenberg_richter(null, false);
comment on view report.monthly_gutenberg_richter is
    'Gutenberg–Richter relation, log10 N = a - b M, of the whole catalogue per month. For other windows and places see report.gutenberg_richter().';
comment on column report.monthly_gutenberg_richter.month is 'Start of the month, in UTC.';

-- A call depends only on the parameters of the calling function, so it is evaluated once and not for each row.
create function report.check(is_meant boolean, message text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if not is_meant then raise invalid_parameter_value using message = message; end if;
    return true;
end
$$;
comment on function report.check(boolean, text) is 'Private: fails with the message unless the condition is true or null.';

create type report.magnitude_frequency as (
    magnitude double precision, earthquakes bigint, earthquakes_or_larger bigint);
comment on type report.magnitude_frequency is 'A row of report.magnitude_frequency().';
comment on column report.magnitude_frequency.magnitude is 'Middle of the bin; 2.5 stands for magnitudes from 2.45 to 2.55, exclusive.';
comment on column report.magnitude_frequency.earthquakes is 'Number of earthquakes in the bin; empty bins are missing.';
comment on column report.magnitude_frequency.earthquakes_or_larger is 'Number of earthquakes in this bin and all larger ones.';

create function report.magnitude_frequency(
    since timestamptz default '-infinity', until timestamptz default 'infinity',
    latitude double precision default null, longitude double precision default null,
    radius_km double precision default null, agency text default null, merge boolean default false)
returns setof report.magnitude_frequency
language sql stable parallel safe
begin atomic
    -- Counts by magnitude first: the planner knows that there are few different magnitudes, and hashes instead of sorting all
    -- rows.
    select bin / 10.0::double precision, n, sum(n) over (order by bin desc)::bigint
    from (select report.magnitude_bin(counted.magnitude) as bin, sum(counted.n)::bigint as n
          from (select e.magnitude, count(*) as n
                from report.counted($6, $7) e
                where report.check($1 <= $2, 'until is earlier than since')
                  and report.check(num_nulls($3, $4, $5) in (0, 3),
                                   'latitude, longitude and radius_km make a circle together: give all of them or none')
                  and report.check($3 between -90 and 90, 'latitude is beyond ±90')
                  and report.check($4 between -360 and 360, 'longitude is beyond ±360')
                  and report.check($5 between 0 and 'infinity', 'radius_km is not a distance') -- NaN is greater than infinity
                  and e.is_earthquake and e.magnitude is not null
                  and e.origin_time >= coalesce($1, '-infinity') and e.origin_time < coalesce($2, 'infinity')
                  and ($5 is null or report.distance_km($3, $4, e.latitude, e.longitude) <= $5)
                group by e.magnitude) as counted
          group by report.magnitude_bin(counted.magnitude)) as binned
    order by bin;
end;
comment on function report.magnitude_frequency(timestamptz, timestamptz, double precision, double precision, double precision, text, boolean) is
    'Magnitude–frequency distribution of the earthquakes since one time and before another. latitude, longitude and radius_km, which must be given together, select a circle. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken. Null means not given.';

create function report.gutenberg_richter(
    since timestamptz default '-infinity', until timestamptz default 'infinity',
    latitude double precision default null, longitude double precision default null,
    radius_km double precision default null, completeness double precision default null,
    agency text default null, merge boolean default false)
returns setof report.gutenberg_richter
language sql stable parallel safe
begin atomic
    select fit.*
    from (select array_agg(report.magnitude_bin(f.magnitude)) as bins, array_agg(f.earthquakes) as counts
          from report.magnitude_frequency($1, $2, $3, $4, $5, $7, $8) as f) as binned,
         lateral report.gutenberg_richter_fit(bins, counts, case when abs($6) <= 12 then $6 end) as fit
    where report.check(abs($6) <= 12, 'completeness is not a magnitude');
end;
comment on function report.gutenberg_richter(timestamptz, timestamptz, double precision, double precision, double precision, double precision, text, boolean) is
    'Gutenberg–Richter relation, log10 N = a - b M, of the earthquakes in a window, chosen as in report.magnitude_frequency(). The fit starts at the given magnitude of completeness, otherwise at the completeness by maximum curvature.';

-- Aftershocks.

create type report.aftershock as (
    days_after double precision, code text, distance_km double precision, magnitude double precision,
    magnitude_type text, depth_km double precision, origin_time timestamptz, place text);
comment on type report.aftershock is 'A row of report.aftershocks().';
comment on column report.aftershock.days_after is 'Time since the mainshock, in days.';
comment on column report.aftershock.distance_km is 'Distance between the epicentres, in km.';

create function report.aftershock_radius_km(mainshock_magnitude double precision) returns double precision
language sql immutable parallel safe
return power(10::double precision, 0.1238 * mainshock_magnitude + 0.983);
comment on function report.aftershock_radius_km(double precision) is
    'Radius in km in which to look for aftershocks of a mainshock of this magnitude (Gardner and Knopoff 1974).';

create function report.aftershock_days(mainshock_magnitude double precision) returns double precision
language sql immutable parallel safe
return power(10::double precision, case when mainshock_magnitude >= 6.5 then 0.032 * mainshock_magnitude + 2.7389
                                        else 0.5409 * mainshock_magnitude - 0.547 end);
comment on function report.aftershock_days(double precision) is
    'Number of days in which to look for aftershocks of a mainshock of this magnitude (Gardner and Knopoff 1974).';

create function report.aftershocks(
    mainshock text, radius_km double precision default null, days double precision default null,
    minimum_magnitude double precision default '-infinity', agency text default null, merge boolean default false)
returns setof report.aftershock
language sql stable parallel safe
begin atomic
    select report.seconds(a.origin_time - m.origin_time) / 86400, a.code,
           report.distance_km(m.latitude, m.longitude, a.latitude, a.longitude),
           a.magnitude, a.magnitude_type, a.depth_km, a.origin_time, a.place
    from report.counted(null, $6) m
    join report.counted($5, $6) a
      on a.origin_time > m.origin_time
     and a.origin_time <= m.origin_time
                          + coalesce(case when $3 between 0 and 36500000 then $3 end, report.aftershock_days(m.magnitude)) * interval '86400 seconds'
     and a.is_earthquake and a.magnitude >= coalesce($4, '-infinity')
     and report.distance_km(m.latitude, m.longitude, a.latitude, a.longitude)
         <= coalesce($2, report.aftershock_radius_km(m.magnitude))
     -- Another agency's event that describes the mainshock is not an aftershock.
     and not exists (select from report.solution own join report.solution other using (earthquake)
                     where own.code = m.event and other.code = a.event)
    where m.event = (select report.counted_event($1, $6)) collate "C"
      and report.check($2 between 0 and 'infinity', 'radius_km is not a distance')
      and report.check($3 between 0 and 36500000, 'days is not between 0 and 36500000')
      and report.check($4 <> 'nan', 'minimum_magnitude is not a number');
end;
comment on function report.aftershocks(text, double precision, double precision, double precision, text, boolean) is
    'Earthquakes near an event and soon after it, without other agencies'' events of the same earthquake: within a radius and a number of days, by default those of Gardner and Knopoff (1974) for its magnitude. For an event without a magnitude, give both; otherwise there are no rows. agency selects the events of one agency; usgs stands for all networks of the USGS''s catalogue. merge takes each earthquake once, regardless of how many agencies report it. If both are given, only the earthquakes that the agency reports are taken. Null means not given.';

create type report.aftershock_rate as (
    from_days double precision, to_days double precision, aftershocks bigint, rate_per_day double precision,
    cumulative_aftershocks bigint);
comment on type report.aftershock_rate is 'A row of report.aftershock_rate().';
comment on column report.aftershock_rate.from_days is 'Start of the bin: time since the mainshock, in days, exclusive.';
comment on column report.aftershock_rate.to_days is 'End of the bin: time since the mainshock, in days. The last bin ends at the end of the window, at a gap in report.coverage or, if the mainshock is not covered, at the newest event. With agency, only the agency''s coverage and events count; without it, services that have published other events of that time, but not the mainshock, do not count.';
comment on column report.aftershock_rate.aftershocks is 'Number of aftershocks in the bin.';
comment on column report.aftershock_rate.rate_per_day is 'Aftershocks per day, to which the Omori–Utsu law K / (t + c)^p is fitted.';
comment on column report.aftershock_rate.cumulative_aftershocks is 'Number of aftershocks up to the end of the bin.';

create function report.aftershock_rate(
    mainshock text, radius_km double precision default null, days double precision default null,
    minimum_magnitude double precision default '-infinity', agency text default null, merge boolean default false)
returns setof report.aftershock_rate
language sql stable parallel safe
begin atomic
    with observed as materialized (
        -- How long the catalogue of the agency, or of all agencies, continues after the mainshock without a gap, but no longer
        -- than the window. After a gap, the rate would be too low. If there is no coverage, the time of the newest event is the
        -- end.
        select least(m.days, report.seconds(coalesce(
                   report.held_until(
                       m.origin_time, m.latitude, m.longitude, $4,
                       -- The hosts of other agencies; without an agency, those that have published other events, but not the
                       -- mainshock: a regional service says nothing about another region. Events of an agency may also come from
                       -- another host, such as another Quakes.
                       array(select lower(substring(e.url from '://([^/?#:]+)') collate "C") from report.event e
                             where e.origin_time between m.origin_time - interval '30 days'
                                                     and m.origin_time + m.days * interval '86400 seconds'
                             group by 1
                             having not bool_or(case when $5 is null then e.code = m.event or e.code in (
                                                         select s.code from report.solution o
                                                         join report.solution s on s.earthquake = o.earthquake
                                                         where o.code = m.event)
                                                     else report.agency(e.network) = lower($5 collate "C") end))),
                   (select max(e.origin_time) from report.event e
                    where $5 is null or report.agency(e.network) = lower($5 collate "C")),
                   m.origin_time) - m.origin_time) / 86400) as days
        from (select c.*, coalesce(case when $3 between 0 and 36500000 then $3 end, report.aftershock_days(c.magnitude)) as days
              from report.counted(null, $6) c) as m
        where m.event = (select report.counted_event($1, $6)) collate "C"
          and report.check($3 between 0 and 36500000, 'days is not between 0 and 36500000')
          and coalesce($2, report.aftershock_radius_km(m.magnitude)) is not null
          and m.days is not null),
    edge as materialized (
        -- Five bins per decade from a thousandth of a day on, and one bin before them.
        select case when k = -16 then 0 else power(10::double precision, k / 5.0::double precision) end as from_days,
               least(power(10::double precision, (k + 1) / 5.0::double precision), observed.days) as to_days
        from observed, generate_series(-16, 30) as k
        where observed.days > 0 and (k = -16 or power(10::double precision, k / 5.0::double precision) < observed.days)),
    counted as (
        select edge.from_days, edge.to_days, count(a.days_after) as n
        from edge left join report.aftershocks($1, $2, $3, $4, $5, $6) as a
          on a.days_after > edge.from_days and a.days_after <= edge.to_days
        group by edge.from_days, edge.to_days)
    select from_days, to_days, n, n / nullif(to_days - from_days, 0), sum(n) over (order by from_days)::bigint
    from counted order by from_days;
end;
comment on function report.aftershock_rate(text, double precision, double precision, double precision, text, boolean) is
    'Rate of the aftershocks that report.aftershocks() gives, in bins of time; each bin ends 10^0.2 times as long after the mainshock as the bin before it. For an Omori–Utsu fit, choose a minimum magnitude above the completeness right after the mainshock.';

-- Differences between agencies.

create type report.agency_comparison as (
    origin_time timestamptz, place text, code_1 text, code_2 text, time_difference_s double precision,
    distance_km double precision, depth_difference_km double precision, magnitude_difference double precision,
    magnitude_1 double precision, magnitude_type_1 text, magnitude_2 double precision, magnitude_type_2 text,
    depth_1_km double precision, depth_2_km double precision, earthquake text, is_doubtful boolean);
comment on type report.agency_comparison is 'A row of report.agency_comparison().';
comment on column report.agency_comparison.origin_time is 'Origin time of the first agency''s event.';
comment on column report.agency_comparison.place is 'Place of the first agency''s event or, if it has none, of the second agency''s event.';
comment on column report.agency_comparison.code_1 is 'The first agency''s event.';
comment on column report.agency_comparison.code_2 is 'The second agency''s event.';
comment on column report.agency_comparison.time_difference_s is 'How much later the second agency''s origin time is, in seconds.';
comment on column report.agency_comparison.depth_difference_km is 'How much deeper the second agency''s event is, in km.';
comment on column report.agency_comparison.magnitude_difference is 'How much larger the second agency''s magnitude is. Compare the magnitude types, too: an mb is not an Mw.';
comment on column report.agency_comparison.magnitude_1 is 'The first agency''s magnitude.';
comment on column report.agency_comparison.magnitude_type_1 is 'The method behind the first agency''s magnitude.';
comment on column report.agency_comparison.magnitude_2 is 'The second agency''s magnitude.';
comment on column report.agency_comparison.magnitude_type_2 is 'The method behind the second agency''s magnitude.';
comment on column report.agency_comparison.depth_1_km is 'The first agency''s depth, in km. Many depths are not measured but fixed, often at 10 km.';
comment on column report.agency_comparison.depth_2_km is 'The second agency''s depth, in km.';
comment on column report.agency_comparison.earthquake is 'Code of the earthquake that both events describe, as in report.earthquake.';
comment on column report.agency_comparison.is_doubtful is 'Whether either event would fit another earthquake nearly as well.';

create function report.agency_comparison(
    agency_1 text, agency_2 text, since timestamptz default '-infinity', until timestamptz default 'infinity',
    minimum_magnitude double precision default '-infinity')
returns setof report.agency_comparison
language sql stable parallel safe
begin atomic
    select a.origin_time, coalesce(a.place, b.place), a.code, b.code, report.seconds(b.origin_time - a.origin_time),
           report.distance_km(a.latitude, a.longitude, b.latitude, b.longitude), b.depth_km - a.depth_km,
           b.magnitude - a.magnitude, a.magnitude, a.magnitude_type, b.magnitude, b.magnitude_type, a.depth_km, b.depth_km,
           a.earthquake, a.is_doubtful or b.is_doubtful
    from report.solution a
    join report.solution b on b.earthquake = a.earthquake and b.code <> a.code
    where report.check($3 <= $4, 'until is earlier than since')
      and report.check($5 <> 'nan', 'minimum_magnitude is not a number')
      and a.agency = lower($1 collate "C") and b.agency = lower($2 collate "C")
      and a.origin_time >= coalesce($3, '-infinity') and a.origin_time < coalesce($4, 'infinity')
      and (coalesce($5, '-infinity') = '-infinity' or a.magnitude >= $5)
    order by a.origin_time, a.code collate "C", b.code collate "C";
end;
comment on function report.agency_comparison(text, text, timestamptz, timestamptz, double precision) is
    'The earthquakes that two agencies report, with the differences between the agencies. quakes associate decides which events are one earthquake. since, until and minimum_magnitude apply to the first agency''s events.';

-- `extra` has the focal mechanisms from QuakeML (Sources/Feed/XMLEvents/QuakeMLExtra.swift). A writer may put anything there, so
-- a value is null here unless it is a number in the range of double precision.
create view report.focal_mechanism as
select time as origin_time, code, net as network, magnitude, magnitude_type, place, latitude, longitude, depth as depth_km,
       (number ->> 'strike1')::double precision as strike1_deg, (number ->> 'dip1')::double precision as dip1_deg,
       (number ->> 'rake1')::double precision as rake1_deg,
       (number ->> 'strike2')::double precision as strike2_deg, (number ->> 'dip2')::double precision as dip2_deg,
       (number ->> 'rake2')::double precision as rake2_deg,
       (number ->> 'mw')::double precision as moment_magnitude,
       (number ->> 'scalar_moment')::double precision as scalar_moment_nm,
       (number ->> 'mrr')::double precision as mrr_nm, (number ->> 'mtt')::double precision as mtt_nm,
       (number ->> 'mpp')::double precision as mpp_nm, (number ->> 'mrt')::double precision as mrt_nm,
       (number ->> 'mrp')::double precision as mrp_nm, (number ->> 'mtp')::double precision as mtp_nm,
       (number ->> 'double_couple')::double precision as double_couple, (number ->> 'clvd')::double precision as clvd,
       extra #>> '{focal_mechanism,agency}' as agency,
       extra #>> '{focal_mechanism,evaluation_mode}' as evaluation_mode,
       extra #>> '{focal_mechanism,evaluation_status}' as evaluation_status
from only public.quake
cross join lateral (
    select jsonb_object_agg(key, value) filter (
               where case when jsonb_typeof(value) = 'number'
                    then value::numeric = 0 or abs(value::numeric) between 1e-300 and 1e300 end) as number
    from jsonb_each(extra -> 'focal_mechanism')) as mechanism
where jsonb_typeof(extra -> 'focal_mechanism') = 'object';
comment on view report.focal_mechanism is
    'Focal mechanisms and moment tensors, one row for each event that was imported from QuakeML with a focal mechanism.';
comment on column report.focal_mechanism.strike1_deg is 'Strike of the first nodal plane, in degrees.';
comment on column report.focal_mechanism.dip1_deg is 'Dip of the first nodal plane, in degrees.';
comment on column report.focal_mechanism.rake1_deg is 'Rake of the first nodal plane, in degrees.';
comment on column report.focal_mechanism.strike2_deg is 'Strike of the second nodal plane, in degrees.';
comment on column report.focal_mechanism.dip2_deg is 'Dip of the second nodal plane, in degrees.';
comment on column report.focal_mechanism.rake2_deg is 'Rake of the second nodal plane, in degrees.';
comment on column report.focal_mechanism.moment_magnitude is 'The magnitude that the moment tensor refers to, or the event''s first moment magnitude.';
comment on column report.focal_mechanism.scalar_moment_nm is 'Scalar moment, in newton metres.';
comment on column report.focal_mechanism.mrr_nm is 'Moment tensor, up-up, in newton metres.';
comment on column report.focal_mechanism.mtt_nm is 'Moment tensor, south-south, in newton metres.';
comment on column report.focal_mechanism.mpp_nm is 'Moment tensor, east-east, in newton metres.';
comment on column report.focal_mechanism.mrt_nm is 'Moment tensor, up-south, in newton metres.';
comment on column report.focal_mechanism.mrp_nm is 'Moment tensor, up-east, in newton metres.';
comment on column report.focal_mechanism.mtp_nm is 'Moment tensor, south-east, in newton metres.';
comment on column report.focal_mechanism.double_couple is 'Share of the double couple in the moment, 0 to 1.';
comment on column report.focal_mechanism.clvd is 'Share of the compensated linear vector dipole, 0 to 1.';
comment on column report.focal_mechanism.agency is 'The agency that determined the mechanism.';
comment on column report.focal_mechanism.evaluation_mode is 'manual or automatic.';
comment on column report.focal_mechanism.evaluation_status is 'preliminary, confirmed, reviewed, final, rejected or reported.';

-- Revisions and removals of events.

-- The earlier values of a row are unknown if it was imported before the history begins. Then its first values are null here.

create view report.revision as
select quake.time as origin_time, quake.code, quake.net as network,
       case when not known.is_whole then null
            when change.magnitudes is null then quake.magnitude
            else (change.magnitudes[1] #>> '{}')::double precision end as first_magnitude,
       quake.magnitude as last_magnitude,
       change.revisions,
       report.seconds(quake.imported_at - quake.time) as import_delay_s,
       first.status as first_review_status,
       case when not known.is_whole then null
            when first.status = 'reviewed'
            then report.seconds(quake.imported_at - quake.time)
            when change.statuses is not null
            then (select report.seconds(min(turn.at) - quake.time)
                  from unnest(change.status_times, change.statuses[2:] || report.review_status(quake.status)) as turn (at, status)
                  where turn.status = 'reviewed') end as review_delay_s,
       change.last_revised_at,
       greatest(quake.imported_at, known.begin) as known_since
from only public.quake
cross join lateral (
    select begin, quake.imported_at > begin as is_whole
    from (select (select pruned_committed_at from history.store) as begin) as history) as known
-- Reads the revisions event by event, so that the first rows appear before the revisions of all other events are read.
cross join lateral (
    select count(*) as revisions, max(t.committed_at) as last_revised_at,
           array_agg(c.before -> 'magnitude' order by t.token, c.ordinal) filter (where c.before ? 'magnitude') as magnitudes,
           array_agg(report.review_status(c.before ->> 'status') order by t.token, c.ordinal) filter (where c.before ? 'status') as statuses,
           array_agg(t.committed_at order by t.token, c.ordinal) filter (where c.before ? 'status') as status_times
    from history.change c
    join history.transaction t on t.id = c.transaction
    where c.key = quake.code and c.entity = 'quake' and c.operation = 'update'
      -- If the event was withdrawn and came back, only what happened since then counts.
      and not exists (
          select from history.change d join history.transaction u on u.id = d.transaction
          where d.key = c.key and d.entity = 'quake' and d.operation = 'delete'
            and (u.token, d.ordinal) > (t.token, c.ordinal))) as change
cross join lateral (
    select case when not known.is_whole then null
                when change.statuses is null then report.review_status(quake.status) else change.statuses[1] end as status)
    as first;
comment on view report.revision is
    'How each event was revised since its first import here, as far back as the history reaches (see quakes prune). Values from before known_since are null. report.magnitude_history has every magnitude in between.';
comment on column report.revision.first_magnitude is 'Magnitude at the first import; null if history does not reach back to it.';
comment on column report.revision.last_magnitude is 'Magnitude now.';
comment on column report.revision.revisions is 'How often the event''s row has changed since known_since.';
comment on column report.revision.import_delay_s is 'Time from origin to first import, in seconds.';
comment on column report.revision.first_review_status is 'Review status at the first import, in lower case; null if history does not reach back to it.';
comment on column report.revision.review_delay_s is 'Time from the origin until the event was known here to be reviewed, in seconds; null if that never happened, or if the history does not reach back to the first import. If the event was reviewed at the first import, this is the time until the first import, which is an upper bound.';
comment on column report.revision.last_revised_at is 'When the event''s row last changed; null if it has not changed since known_since.';
comment on column report.revision.known_since is 'The time from which on the event''s changes are known: its first import, or the beginning of the history if that is later.';

create view report.magnitude_history as
select event.time as origin_time, event.code, version.magnitude,
       report.seconds(version.known_at - event.time) as from_age_s,
       report.seconds(coalesce(change.times[version.n], event.gone_at) - event.time) as to_age_s,
       version.known_at, coalesce(change.times[version.n], event.gone_at) as known_until,
       case when change.times[version.n] is not null then 'revised' else event.went end as ended,
       coalesce(version.known_at, history.begin) as known_since
from (select time, code, magnitude, imported_at, null::timestamptz as gone_at, null as went,
             9223372036854775807 as token, null::bigint as ordinal
      from only public.quake
      union all
      -- Events that were removed, with one row for each removal.
      select (c.before ->> 'time')::timestamptz, c.key, (c.before ->> 'magnitude')::double precision,
             (c.before ->> 'imported_at')::timestamptz, t.committed_at,
             case when c.reason like 'superseded by %' then 'renamed'
                  when c.reason like 'retracted by %' then 'withdrawn' else 'deleted' end,
             t.token, c.ordinal
      from history.change c join history.transaction t on t.id = c.transaction
      where c.entity = 'quake' and c.operation = 'delete') as event
cross join lateral (
    select array_agg(t.committed_at order by t.token, c.ordinal) as times,
           array_agg((c.before ->> 'magnitude')::double precision order by t.token, c.ordinal) as overwritten
    from history.change c join history.transaction t on t.id = c.transaction
    where c.key = event.code and c.entity = 'quake' and c.operation = 'update' and c.before ? 'magnitude'
      and (t.token, c.ordinal) < (event.token, event.ordinal)
      and not exists (
          select from history.change d join history.transaction u on u.id = d.transaction
          where d.key = c.key and d.entity = 'quake' and d.operation = 'delete'
            and (u.token, d.ordinal) > (t.token, c.ordinal) and (u.token, d.ordinal) < (event.token, event.ordinal))) as change
cross join lateral (select (select pruned_committed_at from history.store) as begin) as history
cross join lateral unnest(
    array_prepend(case when event.imported_at > history.begin then event.imported_at end, change.times),
    array_append(change.overwritten, event.magnitude))
    with ordinality as version (known_at, magnitude, n);
comment on view report.magnitude_history is
    'Each magnitude that an event had here, with the ages of the event (time since its origin) at which it got and lost this magnitude. The magnitude that was known an hour after the origin has from_age_s <= 3600, and a to_age_s that is null or greater than 3600. An event''s history begins with its first import HERE: if the event was imported later, nothing is known about its first hour. Nothing is known about pruned history either: if an event already had a magnitude when the history begins, from_age_s and known_at are null, and known_since is the time from which on the magnitude is certain.';
comment on column report.magnitude_history.origin_time is 'Origin time, as it was last known.';
comment on column report.magnitude_history.magnitude is 'The magnitude; null for a time in which the event had none.';
comment on column report.magnitude_history.from_age_s is 'Time from the origin until the magnitude was known here, in seconds; null if that was before history begins.';
comment on column report.magnitude_history.to_age_s is 'Time from the origin until another magnitude replaced this one, or the event was removed, in seconds; null if neither has happened.';
comment on column report.magnitude_history.known_at is 'When the magnitude was committed here, or for the first magnitude, when the transaction that imported the event began; null if that was before history begins.';
comment on column report.magnitude_history.known_until is 'When another magnitude replaced this one, or the event was removed; null if neither has happened.';
comment on column report.magnitude_history.ended is 'revised (another magnitude replaced this one), or renamed, withdrawn or deleted (the event was removed); null if neither has happened.';
comment on column report.magnitude_history.known_since is 'The time from which on the magnitude is certain: known_at, or the beginning of the history if the event already had this magnitude then.';

create view report.removed_event as
select t.committed_at as removed_at, c.key as code,
       case when c.reason like 'superseded by %' then 'renamed'
            when c.reason like 'retracted by %' then 'withdrawn' else 'deleted' end as kind,
       substring(c.reason from '^superseded by (.*)$') as new_code,
       substring(c.reason from '^retracted by (.*)$') as feed,
       c.reason, t.author as removed_by, (c.before ->> 'time')::timestamptz as origin_time,
       (c.before ->> 'magnitude')::double precision as magnitude, c.before ->> 'place' as place,
       exists (select from only public.quake q where q.code = c.key) as is_back
from history.change c join history.transaction t on t.id = c.transaction
where c.entity = 'quake' and c.operation = 'delete';
comment on view report.removed_event is 'Events that were renamed, withdrawn upstream or deleted, as far back as history reaches. Nothing is known about earlier removals.';
comment on column report.removed_event.removed_at is 'When the event was removed.';
comment on column report.removed_event.code is 'The id of the removed event.';
comment on column report.removed_event.kind is 'renamed, withdrawn (the feed no longer has it) or deleted (by its service, by hand or by another program).';
comment on column report.removed_event.new_code is 'For a renamed event: its new id.';
comment on column report.removed_event.feed is 'For a withdrawn event: the feed that no longer had it.';
comment on column report.removed_event.reason is 'The reason for the removal, as the history has it.';
comment on column report.removed_event.removed_by is 'Who removed the event: the setting history.author, else the program''s name, else the login.';
comment on column report.removed_event.origin_time is 'Last known origin time of the event.';
comment on column report.removed_event.magnitude is 'Last known magnitude of the event.';
comment on column report.removed_event.place is 'Last known place of the event.';
comment on column report.removed_event.is_back is 'Whether the catalogue has an event with this id again.';

-- Groups events by their whole list of sources first, because a million events have only a few hundred different lists.
create view report.network_contribution as
with combination as (
    select net, sources, count(*) as events, count(*) filter (where report.review_status(status) = 'reviewed') as reviewed,
           min(magnitude) as smallest, max(magnitude) as largest, max(time) as newest
    from only public.quake group by net, sources),
preferred as (
    select net as network, sum(events)::bigint as events, sum(reviewed)::bigint as reviewed, min(smallest) as smallest,
           max(largest) as largest, max(newest) as newest
    from combination group by net),
contributed as (
    select source as network, sum(events)::bigint as events
    from combination, lateral (select distinct unnest(coalesce(sources, array[]::text[]) || net)) as listed (source)
    group by source)
select network, coalesce(preferred.events, 0) as preferred_events, contributed.events as contributed_events,
       coalesce(preferred.events, 0) / sum(preferred.events) over () * 100::double precision as preferred_percent,
       preferred.reviewed::double precision / preferred.events * 100 as reviewed_percent,
       preferred.smallest as smallest_magnitude, preferred.largest as largest_magnitude,
       preferred.newest as newest_origin_time
from contributed left join preferred using (network);
comment on view report.network_contribution is 'What each seismic network contributes to the catalogue.';
comment on column report.network_contribution.network is 'Code of the network, such as us or ci.';
comment on column report.network_contribution.preferred_events is 'Number of events for which this is the preferred network.';
comment on column report.network_contribution.contributed_events is 'Number of events to which the network contributed, whether it is preferred or not.';
comment on column report.network_contribution.preferred_percent is 'Share of all events for which this is the preferred network, in percent.';
comment on column report.network_contribution.reviewed_percent is 'Share of the network''s preferred events that are reviewed, in percent.';
comment on column report.network_contribution.smallest_magnitude is 'Smallest magnitude of the network''s preferred events.';
comment on column report.network_contribution.largest_magnitude is 'Largest magnitude of the network''s preferred events.';
comment on column report.network_contribution.newest_origin_time is 'Latest origin time of the network''s preferred events.';

-- Operation.

create view report.import_run as
select id as run, source, feed, started as started_at, finished as finished_at, outcome,
       report.seconds(finished - started) as duration_s, seen, inserted, updated, unchanged, stale, superseded as renamed,
       retracted as withdrawn, rejected, bytes, error
from import.run;
comment on view report.import_run is 'Imports, one row per run.';
comment on column report.import_run.run is 'Number of the run.';
comment on column report.import_run.started_at is 'When the run began.';
comment on column report.import_run.finished_at is 'When the run ended, or when a later import found that its worker had died; null until then.';
comment on column report.import_run.duration_s is 'Duration of the run, in seconds.';
comment on column report.import_run.renamed is 'Events deleted because they were renamed.';
comment on column report.import_run.withdrawn is 'Events deleted because they were withdrawn upstream.';

create view report.feed_health as
select last.source, last.fresh_at, report.seconds(clock_timestamp() - last.fresh_at) as age_s,
       last.run as last_run, last.outcome as last_outcome, last.started as last_started_at, last.error as last_error,
       day.runs as runs_24h, day.failed as failed_24h, day.rejected as rejected_24h,
       day.median_duration as median_duration_24h_s,
       report.seconds(feed.checked_at - feed.generated) as document_age_s, last.is_monitored
from import.last_run as last
left join import.feed on feed.source = last.source
left join (select run.source, count(*) as runs, count(*) filter (where outcome = 'failed') as failed,
                  sum(rejected)::bigint as rejected,
                  percentile_cont(0.5) within group (order by report.seconds(finished - started)) as median_duration
           from import.run where started > now() - interval '24 hours' group by run.source) as day
       on day.source = last.source;
comment on view report.feed_health is 'How fresh each source is, and how its imports went.';
comment on column report.feed_health.age_s is 'Time since fresh_at, in seconds.';
comment on column report.feed_health.last_run is 'Number of the last run.';
comment on column report.feed_health.last_outcome is 'How that run ended: running, done, failed or cancelled.';
comment on column report.feed_health.last_started_at is 'When that run began.';
comment on column report.feed_health.last_error is 'The error of that run.';
comment on column report.feed_health.runs_24h is 'Number of runs that began in the last 24 hours; null if none. A request for an unchanged feed is not a run.';
comment on column report.feed_health.failed_24h is 'Number of those runs that failed.';
comment on column report.feed_health.rejected_24h is 'Number of features that those runs could not import.';
comment on column report.feed_health.median_duration_24h_s is 'Median duration of those runs, in seconds.';
comment on column report.feed_health.document_age_s is 'How old the feed''s document was when it was last requested, in seconds.';

create view report.import_latency as
select day, count(*) as events, count(*) filter (where not is_prompt) as late_events,
       percentile_disc(0.5) within group (order by delay) filter (where is_prompt) as median_delay_s,
       percentile_disc(0.95) within group (order by delay) filter (where is_prompt) as p95_delay_s
from (select report.day(imported_at) as day, report.seconds(imported_at - time) as delay,
             imported_at >= time and imported_at < time + interval '24 hours' as is_prompt
      from only public.quake) as imported
group by day;
comment on view report.import_latency is 'The time from the origin of events to their first import, by the day of that import.';
comment on column report.import_latency.day is 'Day of the first import, in UTC.';
comment on column report.import_latency.events is 'Events that were first imported on that day.';
comment on column report.import_latency.late_events is 'Number of those events that were imported a day or more after their origin (backfills and late additions), or that have an origin in the future. The delays do not include them.';
comment on column report.import_latency.median_delay_s is 'Median time from origin to first import, in seconds.';
comment on column report.import_latency.p95_delay_s is '95th percentile of the time from origin to first import, in seconds.';

create view report.reject as
select reject.id as reject, reject.last_seen as last_seen_at, reject.first_seen as first_seen_at, reject.count as occurrences,
       reject.reason, reject.message, reject.run, reject.source, reject.size as size_bytes
from import.reject;
comment on view report.reject is 'Features that could not be imported, and why; without their bytes.';
comment on column report.reject.reject is 'Number of the reject, as in quakes rejects.';
comment on column report.reject.last_seen_at is 'When the same bytes were last rejected.';
comment on column report.reject.first_seen_at is 'When the same bytes were first rejected.';
comment on column report.reject.occurrences is 'How often the same bytes were rejected.';
comment on column report.reject.source is 'The source that this run imported.';
comment on column report.reject.size_bytes is 'The feature''s size, in bytes.';

-- Each scrape of /metrics reads this whole view. So the view makes only two look-ups for each reader, however far behind the
-- reader is, and does not count the transactions that the reader lacks.
create view report.reader_lag as
select reader.name as reader, reader.token, reader.seen_at, report.seconds(clock_timestamp() - reader.seen_at) as silent_s,
       greatest(newest.token - reader.token, 0) as tokens_behind,
       coalesce(greatest(0, report.seconds(clock_timestamp() - missing.since)), 0) as behind_s,
       reader.token < store.pruned_token as needs_snapshot
from history.store
cross join lateral (select coalesce(max(token), store.pruned_token) as token from history.transaction) as newest
cross join history.reader
-- The search starts at the horizon, because the index may still have entries for everything that was pruned before it. A commit
-- time in the future only shows that the clock was ahead. Then the time of the reader's last report is used instead, because the
-- reader had everything at that time. If that time is in the future, too, the reader has not reported since the clock was
-- corrected.
left join lateral (select case when committed_at <= clock_timestamp() then committed_at
                               when reader.seen_at <= clock_timestamp() then reader.seen_at
                               else store.pruned_committed_at end as since
                   from history.transaction
                   where transaction.token > greatest(reader.token, store.pruned_token)
                   order by transaction.token limit 1) as missing on true;
comment on view report.reader_lag is 'How far each named reader is behind the newest transaction.';
comment on column report.reader_lag.reader is 'The name that the reader gave itself.';
comment on column report.reader_lag.silent_s is 'Time since the reader last reported, in seconds.';
comment on column report.reader_lag.tokens_behind is
    'The newest token minus the reader''s token; 0 if the reader has applied everything. There are gaps between tokens, so this may be more than the number of transactions that the reader has not applied, but never less.';
comment on column report.reader_lag.behind_s is
    'Time since the commit of the first transaction that the reader has not applied, in seconds; 0 if there is none. Pruned transactions do not count. If that commit time is in the future, because the server''s clock was ahead, this is the time since the reader''s last report or, if that is in the future, too, since the beginning of the history.';
comment on column report.reader_lag.needs_snapshot is 'Whether changes that the reader needs were pruned. If so, the reader must take a fresh snapshot.';

-- Copies comments to columns that have none, from the columns with the same names in the other view, table or type.
do $$
declare
    same record;
begin
    for same in
        select here.attrelid::regclass as relation, here.attname as name, col_description(there.attrelid, there.attnum) as meaning
        from (values ('report.coverage', 'import.coverage'), ('report.largest_event', 'report.event'),
                     ('report.daily_activity', 'report.event'), ('report.daily_energy', 'report.daily_activity'),
                     ('report.monthly_magnitude_frequency', 'report.magnitude_frequency'),
                     ('report.monthly_gutenberg_richter', 'report.gutenberg_richter'),
                     ('report.aftershock', 'report.event'), ('report.agency_comparison', 'report.aftershock'),
                     ('report.event_earthquake', 'report.event'), ('report.solution', 'report.event'), ('report.solution', 'public.earthquake_member'),
                     ('report.earthquake', 'report.event'),
                     ('report.focal_mechanism', 'report.event'), ('report.revision', 'report.event'),
                     ('report.magnitude_history', 'report.event'), ('import.last_run', 'import.run'),
                     ('report.import_run', 'import.run'), ('report.feed_health', 'import.run'),
                     ('report.feed_health', 'import.last_run'), ('report.reject', 'import.reject'),
                     ('report.reader_lag', 'history.reader')) as pair (one, other)
        join pg_attribute here on here.attrelid = pair.one::regclass
        join pg_attribute there on there.attrelid = pair.other::regclass and there.attname = here.attname
        where col_description(here.attrelid, here.attnum) is null
          and col_description(there.attrelid, there.attnum) is not null
    loop
        execute format('comment on column %s.%I is %L', same.relation, same.name, same.meaning);
    end loop;
end
$$;
