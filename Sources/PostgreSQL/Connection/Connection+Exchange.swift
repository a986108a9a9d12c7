import CPostgreSQL

extension Connection {
    /// Runs a few queries in one transaction, REPEATABLE READ and READ ONLY, in one exchange with the server, which parses
    /// each text only once for this connection. Hands over their rows in binary form.
    ///
    /// This is for small answers that are asked for all the time: all rows of a query are in memory at once. It needs a
    /// session of its own (`ownsSession`).
    ///
    /// - Parameters:
    ///   - queries: their values may differ each time. The texts that were last used stay prepared.
    ///   - settings: as for `transaction`.
    ///   - table: as for `transaction`.
    ///   - body: takes the index of a query and a row of it. After it has thrown, it gets no more.
    /// - Throws: `PostgresError`, as for `forEachRow(preparing:)`; what `body` throws.
    public func exchange(
        _ queries: [Query], with settings: KeyValuePairs<String, String> = [:], holding table: String? = nil,
        to operation: String, _ body: (_ query: Int, _ row: inout Row) throws -> Void
    ) throws {
        try refuseInner(operation)
        let beginning = Self.beginning(.repeatableReadOnly, settings, table).map(Query.init(stringLiteral:))
        let statements = beginning + queries + ["commit"]
        let names = try statements.map { try prepare($0, operation) }
        do {
            let handle = try open(operation)
            try pipeline(operation, handle) {
                zip(names, statements).allSatisfy { sendPrepared($0, $1.parameters, handle) == 1 }
            } reading: { statement, result in
                guard queries.indices.contains(statement - beginning.count) else { return }
                for var row in result.rows { try body(statement - beginning.count, &row) }
            }
        } catch {
            if (error as? PostgresError)?.hasChangedShape ?? false {
                for statement in statements { prepared.drop(PreparedQueries.Shape(statement)) }
            }
            throw rollback(after: error, operation)
        }
    }

    /// Sends several statements, and reads their results, in pipeline mode
    /// (https://www.postgresql.org/docs/current/libpq-pipeline-mode.html).
    ///
    /// - Parameter send: whether all were sent.
    private func pipeline(
        _ operation: String, _ handle: OpaquePointer, _ send: () -> Bool,
        reading body: (Int, QueryResult) throws -> Void
    ) throws {
        guard PQenterPipelineMode(handle) == 1, send(), PQpipelineSync(handle) == 1 else {
            defer { close(because: "a pipeline that was not sent") }
            throw failureOfLibpq(operation, handle)
        }
        try flush(operation, handle)
        var statement = 0
        var isRead = false
        var firstError: (any Error)?
        // After an error, the server passes over all that follows.
        while !isRead, self.handle != nil {
            do {
                guard let result = try nextResult(operation, handle) else {
                    // The end of one statement's results.
                    statement += 1
                    closeIfLost(handle)
                    continue
                }
                switch result.status {
                case PGRES_PIPELINE_SYNC: isRead = true
                case PGRES_PIPELINE_ABORTED: break
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                    if firstError == nil { try body(statement, result) }
                default: throw failure(operation, result, handle)
                }
            } catch {
                firstError = firstError ?? error
            }
        }
        if isRead { PQexitPipelineMode(handle) }
        if let firstError { throw firstError }
        guard isRead else {
            throw PostgresError(
                operation: operation, message: lossReason ?? "the connection is closed", connectionLost: true)
        }
    }
}
