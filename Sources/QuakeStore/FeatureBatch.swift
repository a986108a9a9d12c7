import Feed

/// Features that wait for their transaction, as the feed wrote them.
///
/// They are kept raw, so that a batch can be repeated after a deadlock, or searched for the one feature that the server
/// refuses; and in a spool, so that a batch of large features needs no more memory than one of small ones.
struct FeatureBatch {
    struct Feature {
        let ordinal: Int
        let offset: Int
        let size: Int
        fileprivate let range: Range<Int>
        var isOversized: Bool { size > range.count }
        /// Where the feature ends in the document.
        var end: Int { offset + size }
    }

    private(set) var features: [Feature] = []
    private let spool = Spool()

    var count: Int { features.count }

    mutating func append(_ feature: FeatureScanner.RawFeature) throws {
        try append(feature.bytes, feature.ordinal, feature.offset, feature.size)
    }

    private mutating func append(
        _ bytes: UnsafeBufferPointer<UInt8>, _ ordinal: Int, _ offset: Int, _ size: Int
    ) throws {
        let range = try spool.append(bytes)
        features.append(Feature(ordinal: ordinal, offset: offset, size: size, range: range))
    }

    func withBytes<Result>(
        of feature: Feature, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        try spool.withBytes(feature.range, body)
    }

    /// Forgets the first features. The rest, at most what one chunk of the feed holds, moves to the beginning.
    mutating func removeFirst(_ count: Int) throws {
        let rest = try features.dropFirst(count).map { feature in
            (feature: feature, bytes: try withBytes(of: feature) { Array($0) })
        }
        features.removeAll(keepingCapacity: true)
        spool.removeAll()
        for (feature, bytes) in rest {
            try bytes.withUnsafeBufferPointer {
                try append($0, feature.ordinal, feature.offset, feature.size)
            }
        }
    }
}
