import PostgreSQL
import Synchronization

/// The history, read page by page in token order. A page costs what it holds, wherever it lies: one statement for all of
/// it would sort all of it before its first row.
struct ChangePages {
    /// A place between two changes: after this one.
    struct Place {
        var token: Int
        var ordinal: Int
    }

    let selection: ChangeSelection
    /// The changes that are left to read come after it.
    var place: Place
    let connection: Connection
    /// Where the changes of the selected code are, as two arrays of equal length.
    private var places = (transactions: "{}", ordinals: "{}")

    init(_ selection: ChangeSelection, after place: Place, on connection: Connection) async throws {
        (self.selection, self.place, self.connection) = (selection, place, connection)
        if let code = selection.code { places = try await Self.places(of: code, on: connection) }
        try await connection.execute(script: Self.settings, to: "read the history")
    }

    /// Inserts have no index by key (see history.change_key): they are looked for in the whole table.
    static func places(
        of code: String, on connection: Connection
    ) async throws -> (transactions: String, ordinals: String) {
        let row = try await connection.query(
            """
            select coalesce(array_agg(transaction), '{}')::text as transactions,
                   coalesce(array_agg(ordinal), '{}')::text as ordinals
            from (select transaction, ordinal from history.change
                  where key = \(code) and entity = 'quake' and operation <> 'insert'
                  union all
                  select transaction, ordinal from history.change
                  where key = \(code) and entity = 'quake' and operation = 'insert') as place
            """, to: "find the changes of an earthquake")[0]
        return (try row.decode("transactions"), try row.decode("ordinals"))
    }

    /// Every look-up goes through an index, whatever the planner's statistics say: they may be older than the last load.
    /// What shapes values as text is set as it was for `before`.
    static let settings = """
        set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off;
        set local enable_sort = off; set local jit = off; set local max_parallel_workers_per_gather = 0;
        set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
        set local extra_float_digits = 1; set local bytea_output = 'hex'
        """

    /// A transaction, and how many changes of it are left to read at most: some may be of another table.
    private struct Transaction {
        let id: Int
        let token: Int
        let changes: Int
    }

    /// Hands over each change after the place, and moves the place.
    ///
    /// - Returns: whether there are more than `limit`.
    @discardableResult
    mutating func forEach(limit: Int?, _ body: @Sendable (Change) throws -> Void) async throws -> Bool {
        let count = Mutex(0)
        let counted: @Sendable (Change) throws -> Void = { change in
            let isWanted = count.withLock { count in
                count += 1
                return limit.map { count <= $0 } ?? true
            }
            if isWanted { try body(change) }
        }
        func left() -> Int? { limit.map { max(0, min($0, 1 << 40) + 1 - count.withLock { $0 }) } }

        if selection.code != nil {
            try await read(found(left()), counted)
        } else {
            // The first pages are short, so that the first changes come soon.
            var capacity = 100
            while left() != 0, let page = try await nextPage(capacity) {
                if page.count == 1 {
                    try await read(within(page[0], left()), order: "c.ordinal", counted)
                } else {
                    try await read(among(page, left()), counted)
                }
                place = Place(token: page[page.count - 1].token, ordinal: .max)
                capacity = min(capacity * 4, 4000)
            }
        }
        return limit.map { count.withLock { $0 } > $0 } ?? false
    }

    /// Moves the place so that this many changes are left.
    ///
    /// - Returns: whether that skips any.
    mutating func skipAllButTheNewest(_ count: Int) async throws -> Bool {
        let count = min(count, 1 << 40)
        let changes: Query =
            if selection.code != nil {
                foundChanges
            } else {
                """
                (select t.id, t.token from history.transaction t where \(isSelected) order by t.token desc offset 0) as t
                cross join lateral (
                    select ordinal from history.change
                    where transaction = t.id and entity = 'quake' order by ordinal desc limit \(count + 1)
                ) as c
                """
            }
        let last = try await connection.query(
            """
            select t.token, c.ordinal from \(changes)
            order by t.token desc, c.ordinal desc offset \(count) limit 1
            """, to: "find the newest changes"
        ).first
        guard let last else { return false }
        place = Place(token: try last.decode("token"), ordinal: try last.decode("ordinal"))
        return true
    }

    /// The next transactions: one, however many changes it has, or several that have no more than `capacity` together.
    private func nextPage(_ capacity: Int) async throws -> [Transaction]? {
        let rows = try await connection.query(
            """
            select id, token, changes - case token when \(place.token) then \(place.ordinal) else 0 end as changes
            from history.transaction t
            where token >= \(place.token) and (token > \(place.token) or changes > \(place.ordinal)) and \(isSelected)
            order by token limit \(capacity)
            """, to: "read the history's transactions")
        var page: [Transaction] = []
        var changes = 0
        for row in rows {
            let next = Transaction(
                id: try row.decode("id"), token: try row.decode("token"), changes: try row.decode("changes"))
            changes += next.changes
            if !page.isEmpty, changes > capacity { break }
            page.append(next)
        }
        return page.isEmpty ? nil : page
    }

    private var isSelected: Query {
        if let author = selection.author {
            "t.token >= \(place.token) and t.author = \(author)"
        } else {
            "t.token >= \(place.token)"
        }
    }

    private func read(
        _ changes: Query, order: String = "c.token, c.ordinal", _ body: @Sendable (Change) throws -> Void
    ) async throws {
        try await connection.forEachRow(of: described(changes, order: order), to: "read the history") {
            try body(Change($0))
        }
    }

    // MARK: Statements

    private static let columns =
        "t.token, t.committed_at, t.author, t.context, c.ordinal, c.key, c.operation, c.reason, c.before"

    /// The changes of one transaction. The primary key has them in order: they are read one by one.
    private func within(_ transaction: Transaction, _ limit: Int?) -> Query {
        """
        select \(unescaped: Self.columns)
        from (select * from history.change
              where transaction = \(transaction.id) and entity = 'quake'
                and ordinal > \(transaction.token == place.token ? place.ordinal : 0)
              order by ordinal) as c
        cross join (select * from history.transaction where id = \(transaction.id)) as t
        order by c.ordinal limit \(limit)
        """
    }

    private func among(_ page: [Transaction], _ limit: Int?) -> Query {
        """
        select \(unescaped: Self.columns)
        from history.transaction t
        cross join lateral (select * from history.change where transaction = t.id and entity = 'quake' offset 0) as c
        where t.token <= \(page[page.count - 1].token) and \(isSelected)
          and (t.token > \(place.token) or c.ordinal > \(place.ordinal))
        order by t.token, c.ordinal limit \(limit)
        """
    }

    private func found(_ limit: Int?) -> Query {
        """
        select \(unescaped: Self.columns) from \(foundChanges)
        where t.token > \(place.token) or c.ordinal > \(place.ordinal)
        order by t.token, c.ordinal limit \(limit)
        """
    }

    /// The changes of one key, found by their places.
    private var foundChanges: Query {
        """
        (unnest(\(places.transactions)::bigint[], \(places.ordinals)::bigint[]) as place (transaction, ordinal)
         join history.transaction t on t.id = place.transaction and \(isSelected)
         join history.change c on c.transaction = place.transaction and c.ordinal = place.ordinal)
        """
    }

    /// The history keeps what a change overwrote. What it wrote is the row as it is now, with what later changes to it
    /// overwrote put back, the earliest of them last.
    private func described(_ changes: Query, order: String) -> Query {
        """
        select c.token, \(CommitTime.query("c.committed_at")) as committed_at, c.author, c.context,
               c.ordinal, c.key, c.operation, c.reason, c.before, revision.after, revision.names, revision.olds,
               revision.news, event.row ->> 'magnitude' as magnitude, event.row ->> 'place' as place
        from (\(changes)) as c
        left join lateral (
            select jsonb_object_agg(member.key, member.value order by later_t.token desc, later.ordinal desc) as before
            from history.change later
            join history.transaction later_t on later_t.id = later.transaction
            cross join lateral jsonb_each(later.before) as member
            where (c.operation = 'update' or \(selection.describesEvents) and c.operation = 'insert')
              and later.key = c.key and later.operation <> 'insert' and later.entity = 'quake'
              and (later_t.token, later.ordinal) > (c.token, c.ordinal)
        ) as later on true
        left join only public.quake
          on quake.code = c.key
         and (c.operation = 'update' or \(selection.describesEvents) and c.operation = 'insert')
        left join lateral (
            select coalesce(to_jsonb(quake), '{}') || coalesce(later.before, '{}') as row offset 0
        ) as state on true
        left join lateral (
            select jsonb_object_agg(old.key, state.row -> old.key) as after,
                   array_agg(old.key order by attnum) as names,
                   array_agg(old.value::text order by attnum) as olds,
                   array_agg(coalesce(state.row -> old.key, 'null')::text order by attnum) as news
            from jsonb_each(c.before) as old
            left join pg_attribute on attrelid = 'public.quake'::regclass and attname = old.key
            where c.operation = 'update'
        ) as revision on true
        left join lateral (
            select case c.operation when 'delete' then c.before when 'insert' then state.row end as row
            where \(selection.describesEvents)
        ) as event on true
        order by \(unescaped: order)
        """
    }
}
