import Alerts
import Feed
import PostgreSQL

/// The table `notify.outbox`.
enum Outbox {
    struct Entry: Sendable {
        let id: Int
        let message: Message
        let attempts: Int

        var receiver: String { message.receiver }

        fileprivate init(_ row: Row) throws {
            id = try row.decode("id")
            attempts = try row.decode("attempts")
            message = try NotifierState.decoded(row.decode("message"))
        }
    }

    /// Appends messages, in the order in which each receiver should get them.
    static func append(_ messages: [Message], on connection: Connection) async throws {
        guard !messages.isEmpty else { return }
        try await connection.execute(
            """
            insert into notify.outbox (receiver, message, earthquakes, follows)
            select receiver, message, earthquakes,
                   case when is_later
                        -- The message follows the earlier messages of its thread, even if the earthquake had another code then.
                        -- A digest has another thread, so earlier messages about the same earthquakes count, too.
                        then array(select o.id from notify.outbox o
                                   where o.next_attempt_at is not null and o.receiver = new.receiver
                                     and (o.earthquakes && new.earthquakes or o.message ->> 'thread' = new.thread))
                        else '{}' end
            from (select message ->> 'receiver' as receiver, message, message ->> 'thread' as thread,
                         array(select e ->> 'earthquake' from jsonb_array_elements(message -> 'earthquakes') as e) as earthquakes,
                         exists (select from jsonb_array_elements(message -> 'earthquakes') as e
                                 where (e ->> 'count')::integer > 1) as is_later
                  from jsonb_array_elements(\(try NotifierState.json(messages))::jsonb) with ordinality as given (message, place)
                  order by place) as new
            """, to: "store the messages")
    }

    /// The first due message of each receiver, the oldest messages first.
    ///
    /// - Parameter busy: receivers that are left out.
    static func due(
        _ limit: Int, without busy: [String], on connection: Connection
    ) async throws -> [Entry] {
        // The recursion makes one index look-up for each receiver, however many messages wait.
        try await connection.query(
            """
            with recursive receivers (receiver) as (
                (select receiver from notify.outbox where next_attempt_at is not null order by receiver limit 1)
                union all
                select (select o.receiver from notify.outbox o
                        where o.next_attempt_at is not null and o.receiver > r.receiver order by o.receiver limit 1)
                from receivers r where r.receiver is not null)
            select next.id, next.message::text as message, next.attempts
            from receivers cross join lateral (
                select id, message, attempts from notify.outbox o
                where o.receiver = receivers.receiver and o.next_attempt_at is not null
                  -- A message from the future was created before the clock was set back.
                  and (o.next_attempt_at <= clock_timestamp() or o.created_at > clock_timestamp())
                  and not exists (select from notify.outbox e
                                  where e.id = any (o.follows) and e.next_attempt_at is not null)
                order by o.id limit 1) as next
            where receivers.receiver <> all (\(busy))
            order by next.id limit \(limit)
            """, to: "look for messages"
        ).map(Entry.init)
    }

    // MARK: Attempts

    /// Notes that an attempt begins. If the database can't be written, this fails, and the message is not sent: its delivery
    /// could not be recorded either, and the message would be sent again and again.
    ///
    /// - Parameter rest: how long to wait until the next attempt if the process ends during this one.
    /// - Returns: whether the message still waits.
    static func begin(_ entry: Entry, rest: Duration, on connection: Connection) async throws -> Bool {
        try await connection.execute(
            """
            update notify.outbox
            set created_at = least(created_at, clock_timestamp()),
                next_attempt_at = clock_timestamp() + make_interval(secs => \(rest / .seconds(1)))
            where id = \(entry.id) and next_attempt_at is not null
            """, to: "begin a delivery") > 0
    }

    /// Records a delivery, and makes all messages due that have failed since the receiver's last delivery: the receiver is
    /// reachable again.
    static func delivered(_ entry: Entry, on connection: Connection) async throws {
        try await connection.execute(
            """
            with delivered as (
                update notify.outbox set attempts = attempts + 1, next_attempt_at = null, delivered_at = clock_timestamp()
                where id = \(entry.id) and next_attempt_at is not null)
            update notify.outbox o set next_attempt_at = clock_timestamp()
            where o.receiver = \(entry.receiver) and o.id <> \(entry.id) and o.next_attempt_at > clock_timestamp()
              and o.failed_at > coalesce((select max(d.delivered_at) from notify.outbox d where d.receiver = \(entry.receiver)),
                                         '-infinity')
            """, to: "record a delivery")
    }

    /// Makes all messages to a receiver due that have failed before.
    static func hasten(_ receiver: String, on connection: Connection) async throws {
        try await connection.execute(
            """
            update notify.outbox set next_attempt_at = clock_timestamp()
            where receiver = \(receiver) and next_attempt_at > clock_timestamp() and failed_at is not null
            """, to: "make messages due")
    }

    /// Records a failed delivery.
    ///
    /// - Parameter wait: how long to wait until the next attempt; nil gives the message up.
    static func failed(
        _ entry: Entry, _ reason: String, again wait: Duration?, on connection: Connection
    ) async throws {
        try await connection.execute(
            """
            update notify.outbox
            set attempts = attempts + 1, failed_at = coalesce(failed_at, clock_timestamp()), reason = \(reason),
                next_attempt_at = clock_timestamp() + make_interval(secs => \(wait.map { $0 / .seconds(1) })),
                given_up_at = case when \(wait == nil) then clock_timestamp() end
            where id = \(entry.id) and next_attempt_at is not null
            """, to: "record a failed delivery")
    }

    /// Gives up all waiting messages to a receiver. With an `age`, only older messages are given up, and only if one of the
    /// receiver's waiting messages first failed at least that long ago.
    ///
    /// - Returns: how many messages were given up.
    static func giveUpAll(
        of receiver: String, _ reason: String, olderThan age: Duration? = nil, on connection: Connection
    ) async throws -> Int {
        let limit: Query = "clock_timestamp() - make_interval(secs => \((age ?? .zero) / .seconds(1)))"
        return try await connection.execute(
            """
            update notify.outbox
            set failed_at = coalesce(failed_at, clock_timestamp()), reason = \(reason), next_attempt_at = null,
                given_up_at = clock_timestamp()
            where next_attempt_at is not null and receiver = \(receiver)
              and (\(age == nil)
                   or created_at <= \(limit) and exists (
                       select from notify.outbox o
                       where o.receiver = outbox.receiver and o.next_attempt_at is not null and o.failed_at <= \(limit)))
            """, to: "give up messages")
    }

    /// Deletes delivered and given-up messages that are older than 30 days.
    static func forget(on connection: Connection) async throws {
        try await connection.execute(
            """
            delete from notify.outbox
            where next_attempt_at is null
              and created_at < clock_timestamp() - make_interval(secs => \(Ledger.memory / .seconds(1)))
            """, to: "forget old messages")
    }
}
