import CPostgreSQL

/// Writes the rows of a running COPY. Only valid inside the closure of `Connection.copy`.
public struct CopyWriter: Sendable {
    let connection: Connection
    let operation: String

    /// Sends rows, and returns when the operating system has accepted them, so a slow server slows the caller down.
    ///
    /// The server checks rows as it reads them. An error, here or at the end of the COPY, may therefore concern an
    /// earlier write.
    public func write(_ rows: BinaryRows) async throws {
        try await connection.putCopy(rows.storage, rows.count, operation)
    }
}

extension Connection {
    /// Streams rows into a table with binary `COPY … FROM STDIN`, and returns how many rows the server stored.
    ///
    /// `body` writes whole or partial rows in the format of `BinaryRows`; this method writes the header and the
    /// trailer. When `body` throws or the task is cancelled, the server discards all rows.
    ///
    /// - Parameters:
    ///   - table: SQL text, used as it is.
    ///   - columns: SQL text, used as it is.
    /// - Throws: any error of `body`, or `PostgresError`, which may concern any row written so far.
    @discardableResult
    nonisolated public func copy(
        into table: String, columns: [String], to operation: String,
        _ body: (CopyWriter) async throws -> Void
    ) async throws -> Int {
        try await beginCopy(into: table, columns: columns, operation)
        do {
            try await putCopy(BinaryRows.header, BinaryRows.header.count, operation)
            try await body(CopyWriter(connection: self, operation: operation))
            return try await endCopy(operation)
        } catch {
            await abandonCopy(operation)
            throw error
        }
    }

    private func beginCopy(into table: String, columns: [String], _ operation: String) throws {
        let script = "copy \(table) (\(columns.joined(separator: ", "))) from stdin (format binary)"
        try startCopy(script, PGRES_COPY_IN, operation, open(operation))
    }

    /// Sends a COPY statement. The server answers with the status `accepted` if it accepts the COPY.
    func startCopy(
        _ script: String, _ accepted: ExecStatusType, _ operation: String, _ handle: OpaquePointer
    ) throws {
        try send(script: script, operation, handle)
        guard let result = try nextResult(operation, handle) else {
            throw failureOfLibpq(operation, handle)
        }
        guard result.status == accepted else {
            let error = failure(operation, result, handle)
            // A second error can only mean that the connection is lost, which the next statement reports.
            do { try readResults(operation, handle) { _ in } } catch {}
            throw error
        }
    }

    func putCopy(_ bytes: [UInt8], _ count: Int, _ operation: String) throws {
        let handle = try open(operation)
        // Sends pieces of 256 KiB, because libpq copies everything that it cannot send at once into its buffer.
        var start = 0
        while start < count {
            let end = min(start + 262_144, count)
            let taken = bytes.withUnsafeBytes { all in
                PQputCopyData(handle, all.baseAddress! + start, Int32(end - start))
            }
            guard taken >= 0 else { throw failureOfLibpq(operation, handle) }
            if taken == 1 { start = end }
            try flush(operation, handle)
        }
    }

    private func endCopy(_ operation: String) throws -> Int {
        try putCopy(BinaryRows.trailer, BinaryRows.trailer.count, operation)
        let handle = try open(operation)
        try putCopyEnd(nil, operation, handle)
        return try readCount(operation, handle)
    }

    private func abandonCopy(_ operation: String) {
        guard let handle, PQtransactionStatus(handle) == PQTRANS_ACTIVE else { return }
        shieldingFromCancellation {
            // Without the cancellation, the server would first store all the rows that it has received.
            cancelStatement(handle)
            do {
                try putCopyEnd("the client gave up", operation, handle)
                while try nextResult(operation, handle) != nil {}
            } catch {
                close(because: "\(error)")
            }
        }
    }

    private func putCopyEnd(_ reason: String?, _ operation: String, _ handle: OpaquePointer) throws {
        var taken = PQputCopyEnd(handle, reason)
        while taken == 0 {
            try flush(operation, handle)
            taken = PQputCopyEnd(handle, reason)
        }
        guard taken == 1 else { throw failureOfLibpq(operation, handle) }
        try flush(operation, handle)
    }
}
