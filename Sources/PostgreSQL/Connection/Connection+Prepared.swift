import CPostgreSQL

extension Connection {
    /// Runs a query that the server parses only once for this connection, and soon no longer plans either. Hands over each
    /// row as it arrives, in binary form and in constant memory.
    ///
    /// This is for small queries that are run again and again. For many rows, `copy(rowsOf:)` takes less time. It needs a
    /// session of its own (`requireSession`), because a pooler in transaction mode may pass the next run to a session that
    /// does not know the query.
    ///
    /// An error thrown by `body` cancels the query and is thrown again. Rows that were handed over before the server failed
    /// stay handed over.
    ///
    /// - Parameters:
    ///   - query: its values may differ from run to run. Another text is prepared in place of the last one.
    ///   - name: the query's name in the session (`pg_prepared_statements`): plain, lower-case SQL.
    /// - Throws: `PostgresError`; `hasChangedShape` when the result's columns are no longer those of the first run. The next
    ///   run prepares the query anew.
    public func forEachRow(
        of query: Query, preparedAs name: String, to operation: String,
        _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        try prepare(query, as: name, operation)
        let handle = try open(operation)
        try send(name, operation, handle, singleRowMode: true) {
            sendPrepared(name, query.parameters, handle)
        }
        do {
            try readResults(operation, handle) { result in
                for var row in result.rows { try body(&row) }
            }
        } catch let error as PostgresError where error.hasChangedShape {
            prepared[name] = ""
            throw error
        }
    }

    func prepare(_ query: Query, as name: String, _ operation: String) throws {
        if let known = prepared[name] {
            if known.hasSameText(as: query) { return }
            try execute(script: "deallocate \(name)", to: operation)
            prepared[name] = nil
        }
        let (text, types) = (query.text, query.parameters.map(\.type))
        let handle = try open(operation)
        try send(text, operation, handle) {
            PQsendPrepare(handle, name, text, Int32(types.count), types)
        }
        try readResults(operation, handle) { _ in }
        prepared[name] = query
    }
}
