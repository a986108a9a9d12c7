-- Association: which rows of which agencies describe one earthquake, and which of these rows to show. `quakes associate`
-- maintains these tables.
--
-- Only earthquakes that several rows of quake describe have rows here, so a catalogue of one agency costs nothing. A row of quake
-- without a row in earthquake_member is an earthquake by itself, with its own code: report.earthquake has both kinds.
--
-- The tables depend only on the rows of quake, on people's overrides and on the parameters, and not on the order in which these
-- arrived. So the tables contain nothing about the past: an earthquake is named after one of its members, and every member's code
-- leads to its earthquake. When an earthquake is dissolved, the reason of its deletion in the history names its successor:
-- `superseded by CODE`, as for a row of quake that was renamed.
--
-- The tables lag behind quake: after a change of quake, they are up to date after a moment, or later if `quakes associate` does
-- not run. So a member or a preferred solution may name a row that was deleted.

create table public.earthquake (
    code text collate "C" primary key,
    preferred text collate "C" not null,
    magnitude_from text collate "C",
    agencies integer not null
);
comment on table public.earthquake is
    'Earthquakes that several rows of quake describe, one row for each. A row of quake that describes an earthquake alone has none.';
comment on column public.earthquake.code is 'The code of the member that was here first. It may change when that member goes.';
comment on column public.earthquake.preferred is 'The member to show.';
comment on column public.earthquake.magnitude_from is 'The member whose magnitude to show; null if no member has one.';
comment on column public.earthquake.agencies is 'How many agencies report it. The networks of the USGS''s catalogue are one agency.';

create index earthquake_preferred on public.earthquake (preferred);
comment on index public.earthquake_preferred is 'Whether a row of quake is the one to show.';

create table public.earthquake_member (
    code text collate "C" primary key,
    earthquake text collate "C" not null,
    partner text collate "C" not null,
    seconds double precision not null,
    km double precision not null,
    magnitudes double precision,
    cost double precision not null,
    rule text not null check (rule in ('same', 'ids', 'copy', 'pair')),
    is_doubtful boolean not null
);
comment on table public.earthquake_member is 'The rows of quake that are one earthquake with others, and why.';
comment on column public.earthquake_member.code is 'The row of quake.';
comment on column public.earthquake_member.earthquake is 'Its earthquake.';
comment on column public.earthquake_member.partner is 'The member that it is closest to, by the strongest rule and then by the lowest cost.';
comment on column public.earthquake_member.seconds is 'How much later than the partner''s its origin time is, in seconds.';
comment on column public.earthquake_member.km is 'How far from the partner''s its epicentre is, in km.';
comment on column public.earthquake_member.magnitudes is 'How much larger than the partner''s its magnitude is; null if one of them has none.';
comment on column public.earthquake_member.cost is
    'How badly the two agree: differences in time, place and magnitude, each squared and divided by its variance, added up. 3 is usual.';
comment on column public.earthquake_member.rule is
    'Why they are one: same (a person said so), ids (one lists the other''s id), copy (one repeats the other''s solution) or pair (they agree).';
comment on column public.earthquake_member.is_doubtful is 'Whether another earthquake agrees nearly as well: the next best costs less than 1.5 times as much.';

create index earthquake_member_earthquake on public.earthquake_member (earthquake);
comment on index public.earthquake_member_earthquake is 'The members of an earthquake.';

create table public.association_override (
    pair text collate "C" primary key
        generated always as (case when b is null then a else least(a, b) || ' ' || greatest(a, b) end) stored,
    a text collate "C" not null,
    b text collate "C",
    verdict text not null check (verdict in ('same', 'different', 'preferred')),
    reason text,
    author text not null default current_user,
    said_at timestamptz not null default now(),
    constraint association_override_codes check (case verdict when 'preferred' then b is null else b is not null and a <> b end)
);
comment on table public.association_override is
    'A person''s word about which rows are one earthquake, which comes before every rule. Change it with `quakes associate`, or in SQL.';
comment on column public.association_override.pair is 'Both codes, the lesser one first: there is one verdict about two rows.';
comment on column public.association_override.a is 'A row of quake. It need not exist.';
comment on column public.association_override.b is 'Another one; null for preferred.';
comment on column public.association_override.verdict is
    'same (they are one earthquake), different (they are not) or preferred (a is the one to show of its earthquake).';
comment on column public.association_override.reason is 'Why, in that person''s words.';
comment on column public.association_override.author is 'Who said so.';
comment on column public.association_override.said_at is 'When.';
comment on constraint association_override_codes on public.association_override is 'preferred is about one row, the others about two.';

-- Readers of the earthquakes are notified of new groups on the channel that they listen to already.
select history.track('public.earthquake', 'code', 'quake_changes');
select history.track('public.earthquake_member', 'code', 'quake_changes');
select history.track('public.association_override', 'pair', 'quake_changes');

-- The associator's position, which is like that of any other reader. It changes in the transaction that writes the groups.
create table import.association (
    store uuid,
    token bigint,
    committed_at timestamptz,
    nonce text,
    shape text,
    parameters text,
    made_with text,
    is_only boolean not null unique default true check (is_only)
);
comment on table import.association is 'A single row: how far `quakes associate` has come.';
comment on column import.association.store is 'The store that the position belongs to; null before the first association, as are the next four.';
comment on column import.association.token is 'All changes up to this token are in the groups.';
comment on column import.association.committed_at is 'When that token''s transaction was committed.';
comment on column import.association.nonce is 'That transaction''s nonce. history.check tells by these four whether the position still holds.';
comment on column import.association.shape is 'history.shape(''quake'') at that time.';
comment on column import.association.parameters is
    'The parameters file that `quakes associate --parameters` was given; null for the parameters that Quakes comes with.';
comment on column import.association.made_with is 'Fingerprint of the parameters that the groups were made with. If it differs, they are made again.';
comment on column import.association.is_only is 'Keeps the table at one row.';
insert into import.association default values;
