import CPostgreSQL
import Glibc

/// One row, in the server's binary form. Read its columns one after another, in the query's order, or decode them by name.
///
/// A row of a query's result stays valid as long as it is held. A row of a COPY has no column names, and its bytes are valid only
/// until the closure that received the row returns.
///
/// - Throws: reading the next column throws `RowError` when the row has no further column, or when the value's size does not fit
///   the requested type. The SQL type is not checked, because a COPY does not send types.
public struct Row: @unchecked Sendable {
    private var rest = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The result that contains the row; it never changes. nil for a row of a COPY.
    private let result: QueryResult?
    private let row: Int32
    private var column: Int32 = 0

    /// Reads a row of a COPY; nil for the trailer. The server sends one message per row (PostgreSQL's manual, "COPY Operations"
    /// of the protocol). The first message begins with the header.
    init?(message: UnsafeMutableRawBufferPointer) {
        rest = UnsafeRawBufferPointer(message)
        if rest.starts(with: BinaryRows.header) {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(BinaryRows.header.count))
        }
        guard rest.count >= 2, rest.loadUnaligned(as: Int16.self).bigEndian >= 0 else { return nil }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(2))
        (result, row) = (nil, 0)
    }

    init(_ row: Int32, of result: QueryResult) {
        (self.result, self.row) = (result, row)
    }

    // MARK: By name

    /// The value of a column that must not be null.
    ///
    /// - Throws: `RowError` when there is no such column, or its value is null or not of the requested type.
    public func decode<Value: RowDecodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value
    {
        guard let value = try decodeIfPresent(name, as: type) else {
            throw RowError(column: name, problem: "is null")
        }
        return value
    }

    /// The value of a column; nil when it is null.
    ///
    /// - Throws: `RowError` when there is no such column, or its value is not of the requested type.
    public func decodeIfPresent<Value: RowDecodable>(
        _ name: String, as type: Value.Type = Value.self
    ) throws -> Value? {
        guard let result, let column = result.column(name) else {
            throw RowError(column: name, problem: "is not in the result")
        }
        if PQgetisnull(result.pointer, row, column) == 1 { return nil }
        var cell = self
        cell.column = column
        do {
            guard Value.sqlTypes.contains(PQftype(result.pointer, column)) else { throw RowError.other }
            return try Value.next(in: &cell)
        } catch is RowError {
            throw RowError(column: name, problem: "is not a valid \(type)")
        }
    }

    // MARK: In order

    /// The bytes of a `text` or a `bytea`; nil for null.
    public mutating func nextBytes() throws -> UnsafeRawBufferPointer? {
        if let result { return try nextBytes(of: result.pointer) }
        guard rest.count >= 4 else { throw RowError.other }
        let length = Int(rest.loadUnaligned(as: Int32.self).bigEndian)
        guard length >= 0 else {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4))
            return nil
        }
        guard rest.count >= 4 + length else { throw RowError.other }
        let bytes = UnsafeRawBufferPointer(rebasing: rest[4..<4 + length])
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4 + length))
        return bytes
    }

    private mutating func nextBytes(of result: OpaquePointer) throws -> UnsafeRawBufferPointer? {
        guard column < PQnfields(result) else { throw RowError.other }
        defer { column += 1 }
        guard PQgetisnull(result, row, column) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }

    var sqlType: UInt32? { result.map { PQftype($0.pointer, column) } }

    public mutating func skip(_ count: Int) throws {
        if result != nil {
            column += Int32(count)
        } else {
            for _ in 0..<count { _ = try nextBytes() }
        }
    }

    public mutating func nextText() throws -> String? {
        try nextBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The text of a `jsonb`, in UTF-8, valid as long as the row's bytes are.
    public mutating func nextJSON() throws -> UnsafeRawBufferPointer? {
        // The first byte is the version of jsonb's binary form.
        try nextBytes().map { UnsafeRawBufferPointer(rebasing: $0.dropFirst()) }
    }

    /// A `smallint`, `integer` or `bigint`, or a `timestamptz` in microseconds since 2000-01-01 UTC.
    public mutating func nextInteger() throws -> Int64? {
        guard let bytes = try nextBytes() else { return nil }
        switch bytes.count {
        case 2: return Int64(bytes.loadUnaligned(as: Int16.self).bigEndian)
        case 4: return Int64(bytes.loadUnaligned(as: Int32.self).bigEndian)
        case 8: return bytes.loadUnaligned(as: Int64.self).bigEndian
        default: throw RowError.other
        }
    }

    /// A `real` or `double precision`.
    public mutating func nextDouble() throws -> Double? {
        guard let bytes = try nextBytes() else { return nil }
        switch bytes.count {
        case 4: return Double(Float(bitPattern: bytes.loadUnaligned(as: UInt32.self).bigEndian))
        case 8: return Double(bitPattern: bytes.loadUnaligned(as: UInt64.self).bigEndian)
        default: throw RowError.other
        }
    }

    public mutating func nextBool() throws -> Bool? {
        guard let bytes = try nextBytes() else { return nil }
        guard bytes.count == 1 else { throw RowError.other }
        return bytes[0] != 0
    }

    /// A `text[]` of at most one dimension, without nulls.
    public mutating func nextTexts() throws -> [String]? {
        var texts: [String] = []
        return try forEachText { texts.append(String(decoding: $0, as: UTF8.self)) } ? texts : nil
    }

    /// Calls `body` with the bytes of each element of a `text[]` of at most one dimension, without nulls (`array_send` in
    /// https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/arrayfuncs.c).
    ///
    /// - Returns: false for null.
    public mutating func forEachText(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        guard let bytes = try nextBytes() else { return false }
        func number(at offset: Int) throws -> Int {
            guard offset + 4 <= bytes.count else { throw RowError.other }
            return Int(bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self).bigEndian)
        }
        let dimensions = try number(at: 0)
        guard dimensions == 1 else {
            guard dimensions == 0 else { throw RowError.other }
            return true
        }
        // Four bytes each: the number of dimensions, the flag for nulls, the element type, the length, the lower bound. The
        // elements follow.
        guard try number(at: 16) == 1 else { throw RowError.other }
        var offset = 20
        for _ in 0..<(try number(at: 12)) {
            let length = try number(at: offset)
            offset += 4
            guard length >= 0, offset + length <= bytes.count else { throw RowError.other }
            try body(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
            offset += length
        }
        return true
    }
}

/// A row does not have the columns or values that the code expects. The error names the column, never the value.
public struct RowError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The column's name; nil if the column was read in order.
    public let column: String?
    public let problem: String

    public init(column: String?, problem: String) {
        self.column = column
        self.problem = problem
    }

    /// A row does not have the columns that were read.
    public static let other = RowError(column: nil, problem: "a row does not have the expected columns")

    public var description: String { column.map { "column \"\($0)\" \(problem)" } ?? problem }
}

/// A result that libpq has read: the whole result of a statement or, in single-row mode, one of its rows.
final class QueryResult: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        PQclear(pointer)
    }

    var status: ExecStatusType { PQresultStatus(pointer) }

    var isFailure: Bool { status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE }

    var rows: some Sequence<Row> { (0..<PQntuples(pointer)).lazy.map { Row($0, of: self) } }

    func column(_ name: String) -> Int32? {
        (0..<PQnfields(pointer)).first { strcmp(PQfname(pointer, $0), name) == 0 }
    }
}
