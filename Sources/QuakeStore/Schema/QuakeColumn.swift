import Feed
import PostgreSQL

/// The columns of `quake` that an import fills, in the order of the COPY.
///
/// A new one is added here, in a migration and in `Quake`; the compiler then asks for it in both switches.
enum QuakeColumn: String, CaseIterable {
    case code, net
    case netCode = "net_code"
    case magnitude
    case magnitudeType = "magnitude_type"
    case place, title, url, detail, status, alert, type, time, updated, tz, felt, sig, nst, cdi, mmi, dmin,
        rms
    case gap, tsunami, ids, sources, types, longitude, latitude, depth, extra

    /// `code, net, …`, each behind `prefix`.
    static func list(_ prefix: String = "") -> String {
        allCases.map { prefix + $0.rawValue }.joined(separator: ", ")
    }

    /// `net = excluded.net, …`: all but the key.
    static var assignments: String {
        allCases.filter { $0 != .code }.map { "\($0.rawValue) = excluded.\($0.rawValue)" }
            .joined(separator: ", ")
    }
}

extension BinaryRows {
    /// Appends a feature as one row of `incoming`.
    mutating func append(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) {
        // Texts are parts of the feature, unescaped no longer than they stand there; the id may count twice. An element of
        // a list has at least one byte, a comma, and here four more.
        appendRow(columns: QuakeColumn.allCases.count, capacity: 4 * bytes.count + 1024) { row in
            for column in QuakeColumn.allCases { row.append(column, of: record, from: bytes) }
        }
    }
}

extension RowWriter {
    fileprivate mutating func append(
        _ column: QuakeColumn, of record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>
    ) {
        switch column {
        case .code: record.withCode(in: bytes) { appendBytes($0) }
        case .net: append(record.net, bytes)
        case .netCode: append(record.netCode, bytes)
        case .magnitude: append(record.magnitude)
        case .magnitudeType: append(record.magnitudeType, bytes)
        case .place: append(record.place, bytes)
        case .title: append(record.title, bytes)
        case .url: append(record.url, bytes)
        case .detail: append(record.detail, bytes)
        case .status: append(record.status, bytes)
        case .alert: append(record.alert, bytes)
        case .type: append(record.type, bytes)
        case .time: appendTimestamp(record.time)
        case .updated: appendTimestamp(record.updated)
        case .tz: append(record.tz)
        case .felt: append(record.felt)
        case .sig: append(record.sig)
        case .nst: append(record.nst)
        case .cdi: append(record.cdi)
        case .mmi: append(record.mmi)
        case .dmin: append(record.dmin)
        case .rms: append(record.rms)
        case .gap: append(record.gap)
        case .tsunami: append(record.tsunami)
        case .ids: appendList(record.ids, bytes)
        case .sources: appendList(record.sources, bytes)
        case .types: appendList(record.types, bytes)
        case .longitude: append(record.longitude)
        case .latitude: append(record.latitude)
        case .depth: append(record.depth)
        case .extra: appendExtra(record, bytes)
        }
    }

    private mutating func append(_ text: JSONText?, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let text else { return appendNull() }
        text.withUTF8(in: bytes) { appendBytes($0) }
    }

    private mutating func append(_ value: Double?) {
        guard let value else { return appendNull() }
        appendDouble(value)
    }

    private mutating func append(_ value: Int32?) {
        guard let value else { return appendNull() }
        appendInteger(value)
    }

    private mutating func append(_ value: Bool?) {
        guard let value else { return appendNull() }
        appendBool(value)
    }

    /// Milliseconds since 1970 as PostgreSQL's microseconds since 2000.
    private mutating func appendTimestamp(_ milliseconds: Int64) {
        appendInteger((milliseconds - 946_684_800_000) * 1000)
    }

    private mutating func appendList(_ list: JSONText?, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let list else { return appendNull() }
        appendTextArray { array in
            var count = 0
            list.forEachElement(in: bytes) { element in
                array.appendBytes(element)
                count += 1
            }
            return count
        }
    }

    private mutating func appendExtra(_ record: QuakeRecord, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard record.hasExtra else { return appendNull() }
        var text: [UInt8] = []
        record.appendExtra(to: &text, from: bytes)
        appendJSONB(text)
    }
}
