/// Rows in the format of `COPY … (FORMAT binary)`, built up in one buffer
/// (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format").
///
/// Call `beginRow` and then exactly one `append…` for each column, in the columns' order and of the columns'
/// types: the format carries no types, and the server takes a wrong length as an error, or a wrong type of
/// the right length as a wrong value.
public struct BinaryRows: Sendable {
    public private(set) var bytes: [UInt8] = []

    static let header: [UInt8] =
        Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + [UInt8](repeating: 0, count: 8)
    static let trailer: [UInt8] = [0xFF, 0xFF]

    public init() {}

    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Appends rows that were encoded before, as their bytes.
    public mutating func append(rows: UnsafeBufferPointer<UInt8>) {
        bytes.append(contentsOf: rows)
    }

    public mutating func beginRow(columns: Int) {
        append(Int16(columns))
    }

    public mutating func appendNull() {
        append(Int32(-1))
    }

    /// A `smallint`, `integer`, `bigint`, or a `timestamptz` in microseconds since 2000-01-01 UTC.
    public mutating func appendInteger(_ value: some FixedWidthInteger) {
        append(Int32(value.bitWidth / 8))
        append(value)
    }

    /// A `double precision`.
    public mutating func appendDouble(_ value: Double) {
        appendInteger(value.bitPattern)
    }

    /// A `boolean`.
    public mutating func appendBool(_ value: Bool) {
        append(Int32(1))
        bytes.append(value ? 1 : 0)
    }

    /// A value whose bytes `body` appends, without knowing their number beforehand: `text` in UTF-8, `bytea`,
    /// or `jsonb` as the byte 1 and the JSON text.
    public mutating func appendBytes(_ body: (inout [UInt8]) -> Void) {
        let start = bytes.count
        append(Int32(0))
        body(&bytes)
        setLength(at: start)
    }

    /// A one-dimensional `text[]`: `body` appends each element by `appendBytes` and returns how many there are.
    public mutating func appendTextArray(_ body: (inout BinaryRows) -> Int) {
        let start = bytes.count
        append(Int32(0))
        append(Int32(1))  // dimensions
        append(Int32(0))  // no null bitmap
        append(Int32(25))  // element type: text
        append(Int32(0))  // number of elements, set below
        append(Int32(1))  // lower bound
        let count = body(&self)
        if count == 0 {
            // An empty array has no dimension at all.
            bytes.removeLast(8)
            bytes.setBigEndian(Int32(0), at: start + 4)
        } else {
            bytes.setBigEndian(Int32(count), at: start + 16)
        }
        setLength(at: start)
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        bytes.appendBigEndian(value)
    }

    private mutating func setLength(at start: Int) {
        bytes.setBigEndian(Int32(bytes.count - start - 4), at: start)
    }
}

extension [UInt8] {
    fileprivate mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func setBigEndian(_ value: Int32, at index: Int) {
        Swift.withUnsafeBytes(of: value.bigEndian) { source in
            withUnsafeMutableBytes { $0[index..<index + 4].copyBytes(from: source) }
        }
    }
}
