-- The records of `quakes notify`: the earthquakes that it has seen, what it has reported to each receiver, and the messages that
-- it has to deliver.
--
-- Like any other reader, `quakes notify` updates its position in the same transaction as its other records. It delivers messages
-- after that transaction. So a restart neither repeats nor skips a decision.

create schema notify;
comment on schema notify is 'The records of quakes notify: the earthquakes that it has seen, what it has reported to each receiver, and the messages that it has to deliver.';

create table notify.state (
    decided_at timestamptz,
    position text,
    shape text,
    revision bigint not null default 0,
    paces jsonb not null default '{}',
    is_only boolean not null unique default true check (is_only)
);
comment on table notify.state is 'A single row: the position up to which quakes notify has processed the changes.';
comment on column notify.state.decided_at is 'When quakes notify last decided which messages to send; null before the first start. The first start sends no messages about the earthquakes that exist then.';
comment on column notify.state.position is 'The decisions take all changes up to this position into account: token, commit time, nonce and store; null before the first start.';
comment on column notify.state.shape is 'The result of history.shape(''quake'') at that position.';
comment on column notify.state.revision is 'Counts the decisions. If a notifier finds another number than it expects, a second notifier has decided in between.';
comment on column notify.state.paces is 'By receiver, when the last messages were sent and when the next digest is due. After 5 messages in 10 minutes, the receiver gets a digest every 5 minutes.';
comment on column notify.state.is_only is 'Keeps the table at one row.';
insert into notify.state default values;

-- Earthquakes.

create function notify.earthquake(code text) returns text
language sql stable
return coalesce((select m.earthquake from public.earthquake_member m where m.code = $1), $1);
comment on function notify.earthquake(text) is
    'Code of the earthquake that a row of quake describes. Under this code, quakes notify records what it has reported.';

-- As in report.earthquake, the first of the other rows replaces a preferred row that was deleted, until the associator has seen
-- the deletion.
create view notify.event as
select q.code as earthquake, q.code, q.ids, array[q.net] as agencies, q.magnitude, q.magnitude_type, q.place, q.time, q.latitude,
       q.longitude, q.depth, q.status, q.type, q.types, q.nst as stations, q.url
from only public.quake q
where not exists (select from public.earthquake_member m where m.code = q.code)
union all
select e.code, q.code, members.codes || q.ids, members.agencies,
       case when largest.code is null then q.magnitude else largest.magnitude end,
       case when largest.code is null then q.magnitude_type else largest.magnitude_type end, q.place, q.time, q.latitude,
       q.longitude, q.depth, coalesce(members.reviewed, q.status), q.type, q.types, members.stations, q.url
from public.earthquake e
left join only public.quake preferred on preferred.code = e.preferred
join only public.quake q
    on q.code = coalesce(preferred.code, (select min(m.code) from public.earthquake_member m
                                          join only public.quake other on other.code = m.code where m.earthquake = e.code))
left join only public.quake largest on largest.code = e.magnitude_from and largest.magnitude is not null
cross join lateral (select array_agg(m.code order by m.code) as codes, array_agg(distinct other.net) as agencies,
                           max(other.nst) as stations,
                           min(other.status) filter (where lower(other.status) in ('reviewed', 'confirmed', 'final', 'manual')) as reviewed
                    from public.earthquake_member m join only public.quake other on other.code = m.code
                    where m.earthquake = e.code) as members;
comment on view notify.event is 'The earthquakes as the rules see them, one row for each. If several rows of quake are one earthquake, it has the values of the row that is shown, the magnitude that is shown for the earthquake, the largest number of stations, and the status of a reviewed row, if there is one.';
comment on column notify.event.earthquake is 'Code of the earthquake.';
comment on column notify.event.code is 'Code of the row of quake that is shown.';
comment on column notify.event.ids is 'The ids that the shown row lists. If several rows are one earthquake, also the codes of these rows.';
comment on column notify.event.agencies is 'The networks of the rows of quake that describe the earthquake.';
comment on column notify.event.magnitude is 'Magnitude.';
comment on column notify.event.magnitude_type is 'Magnitude type.';
comment on column notify.event.place is 'Place, in the agency''s words.';
comment on column notify.event.time is 'Origin time.';
comment on column notify.event.latitude is 'Latitude of the epicentre, in degrees.';
comment on column notify.event.longitude is 'Longitude of the epicentre, in degrees.';
comment on column notify.event.depth is 'Depth, in km.';
comment on column notify.event.status is 'Review status: automatic, reviewed or another word of the agency.';
comment on column notify.event.type is 'Kind of event.';
comment on column notify.event.types is 'Types of the products that exist for the event.';
comment on column notify.event.stations is 'Number of stations used for the location.';
comment on column notify.event.url is 'The agency''s page about the event.';

create table notify.seen (like notify.event including comments, primary key (earthquake));
comment on table notify.seen is
    'The earthquakes of the last 60 days as they were when quakes notify last decided which messages to send. It finds changes by comparing these rows with the present ones, so it misses nothing even if the history was pruned.';

-- Reports to each receiver.

create table notify.standing (
    earthquake text collate "C" not null,
    receiver text collate "C" not null,
    told jsonb,
    waiting jsonb,
    primary key (earthquake, receiver)
);
comment on table notify.standing is 'What was last reported to each receiver about an earthquake, and what waits to be reported. A row is kept for 30 days after the report.';
comment on column notify.standing.earthquake is 'The earthquake, as in notify.event.';
comment on column notify.standing.receiver is 'The receiver''s name in the rules file.';
comment on column notify.standing.told is 'The earthquake as it was last reported to the receiver; null if it never was.';
comment on column notify.standing.waiting is 'The report that waits for the end of quiet hours or for a digest; null if none waits.';

-- Messages.

create table notify.outbox (
    id bigint generated always as identity primary key,
    receiver text collate "C" not null,
    message jsonb not null,
    earthquakes text[] not null,
    follows bigint[] not null,
    created_at import.moment not null default clock_timestamp(),
    attempts integer not null default 0,
    next_attempt_at import.moment default clock_timestamp(),
    failed_at import.moment,
    delivered_at import.moment,
    given_up_at import.moment,
    reason text,
    check (num_nonnulls(next_attempt_at, delivered_at, given_up_at) = 1)
);
comment on table notify.outbox is 'Messages that wait to be delivered, and the delivered and given-up messages of the last 30 days.';
comment on column notify.outbox.id is 'Number of the message.';
comment on column notify.outbox.receiver is 'The receiver''s name in the rules file.';
comment on column notify.outbox.message is 'The message, in the form in which a command receives it. Receivers recognise it by its id, which is the same in each attempt.';
comment on column notify.outbox.earthquakes is 'Codes of the earthquakes that the message reports.';
comment on column notify.outbox.follows is 'Earlier messages about the same earthquakes to the same receiver. The message is not attempted until each of them is delivered or given up.';
comment on column notify.outbox.created_at is 'When the message was created.';
comment on column notify.outbox.attempts is 'How often a delivery of the message was attempted.';
comment on column notify.outbox.next_attempt_at is 'When the next attempt is due; null if the message was delivered or given up.';
comment on column notify.outbox.failed_at is 'When the first attempt failed or, if there was no attempt, when the message was given up; null if neither has happened.';
comment on column notify.outbox.delivered_at is 'When the receiver accepted the message; null if it has not.';
comment on column notify.outbox.given_up_at is 'When the message was given up; null if it was not.';
comment on column notify.outbox.reason is 'Why the last failed attempt failed, or why the message was given up.';
comment on constraint outbox_check on notify.outbox is 'A message waits, or is delivered, or is given up.';

create index outbox_waiting on notify.outbox (receiver, id) where next_attempt_at is not null;
comment on index notify.outbox_waiting is 'The waiting messages, by receiver.';

create view notify.receiver as
select coalesce(message.receiver, held.receiver) as receiver, coalesce(message.waiting, 0) as waiting, coalesce(held.held, 0) as held,
       message.oldest_at, message.failing_since, message.reason, coalesce(message.given_up, 0) as given_up,
       coalesce(message.given_up_lately, 0) as given_up_lately, message.delivered_at
from (select o.receiver, count(*) filter (where o.next_attempt_at is not null) as waiting,
             min(o.created_at) filter (where o.next_attempt_at is not null) as oldest_at,
             min(o.failed_at) filter (where o.next_attempt_at is not null) as failing_since,
             (array_agg(o.reason order by o.id desc) filter (where o.delivered_at is null and o.reason is not null))[1] as reason,
             count(o.given_up_at) as given_up,
             count(*) filter (where o.given_up_at > clock_timestamp() - interval '1 hour') as given_up_lately, max(o.delivered_at) as delivered_at
      from notify.outbox o group by o.receiver) as message
full join (select s.receiver, count(*) as held from notify.standing s where s.waiting is not null group by s.receiver) as held
    on held.receiver = message.receiver;
comment on view notify.receiver is 'The state of the deliveries, one row for each receiver of the last 30 days. It shows no messages.';
comment on column notify.receiver.receiver is 'The receiver''s name in the rules file.';
comment on column notify.receiver.waiting is 'Number of messages that wait to be delivered.';
comment on column notify.receiver.held is 'Number of earthquakes whose report waits for the end of quiet hours or for a digest.';
comment on column notify.receiver.oldest_at is 'When the oldest waiting message was created.';
comment on column notify.receiver.failing_since is 'When a delivery of one of the waiting messages first failed; null if none has failed.';
comment on column notify.receiver.reason is 'The last error of the newest undelivered message that has failed, or the reason why it was given up.';
comment on column notify.receiver.given_up is 'Number of messages of the last 30 days that were given up.';
comment on column notify.receiver.given_up_lately is 'Number of messages that were given up within the last hour.';
comment on column notify.receiver.delivered_at is 'When the receiver last accepted a message.';

create function notify.now() returns timestamptz
language sql volatile
return clock_timestamp();
comment on function notify.now() is 'The time that quakes notify uses for its decisions. A test may replace this function.';
