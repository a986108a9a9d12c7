import CPostgreSQL
import Glibc

/// One row in the server's binary form, of a COPY or of a prepared query. Read it column by column, each once and in the
/// query's order. Its bytes are valid only until the closure that was given the row returns.
///
/// - Throws: every read throws `BinaryRowError` when the row has no further column, or the column has a different size.
public struct BinaryRow {
    /// What is left of a COPY's message; empty for a row of a result.
    private var rest = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The result that the row stands in; nil for a row of a COPY.
    private var result: OpaquePointer?
    private var row: Int32 = 0
    private var column: Int32 = 0

    /// nil for the trailer. The backend sends one message per row (PostgreSQL's manual, "COPY Operations" of the
    /// protocol). The first message begins with the header.
    init?(message: UnsafeMutableRawBufferPointer) {
        rest = UnsafeRawBufferPointer(message)
        if rest.starts(with: BinaryRows.header) {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(BinaryRows.header.count))
        }
        guard rest.count >= 2, rest.loadUnaligned(as: Int16.self).bigEndian >= 0 else { return nil }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(2))
    }

    /// A row of a result whose columns all came in binary form.
    init(_ row: Int32, of result: OpaquePointer) {
        (self.result, self.row) = (result, row)
    }

    /// The bytes of a `text` or a `bytea`; nil for null.
    public mutating func nextBytes() throws -> UnsafeRawBufferPointer? {
        if let result { return try nextBytes(of: result) }
        guard rest.count >= 4 else { throw BinaryRowError() }
        let length = Int(rest.loadUnaligned(as: Int32.self).bigEndian)
        guard length >= 0 else {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4))
            return nil
        }
        guard rest.count >= 4 + length else { throw BinaryRowError() }
        let bytes = UnsafeRawBufferPointer(rebasing: rest[4..<4 + length])
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4 + length))
        return bytes
    }

    /// A `text`.
    public mutating func nextText() throws -> String? {
        try nextBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Passes over some columns.
    public mutating func skip(_ count: Int) throws {
        if result != nil {
            column += Int32(count)
        } else {
            for _ in 0..<count { _ = try nextBytes() }
        }
    }

    private mutating func nextBytes(of result: OpaquePointer) throws -> UnsafeRawBufferPointer? {
        guard column < PQnfields(result) else { throw BinaryRowError() }
        defer { column += 1 }
        guard PQgetisnull(result, row, column) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }

    /// A `smallint`, `integer` or `bigint`, or a `timestamptz` in microseconds since 2000-01-01 UTC.
    public mutating func nextInteger() throws -> Int64? {
        guard let bytes = try nextBytes() else { return nil }
        switch bytes.count {
        case 2: return Int64(bytes.loadUnaligned(as: Int16.self).bigEndian)
        case 4: return Int64(bytes.loadUnaligned(as: Int32.self).bigEndian)
        case 8: return bytes.loadUnaligned(as: Int64.self).bigEndian
        default: throw BinaryRowError()
        }
    }

    /// A `real` or `double precision`.
    public mutating func nextDouble() throws -> Double? {
        guard let bytes = try nextBytes() else { return nil }
        switch bytes.count {
        case 4: return Double(Float(bitPattern: bytes.loadUnaligned(as: UInt32.self).bigEndian))
        case 8: return Double(bitPattern: bytes.loadUnaligned(as: UInt64.self).bigEndian)
        default: throw BinaryRowError()
        }
    }

    public mutating func nextBool() throws -> Bool? {
        guard let bytes = try nextBytes() else { return nil }
        guard bytes.count == 1 else { throw BinaryRowError() }
        return bytes[0] != 0
    }

    /// A `text[]` of one dimension, or of none, without nulls
    /// (`array_send` in https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/arrayfuncs.c).
    public mutating func nextTexts() throws -> [String]? {
        guard let bytes = try nextBytes() else { return nil }
        func number(at offset: Int) throws -> Int {
            guard offset + 4 <= bytes.count else { throw BinaryRowError() }
            return Int(bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self).bigEndian)
        }
        let dimensions = try number(at: 0)
        guard dimensions == 1 else {
            guard dimensions == 0 else { throw BinaryRowError() }
            return []
        }
        // The flag for nulls, the elements' type, the length and the lower bound come before the elements.
        var offset = 20
        return try (0..<number(at: 12)).map { _ in
            let length = try number(at: offset)
            guard length >= 0, offset + 4 + length <= bytes.count else { throw BinaryRowError() }
            defer { offset += 4 + length }
            return String(decoding: bytes[offset + 4..<offset + 4 + length], as: UTF8.self)
        }
    }
}

/// A row does not have the columns that were read.
public struct BinaryRowError: Error, Sendable, CustomStringConvertible {
    public init() {}

    public var description: String { "a row in binary form does not have the expected columns" }
}
