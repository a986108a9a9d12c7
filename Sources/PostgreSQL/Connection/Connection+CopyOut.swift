import CPostgreSQL

extension Connection {
    /// Streams the rows of a query with binary `COPY (…) TO STDOUT`, and calls `body` with each row as it arrives, in constant
    /// memory and without converting values to text and back.
    ///
    /// An error thrown by `body` cancels the statement and is rethrown. If the server fails, `body` may already have received
    /// some rows.
    ///
    /// - Parameter query: its values are sent as literals, because COPY does not accept bound values.
    public func copy(
        rowsOf query: Query, to operation: String, _ body: @Sendable (inout Row) throws -> Void
    ) throws {
        let script = try "copy (\(text(of: query))) to stdout (format binary)"
        let handle = try open(operation)
        try startCopy(script, PGRES_COPY_OUT, operation, handle)
        var bodyError: (any Error)?
        do {
            while let message = try nextCopyMessage(operation, handle) {
                defer { PQfreemem(message.baseAddress) }
                guard bodyError == nil else {
                    try watchDropping(operation, handle)
                    continue
                }
                guard var row = Row(message: message) else { continue }
                do {
                    try checkCancellation()
                    try body(&row)
                } catch {
                    bodyError = error
                    cancelStatement(handle)
                }
            }
            // Reads all results up to the end of the statement. An error of the server in the middle of the stream is thrown
            // here.
            try readResults(operation, handle) { _ in }
        } catch {
            throw bodyError ?? error
        }
        if let bodyError { throw bodyError }
    }

    public func quoted(_ text: String) throws -> String {
        let operation = "quote a text"
        let handle = try open(operation)
        guard let literal = PQescapeLiteral(handle, text, text.utf8.count) else {
            throw failureOfLibpq(operation, handle)
        }
        defer { PQfreemem(literal) }
        return String(cString: literal)
    }

    /// The next message of a COPY; nil at the end of the COPY, even if the COPY failed. The caller frees the message.
    private func nextCopyMessage(
        _ operation: String, _ handle: OpaquePointer
    ) throws -> UnsafeMutableRawBufferPointer? {
        var buffer: UnsafeMutablePointer<CChar>?
        while true {
            let length = PQgetCopyData(handle, &buffer, 1)
            if length > 0, let buffer {
                return UnsafeMutableRawBufferPointer(start: buffer, count: Int(length))
            }
            guard length == 0 else { return nil }
            try waitForServer(operation, handle)
            try watchWaitLimit(operation, handle)
        }
    }
}
