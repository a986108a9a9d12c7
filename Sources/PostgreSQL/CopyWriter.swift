/// Writes the rows of a running COPY. Only valid inside the closure of `Connection.copy`.
public struct CopyWriter: Sendable {
    let connection: Connection
    let operation: String

    /// Sends rows, and returns once the operating system has taken them: a slow server slows the caller down.
    ///
    /// The server checks rows as it reads them. An error, here or at the end of the COPY, may therefore concern an
    /// earlier write.
    public func write(_ rows: BinaryRows) async throws {
        try await connection.putCopy(rows.storage, rows.count, operation)
    }
}
