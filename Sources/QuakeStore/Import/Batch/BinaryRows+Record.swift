import Feed
import PostgreSQL

extension BinaryRows {
    package mutating func append(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) {
        // This capacity is always enough: each text is part of the feature, unescaping never makes it longer, and only the id can
        // fill two columns. A list element takes at least one byte in the feature, for its comma, and needs four more bytes in
        // the row.
        appendRow(columns: Property.count, capacity: 4 * bytes.count + 1024) { row in
            record.forEachValue { row.append($0, of: record, from: bytes) }
        }
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
        case .time(let milliseconds): appendInteger(Instant.microsecondsSince2000(milliseconds))
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
