import Feed
import PostgreSQL

/// One change to one earthquake, as the history records it.
public struct Change: Sendable {
    public enum Operation: String, Sendable {
        case insert, update, delete
    }

    /// The transaction's place in the order of commits.
    public let token: Int
    public let committedAt: Instant
    /// Who made the change, and in which context, such as `run 7`.
    public let author: String
    public let context: String?
    /// The change's place within its transaction.
    public let ordinal: Int
    public let code: String
    public let operation: Operation
    public let reason: String?
    /// What was overwritten, as a JSON object: the changed columns of an update, or the whole row of a delete.
    public let before: String?
    /// The new values of an update's changed columns, as a JSON object.
    public let after: String?
    /// The changed columns of an update, in the table's column order.
    public let members: [Member]

    /// One changed column, with its values as JSON.
    public struct Member: Sendable, Equatable {
        public let column: String
        public let old: String
        public let new: String

        public init(column: String, old: String, new: String) {
            self.column = column
            self.old = old
            self.new = new
        }
    }
}

/// Which changes to read. They are read in token order.
public struct ChangeSelection: Sendable {
    /// Only changes after this token; nil means all that are kept.
    public var after: Int?
    public var code: String?
    public var author: String?
    /// The greatest number of changes; nil means all.
    public var limit: Int?

    public init() {}

    /// Hands over each change as it arrives, all from one snapshot.
    ///
    /// - Parameter begin: called once before the changes, with where history begins in that snapshot.
    /// - Throws: `PastError.pruned` when history does not reach back to `after`.
    public func forEach(
        on connection: Connection, beginning begin: (Horizon) -> Void = { _ in },
        _ body: @Sendable (Change) throws -> Void
    ) async throws {
        try await connection.transaction(.repeatableReadOnly, to: "read the history") {
            let horizon = try await Horizon.read(on: connection)
            if let after, after < horizon.token { throw PastError.pruned(horizon) }
            begin(horizon)
            try await connection.forEachRow(of: query(after: after ?? horizon.token), to: "read the history")
            {
                try body(Change($0))
            }
        }
    }

    /// The history keeps what an update overwrote. What the update wrote is found in the next change to the same column
    /// or, if there is none, in the row as it is now.
    private func query(after token: Int) -> Query {
        """
        with pass as (
            select t.token, t.committed_at, t.author, t.context, c.ordinal, c.key, c.operation, c.reason, c.before
            from history.transaction t join history.change c on c.transaction = t.id
            where t.token > \(token) and c.entity = 'quake' and (\(code) is null or c.key = \(code))
        ),
        member as (
            select token, ordinal, pass.key as code, operation, old.key as name, old.value as old,
                   lead(old.value) over (partition by pass.key, old.key order by token, ordinal) as later
            from pass, jsonb_each(before) as old
        ),
        revision as (
            select token, ordinal,
                   jsonb_object_agg(name, coalesce(later, to_jsonb(quake) -> name)) as after,
                   array_agg(name order by position) as names,
                   array_agg(old::text order by position) as olds,
                   array_agg(coalesce(later, to_jsonb(quake) -> name, 'null')::text order by position) as news
            from member
            left join public.quake on quake.code = member.code
            left join (select attname, attnum as position from pg_attribute where attrelid = 'public.quake'::regclass)
                as attribute on attname = name
            where operation = 'update'
            group by token, ordinal
        )
        select token, (extract(epoch from committed_at) * 1000)::bigint as committed_at, author, context, ordinal,
               key, operation, reason, before, after, names, olds, news
        from pass left join revision using (token, ordinal)
        where \(author) is null or author = \(author)
        order by token, ordinal
        limit \(limit)
        """
    }
}

extension Change {
    init(_ row: Row) throws {
        token = try row.decode("token")
        committedAt = Instant(milliseconds: try row.decode("committed_at"))
        author = try row.decode("author")
        context = try row.decodeIfPresent("context")
        ordinal = try row.decode("ordinal")
        code = try row.decode("key")
        guard let operation = Operation(rawValue: try row.decode("operation")) else {
            throw RowError(column: "operation", problem: "is not a known operation")
        }
        self.operation = operation
        reason = try row.decodeIfPresent("reason")
        before = try row.decodeIfPresent("before")
        after = try row.decodeIfPresent("after")
        let columns = try row.decodeIfPresent("names", as: TextArray.self)?.elements ?? []
        let olds = try row.decodeIfPresent("olds", as: TextArray.self)?.elements ?? []
        let news = try row.decodeIfPresent("news", as: TextArray.self)?.elements ?? []
        members = zip(columns, zip(olds, news)).map { Member(column: $0, old: $1.0, new: $1.1) }
    }
}
