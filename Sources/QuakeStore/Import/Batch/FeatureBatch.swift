import Feed
import Glibc
import PostgreSQL

/// Features that wait for their transaction: each as a row of COPY, as that row's number, or with the reason for its
/// rejection.
///
/// They are also kept as the feed wrote them, in case the server needs the row after all, or refuses it. Everything is in spools, so that a batch
/// of large features needs little more memory than one of small ones.
///
/// One task fills a batch and another imports it. A task that has handed it over must not use it until it comes back.
final class FeatureBatch: @unchecked Sendable {
    struct Feature {
        let ordinal: Int
        let offset: Int
        /// Where its bytes begin in the batch.
        fileprivate let start: Int
        let size: Int
        fileprivate let keptCount: Int32
        /// Whether it is one of the events that a service says were deleted.
        var isDeletion = false
        var isOversized: Bool { size > Int(keptCount) }
        fileprivate var kept: Range<Int> { start..<start + Int(keptCount) }
    }

    /// A feature that was decoded as an earthquake.
    struct Record {
        let feature: Feature
        let updated: Instant
        /// The row's number; nil if it was not computed, or can't be.
        fileprivate let number: RowNumber?
        /// The first eight bytes of the code as one number, the first byte the most significant: it decides nearly all
        /// comparisons.
        fileprivate let codePrefix: UInt64
        fileprivate let rowStart: Int
        fileprivate let codeStart: Int
        fileprivate let rowCount: Int32
        fileprivate let codeCount: Int32
        fileprivate var row: Range<Int> { rowStart..<rowStart + Int(rowCount) }
    }

    private(set) var records: [Record] = []
    private(set) var rejections: [(feature: Feature, rejection: Rejection)] = []
    /// What the numbers of its rows begin with; another one for each batch.
    private(set) var seed = RowNumber.seed()
    /// How many bytes of the document these features account for.
    var documentBytes = 0

    private let rows: Spool
    private let raw = Spool(memoryLimit: 256 << 10)
    private var codes: [UInt8] = []
    private var decoder = FeatureDecoder()
    private var row = EncodedRow()

    /// - Parameters:
    ///   - capacity: the number of features to make room for.
    ///   - memoryLimit: how many bytes of rows stay in memory.
    init(capacity: Int, memoryLimit: Int) {
        rows = Spool(memoryLimit: memoryLimit)
        // Memory that is not used is never touched, and the array need not be copied as it grows.
        records.reserveCapacity(min(capacity, 20_000))
    }

    /// The number of features.
    var count: Int { records.count + rejections.count }

    /// What is kept of each row. A row is kept in any case if it has no number.
    enum Keeping {
        case row, number, rowAndNumber
    }

    func append(
        _ record: QuakeRecord, code: UnsafeBufferPointer<UInt8>, of feature: FeatureScanner.RawFeature,
        keeping: Keeping
    ) throws {
        let number = keeping == .row ? nil : RowNumber(of: record, from: feature.bytes, seed)
        var range = 0..<0
        if keeping != .number || number == nil {
            row.encode(record, from: feature.bytes)
            range = try row.rows.withBytes { try rows.append($0) }
        }
        records.append(
            Record(
                feature: try keep(feature), updated: record.updated, number: number,
                codePrefix: code.prefix64,
                rowStart: range.lowerBound, codeStart: codes.count, rowCount: Int32(range.count),
                codeCount: Int32(code.count)))
        codes.append(contentsOf: code)
    }

    func reject(
        _ feature: FeatureScanner.RawFeature, _ rejection: Rejection, isDeletion: Bool = false
    ) throws {
        var kept = try keep(feature)
        kept.isDeletion = isDeletion
        rejections.append((kept, rejection))
    }

    private func keep(_ feature: FeatureScanner.RawFeature) throws -> Feature {
        let range = try raw.append(feature.bytes)
        return Feature(
            ordinal: feature.ordinal, offset: feature.offset, start: range.lowerBound,
            size: feature.size, keptCount: Int32(range.count))
    }

    func removeAll() {
        records.removeAll(keepingCapacity: true)
        rejections.removeAll()
        documentBytes = 0
        seed = RowNumber.seed()
        rows.removeAll()
        raw.removeAll()
        codes.removeAll(keepingCapacity: true)
    }

    /// The feature as the feed wrote it, or the first 64 KiB of an oversized one.
    func withBytes<Result>(
        of feature: Feature, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        try raw.withBytes(feature.kept, body)
    }

    /// Appends a record's row, which is made from the feature once more if it was not kept.
    func append(_ record: Record, to rows: inout BinaryRows) throws {
        if record.rowCount > 0 { return try self.rows.withBytes(record.row) { rows.append(rows: $0) } }
        try withBytes(of: record.feature) { bytes in row.encode(try decoder.decode(bytes), from: bytes) }
        row.rows.withBytes { rows.append(rows: $0) }
    }

    /// The codes of records and their numbers, in the form in which a statement takes them; nil if none has a number.
    func numbers(of records: [Int]) -> (codes: BoundArray<String>, numbers: BoundArray<Int64>)? {
        guard records.contains(where: { self.records[$0].number != nil }) else { return nil }
        var found = BoundArray<String>(count: records.count)
        var numbers = BoundArray<Int64>(count: records.count)
        codes.withUnsafeBufferPointer { codes in
            for index in records {
                let record = self.records[index]
                let code = record.codeStart..<record.codeStart + Int(record.codeCount)
                found.append(codes.extracting(code))
                // A row without a number gets one that the server's row hardly ever has.
                numbers.append(record.number?.value ?? seed)
            }
        }
        return (found, numbers)
    }

    // MARK: One row per code

    /// The newest record for each code; among equally new ones, the last in the document. They are sorted by the bytes
    /// of their codes, so that all workers lock rows in the same order, and neighbours in the index follow one another.
    ///
    /// - Parameter refused: ordinals of records to leave out.
    /// - Returns: the indices of those records, and how many of the others are older than the newest with their code.
    func newest(without refused: Set<Int>) -> (indices: [Int], olderCount: Int) {
        var newest: [Int] = []
        newest.reserveCapacity(records.count)
        var olderCount = 0
        codes.withUnsafeBufferPointer { codes in
            for index in sorted(codes) where !refused.contains(records[index].feature.ordinal) {
                if let last = newest.last, order(records[last], records[index], codes) == 0 {
                    if records[index].updated < records[last].updated { olderCount += 1 }
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
                if records[left].updated != records[right].updated {
                    return records[left].updated > records[right].updated
                }
                return left > right
            }
        }
    }

    /// Negative, 0 or positive, as `memcmp` returns it.
    private func order(_ left: Record, _ right: Record, _ codes: UnsafeBufferPointer<UInt8>) -> Int {
        if left.codePrefix != right.codePrefix { return left.codePrefix < right.codePrefix ? -1 : 1 }
        let common = Int(min(left.codeCount, right.codeCount))
        guard common > 0, let base = codes.baseAddress else { return Int(left.codeCount - right.codeCount) }
        let order = memcmp(base + left.codeStart, base + right.codeStart, common)
        return order != 0 ? Int(order) : Int(left.codeCount - right.codeCount)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The first eight bytes as one number, the first byte the most significant.
    fileprivate var prefix64: UInt64 {
        let prefix = prefix(8)
        return prefix.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - prefix.count))
    }
}
