import Feed
import PostgreSQL

/// One feature as a row of binary COPY, and what a batch and a lane need to know about it.
package struct EncodedRow {
    package private(set) var rows = BinaryRows()
    private(set) var updated = Instant(milliseconds: 0)

    package init() {}

    package mutating func encode(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) {
        rows.removeAll()
        // A text is part of the feature, and unescaping never makes it longer; the id may count twice. A list element
        // has at least one byte there, its comma, and needs four more here.
        rows.appendRow(columns: Property.count, capacity: 4 * bytes.count + 1024) { row in
            record.forEachValue { row.append($0, of: record, from: bytes) }
        }
        updated = record.updated
    }

    /// Calls `body` with the first column.
    func withCode<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        try rows.withBytes { row in
            // The number of columns (2 bytes) and the code's length (4 bytes) come first.
            let count = row[2..<6].reduce(0) { $0 << 8 | Int($1) }
            return try body(row.extracting(6..<6 + count))
        }
    }

    /// The code's first eight bytes as one number, the first byte the most significant.
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

extension RowWriter {
    @inline(__always)
    fileprivate mutating func append(
        _ value: QuakeRecord.Value, of record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>
    ) {
        switch value {
        case .null: appendNull()
        case .text(let text): text.withUTF8(in: bytes) { appendBytes($0) }
        case .number(let number): appendDouble(number)
        case .integer(let integer): appendInteger(integer)
        case .flag(let flag): appendBool(flag)
        // PostgreSQL counts microseconds since 2000.
        case .time(let milliseconds): appendInteger((milliseconds - 946_684_800_000) * 1000)
        case .list(let list):
            appendTextArray { array in
                var count = 0
                list.forEachElement(in: bytes) { element in
                    array.appendBytes(element)
                    count += 1
                }
                return count
            }
        case .code: record.withCode(in: bytes) { appendBytes($0) }
        case .extra:
            var text: [UInt8] = []
            record.appendExtra(to: &text, from: bytes)
            appendJSONB(text)
        }
    }
}
