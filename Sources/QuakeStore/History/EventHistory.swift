import PostgreSQL

public enum EventHistory {
    /// Calls `body` with each change of an event, the oldest first, as one line of JSON with the columns of `history.changes`
    /// except `row`. The last line is `{"row":{…}}`, the event as it is now, or `{"row":null}` if the event does not exist now.
    ///
    /// - Parameters:
    ///   - connection: a connection with an open REPEATABLE READ transaction.
    ///   - namesAuthors: whether the changes have their author and their context; if not, both are null.
    /// - Returns: whether an event with this code exists or existed. If not, `body` was not called.
    public static func forEachLine(
        of code: String, on connection: Connection, namesAuthors: Bool = true,
        _ body: @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> Bool {
        try await connection.execute(script: ChangePages.settings, to: "read an event's history")
        guard try await UnknownCodes.isKnown(code, on: connection) else { return false }
        try await connection.copy(
            rowsOf: """
                (select row_to_json(line)::text
                 from (select token, committed_at, \(HistoryText.author(isNamed: namesAuthors)), ordinal, key, operation,
                              reason, before
                       from history.of_key('quake', \(code)) order by token, ordinal) as line)
                union all
                select row_to_json(line)::text
                from (select (select to_jsonb(quake.*) from only public.quake where code = \(code)) as row) as line
                """, to: "read an event's history"
        ) { row in
            guard let line = try row.nextBytes() else { throw RowError.other }
            try body(line)
        }
        return true
    }
}
