import Feed
import Glibc
import PostgreSQL

/// Features that wait for their transaction. Each feature is kept as a row for COPY, as the fingerprint of that row, or with the
/// reason for its rejection.
///
/// The batch also keeps the bytes of each feature as in the feed, in case the server needs a row that was not kept, or refuses a
/// row. All bytes are in spools, so that a batch of large features needs little more memory than a batch of small ones.
///
/// One task fills a batch and another imports it. A task that has handed a batch over must not use it until it gets the batch
/// back.
final class FeatureBatch: @unchecked Sendable {
    struct Feature {
        let ordinal: Int
        let offset: Int
        fileprivate let start: Int
        let size: Int
        /// The feature's line number; nil if the document's format is not made of lines.
        let line: Int?
        fileprivate let keptCount: Int32
        /// The range of the event's original text in `raw`; nil if the document is GeoJSON. The GeoJSON feature that was made
        /// from the text is stored before the text.
        fileprivate let source: (start: Int, count: Int32)?
        var isDeletion = false
        fileprivate var kept: Range<Int> { start..<start + Int(keptCount) }
    }

    struct Record {
        let feature: Feature
        /// See `QuakeRecord.revised`.
        fileprivate let revised: Instant?
        fileprivate let row: Range<Int>?
        fileprivate let fingerprint: RowFingerprint?
        fileprivate let codeCount: Int32
        /// The first eight bytes of the code as a big-endian number, which decides nearly all comparisons.
        fileprivate let codePrefix: UInt64
        fileprivate let codeStart: Int
    }

    private(set) var records: [Record] = []
    private(set) var rejections: [(feature: Feature, rejection: Rejection)] = []
    /// The seed of the fingerprints, which is different for each batch.
    private(set) var seed = RowFingerprint.seed()
    /// How many bytes of the document are counted with this batch.
    var documentBytes = 0

    private let rows: BatchSpool
    private let raw = BatchSpool(memoryLimit: 120 << 10)
    private var codes: [UInt8] = []
    private var decoder = FeatureDecoder()
    private var row = BinaryRows()

    /// - Parameter memoryLimit: how many bytes of rows stay in memory.
    init(capacity: Int, memoryLimit: Int) {
        rows = BatchSpool(memoryLimit: memoryLimit)
        // Reserved memory that is not used costs nothing, and the array need not be copied as it grows.
        records.reserveCapacity(min(capacity, 20_000))
    }

    var count: Int { records.count + rejections.count }

    /// Determines how a row is kept: the row itself, its fingerprint (`number`), or both.
    enum Keeping {
        case row, number, rowAndNumber
    }

    func append(
        _ record: QuakeRecord, code: UnsafeBufferPointer<UInt8>, of feature: RawFeature,
        keeping: Keeping
    ) throws {
        let fingerprint =
            keeping == .row ? nil : RowFingerprint(of: record, from: feature.bytes, seed)
        // If a row can't have a fingerprint, the row itself is always kept.
        let isRowKept = keeping != .number || fingerprint == nil
        let row = try isRowKept ? keep(record, from: feature.bytes) : nil
        records.append(
            Record(
                feature: try keep(feature), revised: record.revised, row: row, fingerprint: fingerprint,
                codeCount: Int32(code.count), codePrefix: code.prefix64, codeStart: codes.count))
        codes.append(contentsOf: code)
    }

    private func keep(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) throws -> Range<Int> {
        row.removeAll()
        row.append(record, from: bytes)
        return try row.withBytes { try rows.append($0) }
    }

    func reject(
        _ feature: RawFeature, _ rejection: Rejection, isDeletion: Bool = false
    ) throws {
        var kept = try keep(feature)
        kept.isDeletion = isDeletion
        rejections.append((kept, rejection))
    }

    private func keep(_ feature: RawFeature) throws -> Feature {
        let range = try raw.append(feature.bytes)
        let source = try feature.source.map { try raw.append($0) }
        return Feature(
            ordinal: feature.ordinal, offset: feature.offset, start: range.lowerBound,
            size: feature.size, line: feature.line, keptCount: Int32(range.count),
            source: source.map { ($0.lowerBound, Int32($0.count)) })
    }

    /// Discards all features. Returns the buffer that was given to `readAhead`.
    func removeAll() -> [UInt8] {
        records.removeAll(keepingCapacity: true)
        rejections.removeAll()
        documentBytes = 0
        seed = RowFingerprint.seed()
        raw.removeAll()
        codes.removeAll(keepingCapacity: true)
        return rows.removeAll()
    }

    func readAhead(atMost limit: Int, into room: inout [UInt8]) throws {
        try rows.readAhead(atMost: limit, into: &room)
    }

    /// Calls `body` with the feature's bytes, or with the first 64 KiB of an oversized feature.
    func withBytes<Result>(
        of feature: Feature, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        try raw.withBytes(feature.kept, body)
    }

    /// Calls `body` with the feature's text in the document: at most the first 64 KiB, unless the text is GeoJSON.
    func withSource<Result>(
        of feature: Feature, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        guard let source = feature.source else { return try withBytes(of: feature, body) }
        return try raw.withBytes(source.start..<source.start + Int(source.count), body)
    }

    /// Appends a record's row. If the row was not kept, it is made again from the feature's bytes.
    func append(_ record: Record, to rows: inout BinaryRows) throws {
        if let row = record.row { return try self.rows.withBytes(row) { rows.append(rows: $0) } }
        try withBytes(of: record.feature) { rows.append(try decoder.decode($0), from: $0) }
    }

    /// The codes and fingerprints of records, as parameters of a statement; nil if no record has a fingerprint.
    func fingerprints(of records: [Int]) -> (codes: BoundArray<String>, numbers: BoundArray<Int64>)? {
        guard records.contains(where: { self.records[$0].fingerprint != nil }) else { return nil }
        var found = BoundArray<String>(count: records.count)
        var numbers = BoundArray<Int64>(count: records.count)
        codes.withUnsafeBufferPointer { codes in
            for index in records {
                let record = self.records[index]
                let code = record.codeStart..<record.codeStart + Int(record.codeCount)
                found.append(codes.extracting(code))
                // A row without a fingerprint gets a number that the server's row almost never has.
                numbers.append(record.fingerprint?.value ?? seed)
            }
        }
        return (found, numbers)
    }

    // MARK: One row per code

    /// The newest record for each code. If several records are equally new, or none has a time of revision, it is the last of them
    /// in the document. A record without a time of revision is older than a record with one. The records are sorted by the bytes of
    /// their codes, so that all workers lock rows in the same order, and rows that are neighbours in the index are written together.
    ///
    /// - Parameter refused: ordinals of records to leave out.
    /// - Returns: the indices of the newest records, and how many of the other records are older than the newest record with the
    ///   same code.
    func newest(without refused: Set<Int>) -> (indices: [Int], olderCount: Int) {
        var newest: [Int] = []
        newest.reserveCapacity(records.count)
        var olderCount = 0
        codes.withUnsafeBufferPointer { codes in
            for index in sorted(codes) where !refused.contains(records[index].feature.ordinal) {
                if let last = newest.last, order(records[last], records[index], codes) == 0 {
                    if isOlder(records[index], records[last]) { olderCount += 1 }
                } else {
                    newest.append(index)
                }
            }
        }
        return (newest, olderCount)
    }

    private func sorted(_ codes: UnsafeBufferPointer<UInt8>) -> [Int] {
        records.withUnsafeBufferPointer { records in
            records.indices.sorted { left, right in
                let order = order(records[left], records[right], codes)
                if order != 0 { return order < 0 }
                if isOlder(records[left], records[right]) { return false }
                return isOlder(records[right], records[left]) || left > right
            }
        }
    }

    private func isOlder(_ left: Record, _ right: Record) -> Bool {
        guard let later = right.revised else { return false }
        return left.revised.map { $0 < later } ?? true
    }

    /// Compares the codes of two records. The result is negative, 0 or positive, as for `memcmp`.
    private func order(_ left: Record, _ right: Record, _ codes: UnsafeBufferPointer<UInt8>) -> Int {
        if left.codePrefix != right.codePrefix { return left.codePrefix < right.codePrefix ? -1 : 1 }
        let common = Int(min(left.codeCount, right.codeCount))
        guard common > 0, let base = codes.baseAddress else { return Int(left.codeCount - right.codeCount) }
        let order = memcmp(base + left.codeStart, base + right.codeStart, common)
        return order != 0 ? Int(order) : Int(left.codeCount - right.codeCount)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The first eight bytes as a big-endian number.
    fileprivate var prefix64: UInt64 {
        let prefix = prefix(8)
        return prefix.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - prefix.count))
    }
}
