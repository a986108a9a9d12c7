import CPostgreSQL

extension Connection {
    /// Runs a prepared query: the server parses it only once for this connection, and after some runs also keeps its plan. Calls
    /// `body` with each row as it arrives, in binary form and in constant memory.
    ///
    /// Use it for small queries that are run many times. For many rows, `copy(rowsOf:)` is faster. The connection needs its own
    /// session (`requireSession`): a pooler in transaction mode may use another session for the next run, in which the query is
    /// not prepared.
    ///
    /// - Parameter query: its values may differ from run to run. The 64 most recently used texts stay prepared.
    /// - Throws: `PostgresError`; its `hasChangedShape` is true when the result's columns have changed since the query was
    ///   prepared. The next run prepares the query again.
    public func forEachRow(
        preparing query: Query, to operation: String, _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        let types = query.parameters.map(\.type)
        let text = query.text
        let key = "\(types) \(text)"
        let name = try prepare(text, types, key, operation)
        let handle = try open(operation)
        try send(name, operation, handle, singleRowMode: true) {
            sendPrepared(name, query.parameters, handle)
        }
        do {
            try readResults(operation, handle) { result in
                for var row in result.rows { try body(&row) }
            }
        } catch let error as PostgresError where error.hasChangedShape {
            // The old statement stays in the session, because the server refuses DEALLOCATE in a failed transaction.
            prepared[key] = nil
            throw error
        }
    }

    /// The name of a prepared query. If there are too many, the least recently used one is dropped.
    ///
    /// - Parameter key: the types and the text.
    private func prepare(
        _ text: String, _ types: [UInt32], _ key: String, _ operation: String
    ) throws -> String {
        preparedUses += 1
        if let name = prepared[key]?.name {
            prepared[key]?.lastUse = preparedUses
            return name
        }
        if prepared.count == 64, let oldest = prepared.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            try execute(script: "deallocate \(oldest.value.name)", to: operation)
            prepared[oldest.key] = nil
        }
        let name = "query_\(preparedUses)"
        let handle = try open(operation)
        try send(text, operation, handle) {
            PQsendPrepare(handle, name, text, Int32(types.count), types)
        }
        try readResults(operation, handle) { _ in }
        prepared[key] = (name, preparedUses)
        return name
    }
}
