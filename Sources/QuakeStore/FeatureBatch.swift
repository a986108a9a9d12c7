import Feed

/// Features that wait for their transaction, as the feed wrote them.
///
/// They are kept raw rather than encoded, so that a batch can be repeated after a deadlock, or searched for the
/// one feature that the server refuses.
struct FeatureBatch {
    /// More than this is not kept waiting, however few features it is.
    static let sizeLimit = 16 << 20

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
    private var bytes: [UInt8] = []

    var count: Int { features.count }
    var isEmpty: Bool { features.isEmpty }
    var isFull: Bool { bytes.count >= Self.sizeLimit }

    mutating func append(_ feature: FeatureScanner.RawFeature) {
        let start = bytes.count
        bytes.append(contentsOf: feature.bytes)
        features.append(
            Feature(
                ordinal: feature.ordinal, offset: feature.offset, size: feature.size,
                range: start..<bytes.count))
    }

    func withBytes<Result, Failure: Error>(
        of feature: Feature, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { (all) throws(Failure) in
            try body(all.extracting(feature.range))
        }
    }

    mutating func removeFirst(_ count: Int) {
        let kept = count < features.count ? features[count].range.lowerBound : bytes.count
        bytes.removeFirst(kept)
        features = features.dropFirst(count).map { feature in
            let range = feature.range.lowerBound - kept..<feature.range.upperBound - kept
            return Feature(
                ordinal: feature.ordinal, offset: feature.offset, size: feature.size, range: range)
        }
    }
}
