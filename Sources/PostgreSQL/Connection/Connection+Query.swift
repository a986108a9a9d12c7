import CPostgreSQL

extension Connection {
    /// Runs one statement and returns its rows, all of them in memory.
    ///
    /// - Parameter operation: a description of the statement, for the text of errors: "cannot <operation>: …".
    @discardableResult
    public func query(_ query: Query, to operation: String) throws -> [Row] {
        var rows: [Row] = []
        try forEachRow(of: query, to: operation, singleRowMode: false) { rows.append($0) }
        return rows
    }

    /// Runs one statement and calls `body` with each row as it arrives, in constant memory.
    ///
    /// An error thrown by `body` cancels the statement and is rethrown. If the server fails, `body` may already have received
    /// some rows.
    public func forEachRow(
        of query: Query, to operation: String, _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        try forEachRow(of: query, to: operation, singleRowMode: true, body)
    }

    /// Runs one query in the open transaction, and calls `body` with each row as it arrives. The server plans the query so that
    /// the first tenth of the rows arrives soon. If an index has the rows in order, the first rows arrive at once. All rows
    /// together may take longer.
    public func forEachRow(
        soonOf query: Query, to operation: String, _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        // With a cursor, the server plans the query in this way
        // (https://www.postgresql.org/docs/current/runtime-config-query.html, under cursor_tuple_fraction). Compiling the plan
        // (JIT) would take longer than the first rows.
        try execute(script: "set local jit = off", to: operation)
        try execute("declare soon no scroll cursor for \(query)", to: operation)
        var size = 50
        while true {
            var count = 0
            try forEachRow(of: "fetch \(unescaped: "\(size)") from soon", to: operation, singleRowMode: true)
            { row in
                count += 1
                try body(&row)
            }
            if count < size { break }
            size = 500
        }
        try execute("close soon", to: operation)
    }

    private func forEachRow(
        of query: Query, to operation: String, singleRowMode: Bool, _ body: (inout Row) throws -> Void
    ) throws {
        let handle = try open(operation)
        try send(query, operation, handle, singleRowMode: singleRowMode)
        try readResults(operation, handle) { for var row in $0.rows { try body(&row) } }
    }

    /// Runs one statement and returns how many rows it affected.
    @discardableResult
    public func execute(_ query: Query, to operation: String) throws -> Int {
        let handle = try open(operation)
        try send(query, operation, handle)
        return try readCount(operation, handle)
    }

    func readCount(_ operation: String, _ handle: OpaquePointer) throws -> Int {
        var count = 0
        try readResults(operation, handle) { count = Int(String(cString: PQcmdTuples($0.pointer))) ?? 0 }
        return count
    }

    /// Runs several statements, separated by semicolons and without parameters, as one implicit transaction.
    public func execute(script: String, to operation: String) throws {
        let handle = try open(operation)
        try send(script: script, operation, handle)
        try readResults(operation, handle) { _ in }
    }
}
