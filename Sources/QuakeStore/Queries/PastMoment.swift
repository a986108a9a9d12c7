import Feed
import PostgreSQL

public enum PastMoment: Sendable, Equatable {
    case token(Int)
    /// The moment after the position's transaction. It does not exist if, after a restore, another transaction has the same
    /// token.
    case position(Position)
    /// The moment after all transactions that were committed up to this time.
    case time(CommitTime)
    /// The moment of a time in milliseconds, which may have been truncated from microseconds. So it means the end of the
    /// millisecond, unless a transaction was committed exactly at the beginning of the millisecond; then it means that beginning.
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
    case pruned(Horizon)
    /// The moment is in the future: a token that does not exist yet, or a time to come. The value is the newest token.
    case future(Int)
    /// The history of this database does not contain the position.
    case foreign

    /// Whether the moment may have existed in this database before, but was pruned, or undone by a restore.
    public var isGone: Bool {
        switch self {
        case .pruned(let horizon): horizon.token > 0
        case .future: false
        case .foreign: true
        }
    }

    public var description: String {
        switch self {
        case .pruned(let horizon): "history does not reach that far back: \(horizon)"
        case .future(let token): "the moment is in the future; the newest token is \(token)"
        case .foreign: "the position is from another database, or a restore has undone it"
        }
    }
}

extension PastMoment {
    /// The token of the last transaction up to the moment.
    ///
    /// The token is only valid in the snapshot in which it was read: call this function in the transaction that reads the rows.
    ///
    /// - Throws: `PastError` when the history does not cover the moment.
    func token(on connection: Connection) async throws -> Int {
        let horizon = try await Horizon.read(on: connection)
        switch self {
        case .token(let token):
            try await Self.check(token, after: horizon, on: connection)
            return token
        case .position(let position):
            let token = try await PastMoment.token(position.token).token(on: connection)
            let check: String = try await connection.query(
                """
                select history.check(\(position.store)::uuid, \(token), \(position.committedAt)::timestamptz,
                                     \(position.nonce)) as check
                """, to: "check a position")[0].decode("check")
            guard check == "ok" else { throw PastError.foreign }
            return token
        case .time(let time):
            return try await Self.token(upTo: time, on: connection, after: horizon)
        case .millisecond(let instant):
            // Limits the instant to the times that an event can have. For an instant beyond these limits, the result is the same
            // as at the limit.
            let possible = min(max(instant, Instant.possible.lowerBound), Instant.possible.upperBound)
            let start = CommitTime(microseconds: Int(possible.milliseconds) * 1000)
            let exact = try await connection.query(
                "select token from (\(Self.last(upTo: start))) as last where committed_at = \(start)",
                to: "find the token of a time"
            ).first
            if let exact { return try exact.decode("token") }
            let end = CommitTime(microseconds: start.microseconds + 999)
            return try await Self.token(upTo: end, on: connection, after: horizon)
        }
    }

    /// Checks that the history reaches back to a token, and that the token exists already.
    ///
    /// - Throws: `PastError`.
    static func check(_ token: Int, after horizon: Horizon, on connection: Connection) async throws {
        guard token >= horizon.token else { throw PastError.pruned(horizon) }
        let newest = try await newestToken(on: connection)
        guard token <= newest else { throw PastError.future(newest) }
    }

    static func newestToken(on connection: Connection) async throws -> Int {
        try await connection.query(
            "select history.current_token() as newest", to: "read the newest token")[0].decode("newest")
    }

    private static func token(
        upTo time: CommitTime, on connection: Connection, after horizon: Horizon
    ) async throws -> Int {
        guard time.microseconds >= horizon.committedAt.microseconds else { throw PastError.pruned(horizon) }
        // The clocks of programs differ a little, and the server's clock may have been ahead at the last commit.
        let future = try await connection.query(
            """
            select history.current_token() as newest
            where \(time) > interval '1 minute' + greatest(
                clock_timestamp(), (select committed_at from history.transaction where token is not null
                                    order by token desc limit 1))
            """, to: "compare with the clock"
        ).first
        if let future { throw PastError.future(try future.decode("newest")) }
        return try await connection.query(last(upTo: time), to: "find the token of a time").first?
            .decode("token") ?? horizon.token
    }

    /// Later transactions have higher tokens and later times. So the last transaction up to a time is found by bisection between
    /// two tokens, with the index on tokens. An index on times would have to be updated by every commit.
    private static func last(upTo time: CommitTime) -> Query {
        """
        with recursive bound (low, high) as (
            select pruned_token, history.current_token() from history.store
            union all
            select case when is_before then middle else low end, case when is_before then high else token - 1 end
            from (select low, high, low + (high - low + 1) / 2 as middle from bound where low < high) as half
            left join lateral (
                select token, committed_at from history.transaction
                where token <= middle and token > low order by token desc limit 1
            ) as probe on true
            cross join lateral (select coalesce(committed_at <= \(time), true) as is_before) as side
        )
        select token, committed_at from history.transaction
        where token <= (select low from bound where low = high) and token > (select pruned_token from history.store)
        order by token desc limit 1
        """
    }
}
