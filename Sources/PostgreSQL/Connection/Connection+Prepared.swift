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
        let name = try prepare(query, operation)
        let handle = try open(operation)
        try send(name, operation, handle, singleRowMode: true) {
            sendPrepared(name, query.parameters, handle)
        }
        do {
            try readResults(operation, handle) { result in
                for var row in result.rows { try body(&row) }
            }
        } catch let error as PostgresError where error.hasChangedShape {
            prepared.drop(PreparedQueries.Shape(query))
            throw error
        }
    }

    func prepare(_ query: Query, _ operation: String) throws -> String {
        let shape = PreparedQueries.Shape(query)
        if let name = prepared.name(of: shape) { return name }
        let name = prepared.newName()
        while let dropped = prepared.dropped.last {
            try execute(script: "deallocate \(dropped)", to: operation)
            prepared.dropped.removeLast()
        }
        let handle = try open(operation)
        try send(shape.text, operation, handle) {
            PQsendPrepare(handle, name, shape.text, Int32(shape.types.count), shape.types)
        }
        try readResults(operation, handle) { _ in }
        prepared.add(shape, as: name)
        return name
    }
}

struct PreparedQueries {
    struct Shape: Hashable {
        let text: String
        let types: [UInt32]

        init(_ query: Query) {
            (text, types) = (query.text, query.parameters.map(\.type))
        }
    }

    private static let most = 64
    private var names: [Shape: (name: String, lastUse: Int)] = [:]
    private var uses = 0
    /// Statements that are prepared in the session but no longer needed. They are deallocated just before the next query is
    /// prepared, and not at once, because the server refuses DEALLOCATE in a failed transaction.
    var dropped: [String] = []

    mutating func name(of shape: Shape) -> String? {
        uses += 1
        names[shape]?.lastUse = uses
        return names[shape]?.name
    }

    /// A name for a new prepared query. If there are too many queries, the least recently used one is dropped.
    mutating func newName() -> String {
        if names.count == Self.most, let oldest = names.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            drop(oldest.key)
        }
        return "query_\(uses)"
    }

    mutating func add(_ shape: Shape, as name: String) {
        names[shape] = (name, uses)
    }

    mutating func drop(_ shape: Shape) {
        if let known = names.removeValue(forKey: shape) { dropped.append(known.name) }
    }
}
