/// Finds the events of a GeoJSON document: features in the USGS's form, or in another agency's.
struct GeoJSONScanner: EventScanner {
    private var scanner: FeatureScanner
    private var dialect: FeatureDialect

    /// - Parameters:
    ///   - chunk: the offset in the document at which the next chunk to scan begins.
    ///   - first: the document's bytes that have been read so far, beginning at `offset`. No feature ends within them.
    init(inChunkAt chunk: Int, at offset: Int, _ first: [UInt8], _ naming: EventNaming) throws {
        scanner = FeatureScanner(at: offset)
        dialect = FeatureDialect(naming)
        _ = try first.withUnsafeBufferPointer { try scanner.scan($0) { _ in true } }
        scanner.goOn(inChunkAt: chunk)
    }

    var metadata: FeedMetadata { scanner.metadata }
    var sawMetadata: Bool { scanner.sawMetadata }
    var count: Int { scanner.count }
    var isIncomplete: Bool { false }
    var notes: [String] { [dialect.naming.note].compactMap(\.self) }

    /// Scans the chunk. A feature that the decoder did not measure may have another agency's form.
    mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int,
        measure: (UnsafeBufferPointer<UInt8>) -> Int?, _ body: (RawFeature) throws -> Bool
    ) throws -> Int {
        try scanner.scan(chunk, from: start, measure: measure) { feature in
            guard !feature.isMeasured, !feature.isOversized else { return try body(feature) }
            let result = try dialect.translate(feature.bytes) { bytes, rejection, deletion in
                var translated = RawFeature(
                    ordinal: feature.ordinal, offset: feature.offset, size: feature.size, bytes: bytes)
                (translated.source, translated.rejection) = (feature.bytes, rejection)
                translated.deletion = deletion
                return try body(translated)
            }
            return try result ?? body(feature)
        }
    }

    mutating func finish(_ body: (RawFeature) throws -> Bool) throws -> Bool {
        try scanner.finish()
        return true
    }
}
