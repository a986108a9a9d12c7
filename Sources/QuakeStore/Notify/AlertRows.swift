import Alerts
import Feed
import PostgreSQL

extension AlertEvent {
    /// The columns of `notify.event` and of `notify.seen`.
    static let columns = [
        "earthquake", "code", "ids", "agencies", "magnitude", "magnitude_type", "place", "time", "latitude",
        "longitude", "depth", "status", "type", "types", "stations", "url",
    ]

    static func columns(of table: String) -> String {
        columns.map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// Reads the `columns`; nil if all of them are null, because an outer join has found no earthquake.
    static func next(in row: inout Row) throws -> AlertEvent? {
        guard let key = try row.nextText() else {
            try row.skip(columns.count - 1)
            return nil
        }
        let (code, ids, agencies) = (try row.nextText(), try row.nextTexts(), try row.nextTexts())
        let (magnitude, magnitudeType, place) = (
            try row.nextDouble(), try row.nextText(), try row.nextText()
        )
        guard let code, let time = try row.nextInstant(), let latitude = try row.nextDouble(),
            let longitude = try row.nextDouble()
        else { throw RowError.other }
        var event = AlertEvent(
            key: ExactText(key), code: ExactText(code), magnitude: magnitude,
            time: time, latitude: latitude, longitude: longitude)
        (event.ids, event.agencies) = ((ids ?? []).map { ExactText($0) }, agencies ?? [])
        (event.magnitudeType, event.place) = (magnitudeType, place)
        (event.depth, event.status) = (try row.nextDouble(), try row.nextText())
        (event.type, event.types) = (try row.nextText(), try row.nextTexts() ?? [])
        (event.stations, event.url) = (try row.nextInteger().map { Int($0) }, try row.nextText())
        return event
    }
}

extension EventChange {
    /// Reads the commit time, the new code of an earthquake that continues under another code, and the columns of the states
    /// before and after the change.
    init(_ row: inout Row) throws {
        let (committedAt, supersededBy) = (try row.nextInstant(), try row.nextText().map { ExactText($0) })
        let (before, after) = (try AlertEvent.next(in: &row), try AlertEvent.next(in: &row))
        self.init(before: before, after: after, supersededBy: supersededBy, committedAt: committedAt)
    }

    /// The differences between the earthquakes as they were last seen and as they are now.
    ///
    /// - Parameters:
    ///   - token: only earthquakes that have changed after this token are compared, in the order of their last changes. If it is
    ///     nil, all earthquakes are compared, in the order of their origin times.
    ///   - oldest: earthquakes before this origin time are left out, unless they were seen before or a message was sent about
    ///     them.
    static func all(
        after token: Int?, from oldest: Instant, on connection: Connection
    ) async throws -> [EventChange] {
        let query = token.map { pass(after: $0, oldest) } ?? fresh(oldest)
        var changes: [EventChange] = []
        for var row in try await connection.query(query, to: "read the changed earthquakes") {
            let change = try EventChange(&row)
            if change.before != change.after { changes.append(change) }
        }
        return changes
    }

    private static let columns = "\(AlertEvent.columns(of: "seen")), \(AlertEvent.columns(of: "event"))"

    /// The commit time is that of the earthquake's first change in the pass, so that later revisions do not make an earthquake
    /// look old.
    ///
    /// `offset 0` forces a look-up for each row. The planner might choose a worse plan, because its statistics may be older than
    /// the last load.
    private static func pass(after token: Int, _ oldest: Instant) -> Query {
        """
        select changed.committed_at,
               case when event.earthquake is null
                    then coalesce(nullif(notify.earthquake(changed.earthquake), changed.earthquake),
                                  notify.earthquake(import.successor(changed.earthquake, true)))
               end,
               \(unescaped: columns)
        from (select distinct on (named.earthquake collate "C") named.earthquake, c.token, c.ordinal,
                     min(c.committed_at) over (partition by named.earthquake collate "C") as committed_at
              from (select * from history.since(\(token), 'quake')
                    union all select * from history.since(\(token), 'earthquake')
                    union all select * from history.since(\(token), 'earthquake_member')) as c
              -- The row's own code counts, too: a row that has joined another row's earthquake is no longer an earthquake by
              -- itself.
              cross join lateral (values (c.key), (notify.earthquake(c.key))) as named (earthquake)
              order by named.earthquake collate "C", c.token desc, c.ordinal desc) as changed
        left join lateral (select * from notify.seen where seen.earthquake = changed.earthquake offset 0) as seen on true
        left join lateral (select * from notify.event where event.earthquake = changed.earthquake offset 0) as event on true
        where seen.earthquake is not null or event.time > \(oldest)
           or exists (select from notify.standing where standing.earthquake in (changed.earthquake, event.code))
        order by changed.token, changed.ordinal
        """
    }

    /// Compares all earthquakes, without the history. If an earthquake continues under another code, the new code is the code of
    /// the earthquake that now has the old earthquake's row as a member. If there is none, it is the code of an earthquake that
    /// has one of the old earthquake's codes.
    private static func fresh(_ oldest: Instant) -> Query {
        """
        with event as materialized (
            select * from notify.event where event.time > \(oldest)
            union
            select event.* from notify.seen
            cross join lateral (select * from notify.event where event.earthquake = seen.earthquake offset 0) as event),
        heir as (select distinct on (old.earthquake) old.earthquake, new.earthquake as heir
                 from (select seen.earthquake, id from notify.seen, unnest(seen.code || seen.ids) as id) as old
                 join (select event.earthquake, event.time, id from event, unnest(event.code || event.ids) as id) as new
                     using (id)
                 order by old.earthquake, new.time desc)
        select null::timestamptz,
               case when event.earthquake is null
                    then coalesce(nullif(notify.earthquake(seen.earthquake), seen.earthquake), heir.heir)
               end,
               \(unescaped: columns)
        from notify.seen
        full join event on event.earthquake = seen.earthquake
        left join heir on event.earthquake is null and heir.earthquake = seen.earthquake
        order by event.time, event.earthquake
        """
    }
}

/// The table `notify.seen`.
enum SeenEvents {
    /// The maximum age of the earthquakes in the table. Messages about an earthquake can be sent until it is 30 days old, and
    /// corrections for another 30 days.
    static let reach = Ledger.memory * 2

    /// Stores the present rows of these earthquakes as seen. Call it in the transaction that has read the changes.
    static func replace(_ changes: [EventChange], from oldest: Instant, on connection: Connection)
        async throws
    {
        let keys = changes.compactMap { ($0.after ?? $0.before)?.key.text }
        guard !keys.isEmpty else { return }
        let operation = "store the seen earthquakes"
        try await connection.execute(
            "delete from notify.seen where earthquake = any (\(keys))", to: operation)
        try await connection.execute(
            """
            insert into notify.seen (\(unescaped: AlertEvent.columns.joined(separator: ", ")))
            select \(unescaped: AlertEvent.columns(of: "event"))
            from unnest(\(keys)) as key
            cross join lateral (select * from notify.event where event.earthquake = key offset 0) as event
            where event.time > \(oldest)
            """, to: operation)
    }

    static func forget(before oldest: Instant, on connection: Connection) async throws {
        try await connection.execute(
            "delete from notify.seen where time <= \(oldest)", to: "delete old records of seen earthquakes")
    }
}
