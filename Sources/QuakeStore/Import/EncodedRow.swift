import Feed
import PostgreSQL

/// The row of one feature, and what a batch and a lane have to know of it.
package struct EncodedRow {
    package private(set) var rows = BinaryRows()
    private(set) var updated = Instant(milliseconds: 0)

    package init() {}

    package mutating func encode(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) {
        rows.removeAll()
        rows.append(record, from: bytes)
        updated = Instant(milliseconds: record.updated)
    }

    /// Calls `body` with the first column.
    func withCode<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        try rows.withBytes { row in
            // Before it: the number of columns (2 bytes) and its own length (4).
            let count = row[2..<6].reduce(0) { $0 << 8 | Int($1) }
            return try body(row.extracting(6..<6 + count))
        }
    }

    /// The code's first eight bytes, the first one the highest.
    var codePrefix: UInt64 {
        withCode { code in
            let prefix = code.prefix(8)
            return prefix.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - prefix.count))
        }
    }

    /// FNV-1a of the code (http://www.isthe.com/chongo/tech/comp/fnv/): the same in every run.
    var codeHash: UInt64 {
        withCode { $0.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
    }
}
