import PostgreSQL

/// Reads the history page by page in token order. The cost of a page is proportional to its number of changes. A single statement
/// for all pages would sort all changes before it returned the first row.
struct ChangePages {
    struct Place {
        var token: Int
        var ordinal: Int
    }

    let selection: ChangeSelection
    /// Reading continues with the change after this place.
    var place: Place
    /// The last token to read.
    private var last = Int.max
    let connection: Connection

    init(_ selection: ChangeSelection, after place: Place, on connection: Connection) async throws {
        (self.selection, self.place, self.connection) = (selection, place, connection)
        try await connection.execute(script: Self.settings, to: "read the history")
    }

    /// Forces index look-ups. The planner might choose a worse plan, because its statistics may be older than the last load.
    static let settings = """
        set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off;
        set local jit = off; set local max_parallel_workers_per_gather = 0; \(HistoryText.settings)
        """

    mutating func forEach(_ body: @Sendable (Change) throws -> Void) async throws {
        if let code = selection.code {
            try await read(
                histories(of: "select \(code)::text", where: isSelected), body)
        } else {
            // The first pages are short, so that the first changes arrive soon. Sorting a page takes at most 1 MB.
            var capacity = 100
            while let end = try await endOfPage(of: capacity) {
                try await read(page(upTo: end), body)
                place = end
                capacity = min(capacity * 4, 1000)
            }
        }
    }

    /// Moves the place so that the given number of changes remain to be read.
    ///
    /// - Returns: whether any changes are skipped.
    mutating func skipAllButTheNewest(_ count: Int) async throws -> Bool {
        guard let last = try await change(number: count, order: "desc") else { return false }
        place = last
        return true
    }

    /// Makes the reading end with the transaction that has the change with this number (1 is the first change). The whole
    /// transaction is read, because a later call can continue only after a token, that is, after a whole transaction.
    ///
    /// - Returns: whether there are changes after that transaction.
    mutating func endWithTheTransaction(of number: Int) async throws -> Bool {
        if number > 0 {
            guard let end = try await change(number: number - 1, order: "asc") else { return false }
            last = end.token
        } else {
            last = place.token
        }
        var rest = self
        (rest.place, rest.last) = (Place(token: last, ordinal: .max), .max)
        return try await rest.change(number: 0, order: "asc") != nil
    }

    /// Finds the place of a change after the current place. The changes are numbered from 0, beginning with the first change
    /// (`asc`) or with the last one (`desc`). Changes of the current place's transaction don't count.
    ///
    /// - Returns: nil if there are fewer changes.
    private func change(number: Int, order: String) async throws -> Place? {
        let number = min(number, 1 << 40)
        let changes: Query =
            if let code = selection.code {
                "history.of_key('quake', \(code), \(place.token)) where \(isSelected)"
            } else {
                """
                (select id, token from history.transaction
                 where token > \(place.token) and \(isSelected) order by token \(unescaped: order) offset 0) as t
                cross join lateral (
                    select ordinal from history.change
                    where transaction = t.id and entity = 'quake' order by ordinal \(unescaped: order) limit \(number + 1)
                ) as c
                """
            }
        return try await connection.query(
            """
            select token, ordinal from \(changes)
            order by token \(unescaped: order), ordinal \(unescaped: order) offset \(number) limit 1
            """, to: "count the changes"
        ).first.map { Place(token: try $0.decode("token"), ordinal: try $0.decode("ordinal")) }
    }

    /// The end of the next page. A page consists of whole transactions with at most `capacity` changes together, or of `capacity`
    /// changes of one larger transaction. Changes of other tables count, too.
    private func endOfPage(of capacity: Int) async throws -> Place? {
        let rows = try await connection.query(
            """
            select token, changes - case token when \(place.token) then \(place.ordinal) else 0 end as changes
            from history.transaction
            where token >= \(place.token) and (token > \(place.token) or changes > \(place.ordinal)) and \(isSelected)
            order by token limit \(capacity)
            """, to: "read the history's transactions")
        var end: Place?
        var held = 0
        for row in rows {
            let token: Int = try row.decode("token")
            held += try row.decode("changes")
            if held > capacity {
                let read = token == place.token ? place.ordinal : 0
                return end ?? Place(token: token, ordinal: read + capacity)
            }
            end = Place(token: token, ordinal: .max)
        }
        return end
    }

    private var isSelected: Query { "token <= \(last) and \(isByAuthor)" }

    private var isByAuthor: Query {
        guard let author = selection.author else { return "true" }
        return "author = \(author)"
    }

    private func read(_ changes: Query, _ body: @Sendable (Change) throws -> Void) async throws {
        try await connection.forEachRow(of: described(changes), to: "read the history") {
            try body(Change($0))
        }
    }

    /// The condition for changes that are read together with the row as it was after the change.
    private var isTold: Query {
        "(operation = 'update' or \(selection.describesEvents) and operation = 'insert')"
    }

    private func page(upTo end: Place) -> Query {
        """
        with page as materialized (
            select t.token, t.committed_at, t.author, t.context, c.ordinal, c.key, c.operation, c.reason, c.before
            from history.transaction t
            cross join lateral (
                select * from history.change
                where transaction = t.id and entity = 'quake'
                  and ordinal > case t.token when \(place.token) then \(place.ordinal) else 0 end
                  and ordinal <= case t.token when \(end.token) then \(end.ordinal) else \(Int.max) end
                offset 0
            ) as c
            where t.token between \(place.token) and \(end.token) and \(isByAuthor)
        )
        select *, null::jsonb as row from page where not \(isTold)
        union all
        (\(histories(
            of: "select distinct key from page where \(isTold)",
            where: """
                \(isTold) and \(isByAuthor)
                and (token < \(end.token) or token = \(end.token) and ordinal <= \(end.ordinal))
                """)))
        """
    }

    /// The changes of each key after the place, with the row as it was after each change.
    ///
    /// A key's changes are read once, from the newest to the oldest.
    private func histories(of keys: Query, where condition: Query) -> Query {
        """
        select token, committed_at, author, context, ordinal, change.key, operation, reason, before,
               coalesce(present.row, '{}') || later as row
        from (\(keys)) as wanted (key)
        left join lateral (
            select to_jsonb(quake.*) as row from only public.quake where code = wanted.key offset 0
        ) as present on true
        cross join lateral history.of_key('quake', wanted.key, \(place.token) - 1) as change
        where (token > \(place.token) or ordinal > \(place.ordinal)) and \(condition)
        """
    }

    /// The query for the columns that `Change` reads. `changes` must have a column `row` with the row as it was after the change,
    /// or null.
    private func described(_ changes: Query) -> Query {
        """
        select c.token, c.committed_at, c.author, c.context,
               c.ordinal, c.key, c.operation, c.reason, c.before, revision.after, revision.names, revision.olds,
               revision.news, (event.row ->> 'magnitude')::double precision as magnitude, event.row ->> 'place' as place
        from (\(changes)) as c
        left join lateral (
            select jsonb_object_agg(old.key, c.row -> old.key) as after,
                   array_agg(old.key order by attnum) as names,
                   array_agg(old.value::text order by attnum) as olds,
                   array_agg(coalesce(c.row -> old.key, 'null')::text order by attnum) as news
            from jsonb_each(c.before) as old
            left join pg_attribute on attrelid = 'public.quake'::regclass and attname = old.key
            where c.operation = 'update'
        ) as revision on true
        left join lateral (
            select case c.operation when 'delete' then c.before when 'insert' then c.row end as row
            where \(selection.describesEvents)
        ) as event on true
        order by c.token, c.ordinal
        """
    }
}
