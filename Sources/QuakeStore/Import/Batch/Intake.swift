import Feed

/// Decodes features and puts them into the batches of their lanes. Features with the same code go to the same lane.
struct Intake {
    /// The batches that are being filled, one for each lane.
    var batches: [FeatureBatch]
    private var batchSize: Int
    /// How many bytes of a batch's rows stay in memory. This is enough for an hourly feed with 10,000 features.
    private var memoryLimit = 6 << 20
    private var decoder = FeatureDecoder()
    /// The record of the next feature, if the feature was decoded in order to find its end.
    private var record: QuakeRecord?
    /// How the batches keep each row. The choice depends on what the server is likely to need.
    var keeping = FeatureBatch.Keeping.rowAndNumber
    /// The deletions that the document states.
    private(set) var deletions: [StatedDeletion] = []
    /// The greatest number of `deletions`. They stay in memory until the document's end.
    private static let deletionLimit = 100_000

    init(batchSize: Int) {
        self.batchSize = batchSize
        batches = [FeatureBatch(capacity: batchSize, memoryLimit: memoryLimit)]
    }

    /// Continues with one empty batch for each lane. With several lanes, all batches that are being filled or imported hold no
    /// more features together than the first batch did.
    mutating func divide(by lanes: Int) {
        if lanes > 1 { batchSize = max(1, batchSize / (2 * lanes)) }
        // A lane needs fewer bytes in memory, because it reads the other rows of its batch back from the file at once.
        memoryLimit = min(120 << 10, (5 << 20) / (2 * lanes))
        batches = (0..<lanes).map { _ in emptyBatch() }
    }

    func emptyBatch() -> FeatureBatch { FeatureBatch(capacity: batchSize, memoryLimit: memoryLimit) }

    /// Decodes the feature at the start of the bytes and returns its size; nil if the feature is not complete.
    mutating func decodePrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let (record, size) = decoder.decodePrefix(bytes) else { return nil }
        self.record = record
        return size
    }

    /// Decodes a feature and adds it to a batch, or to `deletions`. Returns the batch's lane if the batch is now full.
    mutating func add(_ feature: RawFeature) throws -> Int? {
        var lane = 0
        do {
            if let rejection = feature.rejection { throw rejection }
            if let deletion = feature.deletion {
                guard deletions.count < Self.deletionLimit else {
                    throw Rejection(.status, "the document lists more than 100,000 withdrawn events")
                }
                deletions.append(deletion)
                return nil
            }
            if feature.isOversized {
                throw Rejection(.size, "the feature has \(feature.size) bytes, more than 1 MiB")
            }
            let record = try record.take() ?? decoder.decode(feature.bytes)
            try record.withCode(in: feature.bytes) { code in
                if batches.count > 1 { lane = Int(code.hash64 % UInt64(batches.count)) }
                try batches[lane].append(record, code: code, of: feature, keeping: keeping)
            }
        } catch let rejection as Rejection {
            // GeoJSON gives a withdrawn event the status `deleted`.
            var rejection = rejection
            if rejection.reason == .status, feature.deletion == nil, deletions.count < Self.deletionLimit {
                do throws(Rejection) {
                    deletions.append(try StatedDeletion(feature.bytes))
                    return nil
                } catch {
                    rejection = error
                }
            }
            try batches[lane].reject(
                feature, rejection.at(line: feature.line), isDeletion: rejection.reason == .unnamed)
        }
        return batches[lane].count >= batchSize ? lane : nil
    }
}
