import PostgreSQL

/// Events that go on under another code: sources give an event the code of another network when they prefer its origin.
public enum RenamedEvent {
    /// The code that an event has now, as the reasons of deletions in the history say. A code may change several times.
    ///
    /// - Parameters:
    ///   - code: the code that the event had.
    ///   - token: only deletions up to this token count.
    /// - Returns: a code in the table; nil if the event was not renamed, if it is not there under its last code either, or if
    ///   there is an event with its old code: another one, or the same one, which was renamed back.
    public static func code(
        of code: String, upTo token: Int, on connection: Connection
    ) async throws -> String? {
        try await self.code(of: code, upTo: token, in: { _ in "only public.quake" }, on: connection)
    }

    /// - Parameter table: the table as it was at `token`, if only these events are wanted: their codes, as an array in SQL.
    static func code(
        of code: String, upTo token: Int, in table: (_ codes: Query) -> Query, on connection: Connection
    ) async throws -> String? {
        // Ten steps are enough for any event, and end where two codes name each other.
        let codes = try await connection.query(
            """
            with recursive renamed (code, steps) as (
                select \(code)::text, 0
                union all
                select substr(last.reason, length('superseded by ') + 1), steps + 1
                from renamed cross join lateral (
                    select c.reason from \(Query.changes(of: "renamed.code"))
                    where c.operation = 'delete' and t.token <= \(token)
                    order by t.token desc, c.ordinal desc limit 1) as last
                where steps < 10 and last.reason like 'superseded by %'
            )
            select array_agg(code order by steps) as codes from renamed having count(*) > 1
            """, to: "look for the event under another code"
        ).first?.decode("codes", as: [String].self)
        guard let codes else { return nil }
        let found = try await connection.query(
            """
            select renamed.code, renamed.steps from unnest(\(codes)) with ordinality as renamed (code, steps)
            join \(table("\(codes)")) as quake on quake.code = renamed.code
            order by steps limit 1
            """, to: "look for the event under another code"
        ).first
        guard let found, try found.decode("steps") > 1 else { return nil }
        return try found.decode("code")
    }
}
