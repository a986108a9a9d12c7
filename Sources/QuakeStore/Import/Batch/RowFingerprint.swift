import Feed
import PostgreSQL

/// A number for each row, which the worker and the server compute alike. If both have the same number, they have the same
/// row, and the worker need not send it.
///
/// It is that of `hash_record_extended`, with a random seed for each batch. A changed row may have the same number with a
/// probability of about 1 in 2⁶⁴. It then looks unchanged in this run; the next one has another seed, and finds it. The
/// server computes its number from the row as it is, so that a row edited by hand is noticed.
///
/// A server that computes other numbers, such as one of another byte order, is sent every row.
package struct RowFingerprint: Equatable {
    package let value: Int64

    /// A random seed, so that each batch has other numbers.
    package static func seed() -> Int64 { Int64.random(in: 1...(.max)) }

    /// The number of a record; nil if it has undeclared properties, because the server's hash of a jsonb is too much to repeat.
    package init?(of record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>, _ seed: Int64) {
        if case .extra = record[.extra] { return nil }
        var hash = RecordHash(seed: UInt64(bitPattern: seed))
        record.forEachValue { hash.append($0, of: record, from: bytes) }
        value = Int64(bitPattern: hash.value)
    }

    /// The number of the server's row, as SQL. The columns are listed, so that an added one does not matter.
    package static func ofServer(_ seed: Int64) -> Query {
        "hash_record_extended(row(\(unescaped: columns)), \(seed))"
    }

    /// A time as its bytes: the hash of the time itself has only 32 bits.
    private static let columns = Property.allCases.map {
        $0.kind == .time ? "timestamptz_send(quake.\($0.column))" : "quake.\($0.column)"
    }.joined(separator: ", ")
}

extension RecordHash {
    @inline(__always)
    fileprivate mutating func append(
        _ value: QuakeRecord.Value, of record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>
    ) {
        switch value {
        case .null, .extra: appendNull()
        case .text(let text): text.withUTF8(in: bytes) { append(bytes: $0) }
        case .number(let number): append(number)
        case .integer(let integer): append(integer)
        case .flag(let flag): append(flag)
        case .time(let milliseconds): append(sent: Instant.microsecondsSince2000(milliseconds))
        case .list(let list): appendTextArray { append in list.forEachElement(in: bytes, append) }
        case .code: record.withCode(in: bytes) { append(bytes: $0) }
        }
    }
}
