import CPostgreSQL
import Glibc

extension Connection {
    /// Streams the rows of a query by binary `COPY (…) TO STDOUT` and hands over each as it arrives: constant
    /// memory, whatever their number, and no conversion of values to text and back.
    ///
    /// An error thrown by `body` cancels the statement and is thrown again. Rows that were handed over before
    /// the server failed stay handed over.
    ///
    /// - Parameter query: SQL text, as it stands: a COPY takes no bound values. What came from outside goes through
    ///   `quoted`.
    public func copy(
        rowsOf query: String, to operation: String, _ body: @Sendable (inout CopiedRow) throws -> Void
    ) throws {
        let handle = try open(operation)
        try send(script: "copy (\(query)) to stdout (format binary)", operation, handle)
        guard let result = try nextResult(operation, handle) else {
            throw failureOfLibpq(operation, handle)
        }
        let status = PQresultStatus(result)
        let refusal = status == PGRES_COPY_OUT ? nil : failure(operation, result, handle)
        PQclear(result)
        var firstError: (any Error)? = refusal
        if refusal == nil { firstError = try takeRows(operation, handle, body) }
        // The end of the conversation: a server that failed in mid-stream says so here.
        do {
            try readResults(operation, handle) { _ in }
        } catch {
            throw firstError ?? error
        }
        if let firstError { throw firstError }
    }

    /// A text as a literal of SQL.
    public func quoted(_ text: String) throws -> String {
        let operation = "quote a text"
        let handle = try open(operation)
        guard let literal = PQescapeLiteral(handle, text, text.utf8.count) else {
            throw failureOfLibpq(operation, handle)
        }
        defer { PQfreemem(literal) }
        return String(cString: literal)
    }

    /// Returns the body's error, after which the rest was read and dropped.
    private func takeRows(
        _ operation: String, _ handle: OpaquePointer, _ body: (inout CopiedRow) throws -> Void
    ) throws -> (any Error)? {
        var bodyError: (any Error)?
        while let message = try nextCopyMessage(operation, handle) {
            defer { PQfreemem(message.baseAddress) }
            guard bodyError == nil, var row = CopiedRow(message: message) else { continue }
            do {
                try body(&row)
            } catch {
                bodyError = error
                cancelStatement(handle)
            }
        }
        return bodyError
    }

    /// The next message of a COPY, to be freed by the caller; nil at its end, good or bad.
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
            if waitForSocket(PQsocket(handle), writable: false), PQconsumeInput(handle) == 0 {
                throw failureOfLibpq(operation, handle)
            }
            try watchPatience(operation, handle)
        }
    }
}

/// One row of a binary COPY, read column by column, each once and in the query's order. Its bytes are gone when the
/// closure that was given it returns.
///
/// - Throws: every read throws when the row has no further column, or one of another size.
public struct CopiedRow {
    private var rest: UnsafeRawBufferPointer

    /// nil for the trailer. The backend sends one message a row (PostgreSQL's manual, "COPY Operations" of the
    /// protocol), the first with the header before it.
    init?(message: UnsafeMutableRawBufferPointer) {
        rest = UnsafeRawBufferPointer(message)
        if rest.starts(with: BinaryRows.header) {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(BinaryRows.header.count))
        }
        guard rest.count >= 2, rest.loadUnaligned(as: Int16.self).bigEndian >= 0 else { return nil }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(2))
    }

    /// The bytes of a `text` or a `bytea`; nil for null.
    public mutating func nextBytes() throws -> UnsafeRawBufferPointer? {
        guard rest.count >= 4 else { throw CopiedRowError() }
        let length = Int(rest.loadUnaligned(as: Int32.self).bigEndian)
        guard length >= 0 else {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4))
            return nil
        }
        guard rest.count >= 4 + length else { throw CopiedRowError() }
        let bytes = UnsafeRawBufferPointer(rebasing: rest[4..<4 + length])
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4 + length))
        return bytes
    }

    /// A `smallint`, `integer` or `bigint`, or a `timestamptz` in microseconds since 2000-01-01 UTC.
    public mutating func nextInteger() throws -> Int64? {
        guard let bytes = try nextBytes() else { return nil }
        switch bytes.count {
        case 2: return Int64(bytes.loadUnaligned(as: Int16.self).bigEndian)
        case 4: return Int64(bytes.loadUnaligned(as: Int32.self).bigEndian)
        case 8: return bytes.loadUnaligned(as: Int64.self).bigEndian
        default: throw CopiedRowError()
        }
    }

    /// A `real` or `double precision`.
    public mutating func nextDouble() throws -> Double? {
        guard let bytes = try nextBytes() else { return nil }
        switch bytes.count {
        case 4: return Double(Float(bitPattern: bytes.loadUnaligned(as: UInt32.self).bigEndian))
        case 8: return Double(bitPattern: bytes.loadUnaligned(as: UInt64.self).bigEndian)
        default: throw CopiedRowError()
        }
    }

    public mutating func nextBool() throws -> Bool? {
        guard let bytes = try nextBytes() else { return nil }
        guard bytes.count == 1 else { throw CopiedRowError() }
        return bytes[0] != 0
    }
}

/// A row of a COPY that does not have the columns it is read by.
public struct CopiedRowError: Error, Sendable, CustomStringConvertible {
    public init() {}

    public var description: String { "a row of a COPY has other columns than were asked for" }
}
