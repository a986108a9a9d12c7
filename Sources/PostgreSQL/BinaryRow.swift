import Glibc

/// One row of a binary COPY. Read it column by column, each once and in the query's order. Its bytes are valid only
/// until the closure that was given the row returns.
///
/// - Throws: every read throws `CopiedRowError` when the row has no further column, or the column has a different size.
public struct CopiedRow {
    private var rest: UnsafeRawBufferPointer

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

/// A row of a COPY does not have the columns that were read.
public struct CopiedRowError: Error, Sendable, CustomStringConvertible {
    public init() {}

    public var description: String { "a row of a COPY does not have the expected columns" }
}
