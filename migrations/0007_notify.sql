-- The records of `quakes notify`: the earthquakes that it has seen, what each receiver was told, and the messages that have to be
-- delivered.
--
-- Like any other reader, it updates its position in the same transaction as its other records. It delivers messages after that
-- transaction. So a restart neither repeats nor skips a decision.

create schema notify;
comment on schema notify is 'What quakes notify has seen, told and has to deliver.';

create table notify.state (
    decided_at timestamptz,
    store uuid,
    token bigint,
    committed_at timestamptz,
    nonce text,
    shape text,
    revision bigint not null default 0,
    is_only boolean not null unique default true check (is_only)
);
comment on table notify.state is 'A single row: how far quakes notify has come.';
comment on column notify.state.decided_at is 'When it was last decided what is told; null before the first start. What existed at the first start is not told.';
comment on column notify.state.store is 'The store that the position belongs to; null before the first start, as are the next four.';
comment on column notify.state.token is 'The changes up to this token are decided.';
comment on column notify.state.committed_at is 'When that token''s transaction was committed.';
comment on column notify.state.nonce is 'That transaction''s nonce. history.check tells by these four whether the position still holds.';
comment on column notify.state.shape is 'history.shape(''quake'') at that time.';
comment on column notify.state.revision is 'Counts the decisions. A notifier that expects another number was overtaken by a second one.';
comment on column notify.state.is_only is 'Keeps the table at one row.';
insert into notify.state default values;

-- Earthquakes.

create function notify.earthquake(code text) returns text
language sql stable
return coalesce((select m.earthquake from public.earthquake_member m where m.code = $1), $1);
comment on function notify.earthquake(text) is
    'Which earthquake a row of quake describes: the one under which it is remembered what was told.';

create view notify.event as
select q.code as earthquake, q.code, q.ids, array[q.net] as agencies, q.magnitude, q.magnitude_type, q.place, q.time, q.latitude,
       q.longitude, q.depth, q.status, q.type, q.types, q.nst as stations, q.url
from only public.quake q
where not exists (select from public.earthquake_member m where m.code = q.code)
union all
select e.code, q.code, members.codes || q.ids, members.agencies, largest.magnitude, largest.magnitude_type, q.place, q.time, q.latitude,
       q.longitude, q.depth, q.status, q.type, q.types, q.nst, q.url
from public.earthquake e
join only public.quake q on q.code = e.preferred
left join only public.quake largest on largest.code = e.magnitude_from
cross join lateral (select array_agg(m.code order by m.code) as codes, array_agg(distinct other.net) as agencies
                    from public.earthquake_member m join only public.quake other on other.code = m.code
                    where m.earthquake = e.code) as members;
comment on view notify.event is 'The earthquakes as rules see them, one row for each: where several rows of quake are one earthquake, it has the values of the preferred one, and the magnitude that is shown.';
comment on column notify.event.earthquake is 'The earthquake.';
comment on column notify.event.code is 'The row that is shown.';
comment on column notify.event.ids is 'All codes that the event has had.';
comment on column notify.event.agencies is 'The networks or agencies whose event it is.';
comment on column notify.event.magnitude is 'Magnitude.';
comment on column notify.event.magnitude_type is 'Magnitude type.';
comment on column notify.event.place is 'Where, in the agency''s words.';
comment on column notify.event.time is 'Origin time.';
comment on column notify.event.latitude is 'Latitude of the epicentre, in degrees.';
comment on column notify.event.longitude is 'Longitude of the epicentre, in degrees.';
comment on column notify.event.depth is 'Depth, in km.';
comment on column notify.event.status is 'automatic, reviewed or another word of the agency.';
comment on column notify.event.type is 'Kind of event.';
comment on column notify.event.types is 'Types of the products that exist.';
comment on column notify.event.stations is 'How many stations located it.';
comment on column notify.event.url is 'The agency''s page.';

create table notify.seen (
    earthquake text collate "C" primary key,
    code text collate "C" not null,
    ids text[],
    agencies text[] not null,
    magnitude double precision,
    magnitude_type text,
    place text,
    time timestamptz not null,
    latitude double precision not null,
    longitude double precision not null,
    depth double precision,
    status text,
    type text,
    types text[],
    stations integer,
    url text
);
comment on table notify.seen is
    'The earthquakes of the last 60 days as they were when it was last decided what is told. A change is the difference between this and the present, so that nothing is missed if the history was pruned.';
do $$
declare
    shared record;
begin
    for shared in select attname as name, col_description(attrelid, attnum) as comment
                  from pg_attribute where attrelid = 'notify.event'::regclass and attnum > 0
    loop
        execute format('comment on column notify.seen.%I is %L', shared.name, shared.comment);
    end loop;
end
$$;

-- What each receiver was told.

create table notify.standing (
    earthquake text collate "C" not null,
    receiver text collate "C" not null,
    told jsonb,
    waiting jsonb,
    due timestamptz,
    primary key (earthquake, receiver)
);
comment on table notify.standing is 'What each receiver was told of an earthquake, and what waits. It is kept for 30 days after it was told.';
comment on column notify.standing.earthquake is 'The earthquake, as in notify.event.';
comment on column notify.standing.receiver is 'The receiver''s name in the rules file.';
comment on column notify.standing.told is 'The earthquake as it was last told; null if it never was.';
comment on column notify.standing.waiting is 'What is to be told later: after quiet hours, or in a digest; null if nothing.';
comment on column notify.standing.due is 'When that is.';

create table notify.pace (
    receiver text collate "C" primary key,
    pace jsonb not null
);
comment on table notify.pace is 'How fast each receiver was told lately: after 5 messages in 10 minutes there is a digest every 5 minutes.';
comment on column notify.pace.receiver is 'The receiver''s name in the rules file.';
comment on column notify.pace.pace is 'When the last messages were, and when the next digest is due.';

-- Messages.

create table notify.outbox (
    id bigint generated always as identity primary key,
    message_id text collate "C" not null,
    receiver text collate "C" not null,
    message jsonb not null,
    earthquakes text[] not null,
    follows bigint[] not null,
    created_at timestamptz not null default clock_timestamp(),
    attempts integer not null default 0,
    next_attempt_at timestamptz default clock_timestamp(),
    failed_at timestamptz,
    delivered_at timestamptz,
    given_up_at timestamptz,
    reason text,
    check (num_nonnulls(next_attempt_at, delivered_at, given_up_at) = 1)
);
comment on table notify.outbox is 'Messages: those that wait to be delivered, and those of the last 30 days.';
comment on column notify.outbox.id is 'Number of the message.';
comment on column notify.outbox.message_id is 'What receivers know it by. It is the same in each attempt.';
comment on column notify.outbox.receiver is 'The receiver''s name in the rules file.';
comment on column notify.outbox.message is 'The message, as a command gets it.';
comment on column notify.outbox.earthquakes is 'The earthquakes that it tells of.';
comment on column notify.outbox.follows is 'Earlier messages about the same earthquakes to the same receiver. They have to be done before it is attempted.';
comment on column notify.outbox.created_at is 'When it was decided.';
comment on column notify.outbox.attempts is 'How many times its delivery was attempted.';
comment on column notify.outbox.next_attempt_at is 'When it is attempted next; null if it is done.';
comment on column notify.outbox.failed_at is 'When an attempt failed first; null if none has.';
comment on column notify.outbox.delivered_at is 'When the receiver took it; null if it has not.';
comment on column notify.outbox.given_up_at is 'When it was given up; null if it was not.';
comment on column notify.outbox.reason is 'Why the last attempt failed.';
comment on constraint outbox_check on notify.outbox is 'It waits, is delivered, or is given up.';

create index outbox_waiting on notify.outbox (receiver, id) where next_attempt_at is not null;
comment on index notify.outbox_waiting is 'What waits, by receiver.';
create index outbox_created on notify.outbox (created_at);
comment on index notify.outbox_created is 'The latest messages.';

create view notify.receiver as
select coalesce(message.receiver, held.receiver) as receiver, coalesce(message.waiting, 0) as waiting, coalesce(held.held, 0) as held,
       message.oldest_at, message.failing_since, message.reason, coalesce(message.given_up, 0) as given_up, message.delivered_at
from (select o.receiver, count(*) filter (where o.next_attempt_at is not null) as waiting,
             min(o.created_at) filter (where o.next_attempt_at is not null) as oldest_at,
             min(o.failed_at) filter (where o.next_attempt_at is not null) as failing_since,
             (array_agg(o.reason order by o.id desc) filter (where o.delivered_at is null and o.reason is not null))[1] as reason,
             count(o.given_up_at) as given_up, max(o.delivered_at) as delivered_at
      from notify.outbox o group by o.receiver) as message
full join (select s.receiver, count(*) as held from notify.standing s where s.waiting is not null group by s.receiver) as held
    on held.receiver = message.receiver;
comment on view notify.receiver is 'How deliveries stand, one row for each receiver of the last 30 days. It holds no message.';
comment on column notify.receiver.receiver is 'The receiver''s name in the rules file.';
comment on column notify.receiver.waiting is 'Messages that are to be delivered.';
comment on column notify.receiver.held is 'Earthquakes that wait for the end of quiet hours, or for a digest.';
comment on column notify.receiver.oldest_at is 'When the oldest of the messages that wait was decided.';
comment on column notify.receiver.failing_since is 'When a delivery of those that wait failed first; null if none has.';
comment on column notify.receiver.reason is 'Why the last one failed that is not delivered.';
comment on column notify.receiver.given_up is 'Messages of the last 30 days that were given up.';
comment on column notify.receiver.delivered_at is 'When the receiver last took one.';

create function notify.now() returns timestamptz
language sql volatile
return clock_timestamp();
comment on function notify.now() is 'The time by which it is decided what is told. A test may replace it.';

create function notify.lock_key() returns bigint
language sql immutable
return 7955327;
comment on function notify.lock_key() is 'The key of the advisory lock that a notifier holds, so that there is only one.';
