/// Writes the rows of a running COPY. Only valid inside the closure of `Connection.copy`.
public struct CopyWriter: Sendable {
    let connection: Connection
    let operation: String

    /// Sends rows and returns once they are with the operating system: a slow server slows the caller.
    ///
    /// The server checks rows as it reads them, so that an error, here or at the end of the COPY, may concern
    /// an earlier write.
    public func write(_ rows: BinaryRows) async throws {
        try await connection.putCopy(rows.storage, rows.count, operation)
    }
}
