import Feed
import PostgreSQL

/// A hash of a row, which the worker and the server compute in the same way. If both get the same number, they have the same row,
/// and the worker need not send it.
///
/// The number is the result of `hash_record_extended` with a random seed for each batch. A changed row has the same number with a
/// probability of about 1 in 2⁶⁴. In that case the row looks unchanged in this run, and the next run finds the change, because it
/// uses a different seed. The server computes its number from the present row, so a row that was edited by hand is noticed.
///
/// If a server computes different numbers, for example because of its byte order, every row is sent.
package struct RowFingerprint: Equatable {
    package let value: Int64

    /// A random seed, so that the numbers are different in each batch.
    package static func seed() -> Int64 { Int64.random(in: 1...(.max)) }

    /// The number of a record; nil if it has undeclared properties, because the server's hash of a jsonb value is too complex to
    /// repeat here.
    package init?(of record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>, _ seed: Int64) {
        if case .extra = record[.extra] { return nil }
        var hash = RecordHash(seed: UInt64(bitPattern: seed))
        record.forEachValue { hash.append($0, of: record, from: bytes) }
        value = Int64(bitPattern: hash.value)
    }

    /// An SQL expression for the fingerprint of the server's row. It lists the columns, so that columns added to the table do not
    /// matter.
    package static func ofServer(_ seed: Int64) -> Query {
        "hash_record_extended(row(\(unescaped: columns)), \(seed))"
    }

    /// Times are hashed by their bytes, because the server's hash function for times first reduces a time to 32 bits.
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
