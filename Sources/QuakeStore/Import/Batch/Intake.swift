import Feed

/// Decodes features and puts them into the batches of their lanes. A code's features go to one lane.
struct Intake {
    /// Those that are being filled, one a lane.
    var batches: [FeatureBatch]
    private var batchSize: Int
    /// How many bytes of a batch's rows stay in memory: all of an hourly feed of 10,000 features.
    private var memoryLimit = 8 << 20
    private var decoder = FeatureDecoder()
    private var row = EncodedRow()
    /// Of the feature that comes next, when it was decoded before its end was known.
    private var record: QuakeRecord?
    /// What of the document, in bytes from its start, belongs to some batch.
    private var assigned = 0

    init(batchSize: Int) {
        self.batchSize = batchSize
        batches = [FeatureBatch(capacity: batchSize, memoryLimit: memoryLimit)]
    }

    /// Goes on with empty batches, which together with those that are being imported have no more features than one had.
    mutating func divide(by lanes: Int) {
        if lanes > 1 { batchSize = max(1, batchSize / (2 * lanes)) }
        memoryLimit = (5 << 20) / (2 * lanes)
        batches = (0..<lanes).map { _ in emptyBatch() }
    }

    func emptyBatch() -> FeatureBatch { FeatureBatch(capacity: batchSize, memoryLimit: memoryLimit) }

    /// Decodes the feature with which the bytes begin, if they hold all of it, and returns its size.
    mutating func decodePrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let (record, size) = decoder.decodePrefix(bytes) else { return nil }
        self.record = record
        return size
    }

    /// Returns the lane whose batch is full by this feature.
    mutating func add(_ feature: FeatureScanner.RawFeature) throws -> Int? {
        var lane = 0
        do {
            if feature.isOversized {
                throw Rejection(.size, "the feature has \(feature.size) bytes, more than 1 MiB")
            }
            row.encode(try record.take() ?? decoder.decode(feature.bytes), from: feature.bytes)
            if batches.count > 1 { lane = Int(row.codeHash % UInt64(batches.count)) }
            try batches[lane].append(row, of: feature)
        } catch let rejection as Rejection {
            try batches[lane].reject(feature, rejection)
        }
        take(lane, upTo: feature.offset + feature.size)
        return batches[lane].count >= batchSize ? lane : nil
    }

    /// What stands behind the last feature goes to the first lane.
    mutating func endDocument(at end: Int) {
        take(0, upTo: end)
    }

    private mutating func take(_ lane: Int, upTo end: Int) {
        batches[lane].documentBytes += end - assigned
        assigned = end
    }
}
