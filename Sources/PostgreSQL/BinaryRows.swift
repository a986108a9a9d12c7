/// Rows in the format of `COPY … (FORMAT binary)`, built up in one buffer
/// (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format").
public struct BinaryRows: Sendable {
    /// The buffer grows and never shrinks: only its first `count` bytes are rows.
    private(set) var storage: [UInt8] = []
    /// The size of the rows, in bytes.
    public private(set) var count = 0

    static let header: [UInt8] =
        Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + [UInt8](repeating: 0, count: 8)
    static let trailer: [UInt8] = [0xFF, 0xFF]

    public init() {}

    public mutating func removeAll() {
        count = 0
    }

    /// Appends one row.
    ///
    /// - Parameters:
    ///   - capacity: at least the size of the values in bytes, and four more bytes for each value. Traps if it is too small.
    ///   - body: appends exactly one value for each column, in the columns' order and of their types. The format carries no
    ///     types: the server reports a value of the wrong length as an error, but stores a wrong value if only the type is wrong.
    public mutating func appendRow(
        columns: Int, capacity: Int, _ body: (inout RowWriter) throws -> Void
    ) rethrows {
        try extend(by: 2 + capacity) { writer in
            writer.append(Int16(columns))
            try body(&writer)
        }
    }

    public mutating func append(rows: UnsafeBufferPointer<UInt8>) {
        extend(by: rows.count) { $0.append(rows) }
    }

    public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        try storage.withUnsafeBufferPointer { try body($0.extracting(0..<count)) }
    }

    private mutating func extend(by capacity: Int, _ body: (inout RowWriter) throws -> Void) rethrows {
        let missing = count + capacity - storage.count
        if missing > 0 {
            storage.append(contentsOf: repeatElement(0, count: max(missing, storage.count)))
        }
        try storage.withUnsafeMutableBytes { bytes in
            var writer = RowWriter(UnsafeMutableRawBufferPointer(rebasing: bytes[count..<count + capacity]))
            try body(&writer)
            count += writer.position
        }
    }
}

/// Writes the values of one row. Only valid inside the closure of `BinaryRows.appendRow`.
public struct RowWriter {
    @usableFromInline let buffer: UnsafeMutableRawBufferPointer
    @usableFromInline var position = 0

    init(_ buffer: UnsafeMutableRawBufferPointer) {
        self.buffer = buffer
    }

    @inlinable
    public mutating func appendNull() {
        append(Int32(-1))
    }

    /// A `smallint`, `integer`, `bigint`, or a `timestamptz` in microseconds since 2000-01-01 UTC.
    @inlinable
    public mutating func appendInteger(_ value: some FixedWidthInteger) {
        append(Int32(truncatingIfNeeded: value.bitWidth / 8))
        append(value)
    }

    @inlinable
    public mutating func appendDouble(_ value: Double) {
        appendInteger(value.bitPattern)
    }

    @inlinable
    public mutating func appendBool(_ value: Bool) {
        append(Int32(1))
        append(UInt8(value ? 1 : 0))
    }

    /// A `text` in UTF-8, or a `bytea`.
    @inlinable
    public mutating func appendBytes(_ value: UnsafeBufferPointer<UInt8>) {
        append(Int32(truncatingIfNeeded: value.count))
        append(value)
    }

    public mutating func appendBytes(_ value: some Sequence<UInt8>) {
        Array(value).withUnsafeBufferPointer { appendBytes($0) }
    }

    /// A `jsonb`: JSON text in UTF-8.
    public mutating func appendJSONB(_ text: some Sequence<UInt8>) {
        appendBytes([1] + Array(text))  // the version of jsonb's binary form
    }

    /// A one-dimensional `text[]` without nulls: `body` appends each element with `appendBytes` and returns the count. The
    /// array takes 20 bytes and, for each element, four bytes and the element's size.
    @inlinable
    public mutating func appendTextArray(_ body: (inout RowWriter) -> Int) {
        let start = position
        append(Int32(0))
        append(Int32(1))  // dimensions
        append(Int32(0))  // no null bitmap
        append(Int32(25))  // element type: text
        append(Int32(0))  // number of elements, set below
        append(Int32(1))  // lower bound
        let count = body(&self)
        if count == 0 {
            // An empty array has zero dimensions, and neither a length nor a lower bound.
            position -= 8
            set(Int32(0), at: start + 4)
        } else {
            set(Int32(truncatingIfNeeded: count), at: start + 16)
        }
        set(Int32(truncatingIfNeeded: position - start - 4), at: start)
    }

    @inlinable
    mutating func append(_ value: some FixedWidthInteger) {
        set(value, at: position)
        position += value.bitWidth / 8
    }

    @inlinable
    mutating func append(_ value: UnsafeBufferPointer<UInt8>) {
        precondition(position + value.count <= buffer.count, "a row is larger than its capacity")
        if let source = value.baseAddress {
            (buffer.baseAddress! + position).copyMemory(from: source, byteCount: value.count)
        }
        position += value.count
    }

    @inlinable
    func set(_ value: some FixedWidthInteger, at index: Int) {
        precondition(index + value.bitWidth / 8 <= buffer.count, "a row is larger than its capacity")
        buffer.storeBytes(of: value.bigEndian, toByteOffset: index, as: type(of: value))
    }
}
