// The scanner's and the decoder's results for a document, and the properties that hold for any bytes. The fuzzer in Fuzz/
// compiles this file together with the sources and Tests/TestSupport/Feeds/Quake+Record.swift, so it imports nothing else.

#if canImport(Feed)
    @testable import Feed
    import SampleFeed
    import TestSupport
#endif

/// The complete result of scanning a document in certain chunks.
struct ScanOutcome: Equatable {
    struct Feature: Equatable {
        var ordinal: Int
        var offset: Int
        var size: Int
        var bytes: [UInt8]
        /// The event's bytes in the document, or their beginning; nil if they are equal to `bytes`.
        var source: [UInt8]?
        var line: Int?
        var deletion: StatedDeletion?
        /// nil for a feature that is too large to be decoded, or that reports a deletion.
        var result: Result<Quake, Rejection>?
    }

    var features: [Feature] = []
    var metadata = FeedMetadata()
    var error: FeedError?
    var notes: [String] = []
    /// Whether events may be missing from the document. `breach` is the error if the document ends with text other than rows.
    var isIncomplete = false
    var breach: FeedError?

    /// Scans `chunkSize()` bytes at a time, with a new size for each chunk. With `pausing`, the scan pauses after each feature.
    /// With `measuring`, features are decoded before their ends are known, where possible.
    init(
        _ document: [UInt8], inChunksOf chunkSize: () -> Int = { .max }, pausing: Bool = false,
        measuring: Bool = false, host: String? = nil, mayBeEmpty: Bool = false
    ) {
        var scanner = DocumentScanner(host: host, mayBeEmpty: mayBeEmpty)
        var decoder = FeatureDecoder()
        do {
            var start = 0
            while start < document.count {
                let end = start + min(chunkSize(), document.count - start)
                // Copy the chunk, so that a sanitizer notices a read beyond its end.
                let chunk = Array(document[start..<end])
                var position = 0
                while position < chunk.count {
                    position = try chunk.withUnsafeBufferPointer { chunk in
                        var early: Quake?
                        return try scanner.scan(
                            chunk, from: position,
                            measure: { bytes in
                                guard measuring, let (record, size) = decoder.decodePrefix(bytes) else {
                                    return nil
                                }
                                early = Quake(record, from: bytes)
                                return size
                            }
                        ) { raw in
                            var feature = Feature(raw, &decoder)
                            if let quake = early.take() { feature.result = .success(quake) }
                            features.append(feature)
                            return !pausing
                        }
                    }
                }
                start = end
            }
            var isDone = false
            while !isDone {
                isDone = try scanner.finish { raw in
                    features.append(Feature(raw, &decoder))
                    return !pausing
                }
            }
        } catch {
            self.error = error as? FeedError
        }
        metadata = scanner.metadata
        (notes, isIncomplete, breach) = (scanner.notes, scanner.isIncomplete, scanner.breach)
    }
}

extension ScanOutcome.Feature {
    fileprivate init(_ raw: RawFeature, _ decoder: inout FeatureDecoder) {
        self.init(
            ordinal: raw.ordinal, offset: raw.offset, size: raw.size, bytes: Array(raw.bytes),
            source: raw.source.map { Array($0) }, line: raw.line, deletion: raw.deletion)
        if raw.deletion != nil { return }
        if let rejection = raw.rejection {
            result = .failure(rejection)
        } else if !raw.isOversized {
            result = Self.decode(bytes, with: &decoder)
        }
    }

    static func decode(
        _ bytes: [UInt8], with decoder: inout FeatureDecoder
    ) -> Result<Quake, Rejection> {
        bytes.withUnsafeBufferPointer { bytes in
            do throws(Rejection) {
                return .success(Quake(try decoder.decode(bytes), from: bytes))
            } catch {
                return .failure(error)
            }
        }
    }
}

/// Returns the first property that the scanner or the decoder violates for these bytes.
func brokenPromise(for document: [UInt8]) -> String? {
    let outcome = ScanOutcome(document)
    // The bytes determine the chunks, so that changing the bytes also changes the chunks.
    var random = SplitMix64(
        seed: document.reduce(14_695_981) { $0 &* 1_099_511_628_211 ^ UInt64($1) }, stream: 0)
    let largest = 1 + random.below(64)
    if ScanOutcome(document, inChunksOf: { 1 + random.below(largest) }) != outcome {
        return "chunks of up to \(largest) bytes give another result than a single chunk"
    }
    if ScanOutcome(document, inChunksOf: { 1 + random.below(largest) }, pausing: true) != outcome {
        return "a scan that pauses after each feature gives another result"
    }
    if ScanOutcome(document, inChunksOf: { 1 + random.below(largest) }, measuring: true) != outcome
        || ScanOutcome(document, pausing: true, measuring: true) != outcome
    {
        return "features that are decoded before their end is known give another result"
    }
    // Only for short documents, because this is slow. A short document is enough to find a fault at a boundary.
    if document.count <= 1024, ScanOutcome(document, inChunksOf: { 1 }) != outcome {
        return "single bytes give another result"
    }

    let mayHaveOtherEncoding =
        [0xFF, 0xFE, 0x00].contains(document.first) || document.prefix(4096).contains(0)
        || String(decoding: document, as: UTF8.self).contains("encoding")
    var end = 0
    for (index, feature) in outcome.features.enumerated() {
        let name = "feature \(index + 1)"
        guard feature.ordinal == index + 1 else { return "\(name) is numbered \(feature.ordinal)" }
        // In other encodings, the offsets are from libxml2, which converts the text, so they are not checked.
        if !mayHaveOtherEncoding {
            let source = feature.source ?? feature.bytes
            guard feature.offset >= end, feature.offset + feature.size <= document.count,
                source.count <= feature.size,
                source.elementsEqual(document[feature.offset..<feature.offset + source.count])
            else { return "\(name) differs from the document's bytes at its offset" }
        }
        end = feature.offset + feature.size

        guard let result = feature.result else { continue }
        if case .failure = result, feature.source != nil { continue }
        var fresh = FeatureDecoder()
        guard ScanOutcome.Feature.decode(feature.bytes, with: &fresh) == result else {
            return "\(name) gets another result from a new decoder"
        }
        if case .success(let quake) = result, let promise = brokenPromise(for: quake) {
            return "\(name): \(promise)"
        }
    }
    return nil
}

private func brokenPromise(for quake: Quake) -> String? {
    guard (1...64).contains(quake.code.utf8.count) else { return "the code has a wrong length" }
    guard abs(quake.latitude) <= 90, abs(quake.longitude) <= 360 else {
        return "the coordinates are out of range"
    }
    for property in Property.allCases {
        switch quake[property] {
        case .number(let number) where !number.isFinite: return "\(property) is not finite"
        // U+FFFD is not checked: it may stand for invalid UTF-8, but the document may also contain that character.
        case .text(let text), .json(let text):
            if text.utf8.contains(0) { return "\(property) contains NUL" }
        case .list(let list):
            if list.contains(where: { $0.utf8.contains(0) }) { return "\(property) contains NUL" }
        case .null where property.isRequired: return "\(property) is missing"
        case .null, .number, .integer, .flag, .time: continue
        }
    }
    guard let extra = quake[.extra].json else { return nil }
    return Array(extra.utf8).withUnsafeBufferPointer { bytes in
        if let fault = JSONCursor.fault(in: bytes) { return "extra is not valid JSON: \(fault)" }
        var cursor = JSONCursor(bytes)
        try? cursor.skipValue()
        return cursor.sawNUL || cursor.sawOversizedNumber ? "jsonb would refuse extra" : nil
    }
}
