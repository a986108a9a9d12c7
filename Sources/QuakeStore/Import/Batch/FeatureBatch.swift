import Feed
import Glibc
import PostgreSQL

/// Features that wait for their transaction: each as a row of COPY, or with the reason for its rejection.
///
/// They are also kept as the feed wrote them, in case the server refuses one. Everything is in spools, so that a batch
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
        var isOversized: Bool { size > Int(keptCount) }
        fileprivate var kept: Range<Int> { start..<start + Int(keptCount) }
    }

    /// A feature that was decoded as an earthquake.
    struct Record {
        let feature: Feature
        let updated: Instant
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
    /// How many bytes of the document these features account for.
    var documentBytes = 0

    private let rows: Spool
    private let raw = Spool(memoryLimit: 256 << 10)
    private var codes: [UInt8] = []

    /// - Parameters:
    ///   - capacity: the number of features to make room for.
    ///   - memoryLimit: how many bytes of rows stay in memory.
    init(capacity: Int, memoryLimit: Int) {
        rows = Spool(memoryLimit: memoryLimit, readAhead: 0)
        // Memory that is not used is never touched, and the array need not be copied as it grows.
        records.reserveCapacity(min(capacity, 20_000))
    }

    /// The number of features.
    var count: Int { records.count + rejections.count }

    func append(_ row: EncodedRow, of feature: FeatureScanner.RawFeature) throws {
        let range = try row.rows.withBytes { try rows.append($0) }
        let codeStart = codes.count
        row.withCode { codes.append(contentsOf: $0) }
        records.append(
            Record(
                feature: try keep(feature), updated: row.updated, codePrefix: row.codePrefix,
                rowStart: range.lowerBound, codeStart: codeStart, rowCount: Int32(range.count),
                codeCount: Int32(codes.count - codeStart)))
    }

    func reject(_ feature: FeatureScanner.RawFeature, _ rejection: Rejection) throws {
        rejections.append((try keep(feature), rejection))
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

    func append(_ record: Record, to rows: inout BinaryRows) throws {
        try self.rows.withBytes(record.row) { rows.append(rows: $0) }
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
