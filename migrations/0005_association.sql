-- Association: which rows of which agencies describe one earthquake, and which of these rows to show. `quakes associate`
-- maintains these tables.
--
-- Only earthquakes that several rows of quake describe have rows here, so a catalogue of one agency costs nothing. A row of quake
-- without a row in earthquake_member is an earthquake by itself, with its own code: report.earthquake has both kinds.
--
-- The tables depend only on the rows of quake, on people's overrides and on the parameters. What they contained before does not
-- matter. An earthquake is named after the member that was imported first, and every member's code leads to its earthquake. When
-- an earthquake is dissolved, the reason of its deletion in the history names its successor: `superseded by CODE`, as for a row
-- of quake that was renamed.
--
-- The tables lag behind quake: for a moment, or for as long as `quakes associate` does not run. So a member or a preferred
-- solution may name a row that was deleted.

create table public.earthquake (
    code text collate "C" primary key,
    preferred text collate "C" not null,
    magnitude_from text collate "C",
    agencies integer not null
);
comment on table public.earthquake is
    'Earthquakes that several rows of quake describe, one row for each. An earthquake that only one row of quake describes has no row here.';
comment on column public.earthquake.code is 'The code of the member that was imported first. The code may change when that member leaves the earthquake.';
comment on column public.earthquake.preferred is 'Code of the member that is shown.';
comment on column public.earthquake.magnitude_from is 'Code of the member whose magnitude is shown; null if no member has a magnitude.';
comment on column public.earthquake.agencies is 'Number of agencies that report the earthquake. The networks of the USGS''s catalogue count as one agency.';

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
comment on table public.earthquake_member is 'The rows of quake that describe the same earthquake as other rows, and why they belong together.';
comment on column public.earthquake_member.code is 'Code of the row of quake.';
comment on column public.earthquake_member.earthquake is 'Code of the earthquake that the row describes.';
comment on column public.earthquake_member.partner is 'Code of the member of the same earthquake that this member is linked to most closely: by the strongest rule or, among pairs, by the lowest cost.';
comment on column public.earthquake_member.seconds is 'How much later the member''s origin time is than the partner''s, in seconds.';
comment on column public.earthquake_member.km is 'Distance between the member''s epicentre and the partner''s, in km.';
comment on column public.earthquake_member.magnitudes is 'How much larger the member''s magnitude is than the partner''s; null if either has no magnitude.';
comment on column public.earthquake_member.cost is
    'How much the member and its partner differ: the sum of the squared differences in time, place and magnitude, each divided by its variance. For two solutions of one earthquake, the average is about 3.';
comment on column public.earthquake_member.rule is
    'Why the member and its partner are one earthquake: same (a person said so), ids (one lists the other''s id), copy (one repeats the other''s solution) or pair (the two solutions agree).';
comment on column public.earthquake_member.is_doubtful is 'Whether the member would fit another earthquake nearly as well: its cheapest pair with a row of another earthquake costs less than 1.5 times as much as the pair with its partner. 1.5 is the default parameter.';

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
    'Decisions of people about which rows of quake are one earthquake, and which row is shown. They override every rule. Change them with `quakes associate`, or in SQL.';
comment on column public.association_override.pair is 'The codes a and b, the lesser one first, or only a if b is null. The pair is unique, so a pair of rows has at most one verdict.';
comment on column public.association_override.a is 'Code of a row of quake. The row need not exist. If it is renamed, the associator replaces the code.';
comment on column public.association_override.b is 'Code of another row of quake; null if the verdict is preferred.';
comment on column public.association_override.verdict is
    'same (the two rows are one earthquake), different (they are not) or preferred (a is the row that is shown for its earthquake).';
comment on column public.association_override.reason is 'Why the person decided so, in the person''s words.';
comment on column public.association_override.author is 'Who gave the verdict.';
comment on column public.association_override.said_at is 'When the verdict was given.';
comment on constraint association_override_codes on public.association_override is 'The verdict preferred is about one row; the other verdicts are about two different rows.';

-- Readers of the earthquakes are notified of new groups on the channel that they listen to already.
select history.track('public.earthquake', 'code', 'quake_changes');
select history.track('public.earthquake_member', 'code', 'quake_changes');
select history.track('public.association_override', 'pair', 'quake_changes');

-- The associator's position. It changes in the transaction that writes the groups.
create table import.association (
    position text,
    shape text,
    parameters text,
    made_with text,
    is_only boolean not null unique default true check (is_only)
);
comment on table import.association is 'A single row: the position up to which `quakes associate` has processed the changes.';
comment on column import.association.position is 'The groups take all changes up to this position into account: token, commit time, nonce and store; null before the first association.';
comment on column import.association.shape is 'The result of history.shape(''quake'') at that position.';
comment on column import.association.parameters is
    'The parameters file that `quakes associate --parameters` was given; null for the parameters that Quakes comes with.';
comment on column import.association.made_with is 'Version of the rules, and fingerprint of the parameters, with which the groups were made. If the present ones differ, the groups are made again, but only a newer version replaces the groups of another version.';
comment on column import.association.is_only is 'Keeps the table at one row.';
insert into import.association default values;

-- An event may have been renamed several times.
create function import.successor(code text, of_earthquake boolean) returns text
language sql stable
begin atomic
    with recursive renamed (code, steps) as (
        select $1, 0
        union all
        select substring(last.reason from '^superseded by (.+)$'), steps + 1
        from renamed
        cross join lateral (
            select change.reason, change.token, change.ordinal
            from (select token, ordinal, operation, reason from history.of_key('quake', renamed.code)
                  union all
                  select token, ordinal, operation, reason from history.of_key('earthquake', renamed.code) where $2) as change
            where change.operation = 'delete' and change.reason like 'superseded by %'
              and change.token >= (select max(d.token) from history.of_key('quake', renamed.code) d where d.operation = 'delete')
            order by change.token desc, change.ordinal desc limit 1) as last
        -- Ten steps are enough for any event. The limit ends the search if two codes lead to each other.
        where steps < 10 and not exists (select from only public.quake q where q.code = renamed.code))
    select r.code from renamed r where exists (select from only public.quake q where q.code = r.code)
    order by r.steps limit 1;
end;
comment on function import.successor(text, boolean) is
    'The code that an event has now: the given code or, if the event was renamed, its last new code; null if the event is not in quake any more. With of_earthquake, an event that was withdrawn leads to another event of its earthquake.';
