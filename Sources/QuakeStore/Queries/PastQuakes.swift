import Feed
import PostgreSQL

/// A moment in the table's past.
public enum PastMoment: Sendable, Equatable {
    /// After the transaction with this token.
    case token(Int)
    case time(Instant)
}

/// The history does not cover the requested moment.
public enum PastError: Error, Equatable, CustomStringConvertible {
    /// History before this token was pruned, or never recorded.
    case pruned(Int)
    /// The requested token is higher than this one, the newest there is.
    case future(Int)

    public var description: String {
        switch self {
        case .pruned(let token): "history reaches back only to token \(token)"
        case .future(let token): "the newest token is \(token)"
        }
    }
}

extension PastMoment {
    /// The token of the last transaction up to the moment.
    ///
    /// - Throws: `PastError` when the history does not cover the moment.
    func token(on connection: Connection) async throws -> Int {
        let row = try await connection.query(
            """
            select pruned_token, (extract(epoch from pruned_committed_at) * 1000)::bigint as pruned_at,
                   history.current_token() as newest
            from history.store
            """, to: "read the history's horizon")[0]
        let (pruned, newest): (Int, Int) = try (row.decode("pruned_token"), row.decode("newest"))
        switch self {
        case .token(let token):
            guard token >= pruned else { throw PastError.pruned(pruned) }
            guard token <= newest else { throw PastError.future(newest) }
            return token
        case .time(let time):
            guard time.milliseconds >= (try row.decode("pruned_at")) else { throw PastError.pruned(pruned) }
            let last = try await connection.query(
                """
                select max(token) as token from history.transaction
                where committed_at < to_timestamp(\(time.milliseconds + 1) / 1000.0)
                """, to: "find the token of a time")[0]
            return try last.decodeIfPresent("token") ?? pruned
        }
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
        from public.quake
        where not exists (select from earliest where earliest.key = quake.code)
        union all
        select (jsonb_populate_record(
                   null::public.quake, coalesce(to_jsonb(quake), '{}') || coalesce(old.before, '{}'))).*
        from earliest
        left join old on old.key = earliest.key
        left join public.quake on quake.code = earliest.key
        where earliest.operation <> 'insert')
        """
    }
}
