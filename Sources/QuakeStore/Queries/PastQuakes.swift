import Feed
import PostgreSQL

/// A moment in the table's past.
public enum PastMoment: Sendable, Equatable {
    /// After the transaction with this token.
    case token(Int)
    /// After what was committed up to then.
    case time(CommitTime)
    /// The same for a time that may have been cut to the millisecond: after what was committed up to the millisecond's end,
    /// or, if something was committed exactly at its beginning, after that. Trailing zeros are often left out.
    case millisecond(Instant)

    /// Reads a time as `Instant` does, with up to six decimals of the second.
    public init?(time text: String) {
        guard let (instant, microseconds) = Instant.exactly(text), Instant.possible.contains(instant) else {
            return nil
        }
        self =
            microseconds.map { .time(CommitTime(microseconds: Int(instant.milliseconds) * 1000 + $0)) }
            ?? .millisecond(instant)
    }
}

/// The history does not cover the requested moment.
public enum PastError: Error, Equatable, CustomStringConvertible {
    /// History before this was pruned, or never recorded.
    case pruned(Horizon)
    /// The requested token is higher than this one, the newest there is.
    case future(Int)

    public var description: String {
        switch self {
        case .pruned(let horizon): "history does not reach that far back: \(horizon)"
        case .future(let token): "the newest token is \(token)"
        }
    }
}

extension PastMoment {
    /// The token of the last transaction up to the moment.
    ///
    /// It holds only in the snapshot in which it was read: call this in the transaction that reads the rows.
    ///
    /// - Throws: `PastError` when the history does not cover the moment.
    func token(on connection: Connection) async throws -> Int {
        let horizon = try await Horizon.read(on: connection)
        switch self {
        case .token(let token):
            guard token >= horizon.token else { throw PastError.pruned(horizon) }
            let newest: Int = try await connection.query(
                "select history.current_token() as newest", to: "read the newest token")[0].decode("newest")
            guard token <= newest else { throw PastError.future(newest) }
            return token
        case .time(let time):
            return try await Self.token(upTo: time, on: connection, after: horizon)
        case .millisecond(let instant):
            // Outside of the times that an event can have, no moment differs from the next.
            let possible = min(max(instant, Instant.possible.lowerBound), Instant.possible.upperBound)
            let start = CommitTime(microseconds: Int(possible.milliseconds) * 1000)
            let exact = try await connection.query(
                """
                select token from (\(Self.last(upTo: start))) as last where committed_at = \(Self.moment(start))
                """, to: "find the token of a time"
            ).first
            if let exact { return try exact.decode("token") }
            let end = CommitTime(microseconds: start.microseconds + 999)
            return try await Self.token(upTo: end, on: connection, after: horizon)
        }
    }

    private static func token(
        upTo time: CommitTime, on connection: Connection, after horizon: Horizon
    ) async throws -> Int {
        guard time.microseconds >= horizon.committedAt.microseconds else { throw PastError.pruned(horizon) }
        return try await connection.query(last(upTo: time), to: "find the token of a time").first?
            .decode("token") ?? horizon.token
    }

    /// Tokens and times grow together.
    private static func last(upTo time: CommitTime) -> Query {
        """
        select token, committed_at from history.transaction where committed_at <= \(moment(time))
        order by token desc limit 1
        """
    }

    private static func moment(_ time: CommitTime) -> Query {
        "'epoch'::timestamptz + \(Double(time.microseconds)) * interval '1 microsecond'"
    }
}

extension QuakeSelection {
    /// The table as it was after `token`: the present rows, with every later change undone. When a column changed
    /// several times, the earliest change tells what it held.
    static func table(after token: Int) -> Query {
        """
        (with undone as (
            select c.key, c.operation, c.before, t.token, c.ordinal
            from history.transaction t join history.change c on c.transaction = t.id
            where t.token > \(token) and c.entity = 'quake'
        ),
        earliest as (
            select distinct on (key) key, operation from undone order by key, token, ordinal
        ),
        member as (
            select distinct on (undone.key, old.key) undone.key, old.key as name, old.value
            from undone, jsonb_each(before) as old
            order by undone.key, old.key, token, ordinal
        ),
        old as (
            select key, jsonb_object_agg(name, value) as before from member group by key
        )
        select quake.*
        from only public.quake
        where not exists (select from earliest where earliest.key = quake.code)
        union all
        select (jsonb_populate_record(
                   null::public.quake, coalesce(to_jsonb(quake), '{}') || coalesce(old.before, '{}'))).*
        from earliest
        left join old on old.key = earliest.key
        left join only public.quake on quake.code = earliest.key
        where earliest.operation <> 'insert')
        """
    }

    /// The events that were deleted up to `token`, and are not in `table`, as they were at last: `deleted`, and revised when
    /// they were deleted. History knows of no deletion that was pruned.
    static func tombstones(upTo token: Int, beside table: Query) -> Query {
        """
        (select (jsonb_populate_record(
                    null::public.quake,
                    before || jsonb_build_object(
                        'status', 'deleted',
                        'updated', greatest((before ->> 'updated')::timestamptz, committed_at)))).*
        from (
            select distinct on (c.key) c.key, c.before, t.committed_at
            from history.change c join history.transaction t on t.id = c.transaction
            where c.entity = 'quake' and c.operation = 'delete' and t.token <= \(token)
            order by c.key, t.token desc, c.ordinal desc
        ) as deleted
        where not exists (select from \(table) as quake where quake.code = deleted.key))
        """
    }
}
