/// Finds the features of a GeoJSON FeatureCollection that arrives in chunks.
///
/// The scanner passes features on one at a time, as bytes, in the document's order; the decoder checks their content. The rest of
/// the document is checked strictly (RFC 8259, RFC 7946). `features` has to be a member of the top-level object, at any position.
/// The scanner never holds more than two features and one other member in memory, each of at most 1 MiB.
public struct FeatureScanner {
    /// The size limit of a feature, and of any other top-level member, in bytes.
    public static let sizeLimit = 1 << 20
    /// The number of bytes that are kept of a feature larger than `sizeLimit`.
    public static let keptOfOversized = 64 << 10

    public private(set) var metadata = FeedMetadata()
    /// Whether the member `metadata` has been read. It may also come after the features.
    public private(set) var sawMetadata = false
    public private(set) var count = 0

    private var state = State.beforeRoot
    /// The offset of the current chunk in the document, in bytes.
    private var consumed = 0
    private var slicer = ValueSlicer()
    private var captured = Captured()
    /// The offset of the captured value in the document, in bytes.
    private var valueOffset = 0
    private var memberName = ""
    private var memberNames = MemberNames()
    /// The approximate memory use of the names, in bytes.
    private var memberNamesCost = 0
    private var sawFeatures = false
    private var sawType = false

    private enum State {
        case beforeRoot, beforeFirstName, beforeName, name, beforeColon, beforeValue, value, afterValue
        case beforeFirstFeature, beforeFeature, feature, afterFeature
        case end
    }

    public init() {}

    init(at offset: Int) {
        consumed = offset
    }

    /// Continues with the chunk that begins at `start` in the document. The chunk's first bytes were already scanned separately.
    mutating func goOn(inChunkAt start: Int) {
        consumed = start
    }

    /// Scans the next bytes of the document, until the chunk ends or `body` returns false.
    ///
    /// - Parameters:
    ///   - start: 0 for a new chunk; otherwise the index that the last call returned for the same chunk.
    ///   - measure: is called where a feature begins, with the rest of the chunk. If it can read the whole feature, it returns
    ///     the feature's size, and the scanner need not search for the end of the feature.
    ///   - body: gets each feature, and returns whether to continue.
    /// - Returns: the index in the chunk at which the scan stopped; the chunk's size when the chunk is finished.
    /// - Throws: `FeedError.brokenDocument` with the byte offset; any error of `body`.
    public mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int = 0,
        measure: (UnsafeBufferPointer<UInt8>) -> Int? = { _ in nil }, _ body: (RawFeature) throws -> Bool
    ) throws -> Int {
        var index = start
        var goesOn = true
        if isCapturing { captured.start(at: 0) }
        while index < chunk.count, goesOn {
            switch state {
            case .name, .value, .feature:
                index = try continueSlice(chunk, from: index) { goesOn = try body($0) }
            default:
                let byte = chunk[index]
                if byte.isJSONWhitespace {
                    index += 1
                } else if try step(byte, at: consumed + index) {
                    captured.start(at: index)
                    valueOffset = consumed + index
                    // A larger feature is rejected, so `measure` gets at most `sizeLimit` bytes.
                    let end = min(chunk.count, index + Self.sizeLimit)
                    if case .feature = state, let size = measure(chunk.extracting(index..<end)) {
                        let bytes = chunk.extracting(index..<index + size)
                        try endFeature(bytes, size, isMeasured: true) { goesOn = try body($0) }
                        index += size
                    }
                } else {
                    index += 1
                }
            }
        }
        guard index == chunk.count else { return index }
        if isCapturing { captured.keep(chunk, upTo: chunk.count) }
        consumed += chunk.count
        return index
    }

    /// - Throws: `FeedError.brokenDocument` if the document is not complete.
    public func finish() throws {
        switch state {
        case .end: break
        case .beforeRoot: throw broken("the document is empty", at: consumed)
        default: throw broken("the document ends too early", at: consumed)
        }
        guard sawType else { throw broken("not GeoJSON: the top-level object has no \"type\"", at: consumed) }
        guard sawFeatures else {
            throw broken("not a FeatureCollection: it has no \"features\"", at: consumed)
        }
    }

    // MARK: Between values

    private var isCapturing: Bool {
        switch state {
        case .name, .value, .feature: true
        default: false
        }
    }

    /// Processes one byte between values. Returns true if a value begins with this byte; the slicer then finds the value's end.
    private mutating func step(_ byte: UInt8, at offset: Int) throws -> Bool {
        switch (state, byte) {
        case (.beforeRoot, UInt8(ascii: "{")): state = .beforeFirstName
        case (.beforeFirstName, UInt8(ascii: "}")), (.afterValue, UInt8(ascii: "}")): state = .end
        case (.beforeFirstName, UInt8(ascii: "\"")), (.beforeName, UInt8(ascii: "\"")):
            state = .name
            slicer = ValueSlicer()
            return true
        case (.beforeColon, UInt8(ascii: ":")): state = .beforeValue
        case (.beforeValue, _): return try beginValue(byte, at: offset)
        case (.afterValue, UInt8(ascii: ",")): state = .beforeName
        case (.beforeFirstFeature, UInt8(ascii: "]")), (.afterFeature, UInt8(ascii: "]")): state = .afterValue
        case (.afterFeature, UInt8(ascii: ",")): state = .beforeFeature
        case (.beforeFirstFeature, _), (.beforeFeature, _):
            guard beginsValue(byte) else { throw broken("expected a feature", at: offset) }
            state = .feature
            slicer = ValueSlicer()
            return true
        default: throw broken(problem(with: byte), at: offset)
        }
        return false
    }

    private mutating func beginValue(_ byte: UInt8, at offset: Int) throws -> Bool {
        if memberName == "features" {
            guard byte == UInt8(ascii: "[") else { throw broken("\"features\" is not an array", at: offset) }
            sawFeatures = true
            state = .beforeFirstFeature
            return false
        }
        guard beginsValue(byte) else { throw broken("expected a value", at: offset) }
        state = .value
        slicer = ValueSlicer()
        return true
    }

    private func beginsValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"): false
        default: true
        }
    }

    private func problem(with byte: UInt8) -> String {
        switch state {
        case .beforeRoot:
            byte == UInt8(ascii: "<") ? "an HTML or XML page, not GeoJSON" : "not a JSON object"
        case .beforeFirstName where byte == 0: DocumentStart.inUTF16
        case .beforeFirstName, .beforeName: "expected a member name"
        case .beforeColon: "expected ':'"
        case .afterValue: "expected ',' or '}'"
        case .afterFeature: "expected ',' or ']' after a feature"
        case .end: "unexpected data after the document"
        default: "unexpected byte"
        }
    }

    // MARK: Values

    private mutating func continueSlice(
        _ chunk: UnsafeBufferPointer<UInt8>, from index: Int, _ body: (RawFeature) throws -> Void
    ) throws -> Int {
        let end: Int?
        do {
            end = try slicer.consume(chunk, from: index)
        } catch {
            try checkSize(captured.size(upTo: error.offset))
            throw broken(error.text, at: consumed + error.offset)
        }
        try checkSize(captured.size(upTo: end ?? chunk.count))
        guard let end else { return chunk.count }
        // The captured bytes are moved out of the property, so that the closure may change the scanner.
        var value = captured
        captured = Captured()
        try value.withBytes(in: chunk, upTo: end) { bytes, size in
            switch state {
            case .name: try endName(bytes)
            case .value: try endValue(bytes)
            default: try endFeature(bytes, size, body)
            }
        }
        value.removeAll()
        captured = value
        return end
    }

    /// Throws if a value other than a feature is larger than `sizeLimit`, because such a value has to be kept whole. A feature
    /// that is too large is rejected later, and the scan continues.
    private func checkSize(_ size: Int) throws {
        if case .feature = state { return }
        guard size <= Self.sizeLimit else {
            throw broken("a member outside \"features\" is larger than 1 MiB", at: valueOffset)
        }
    }

    private mutating func endFeature(
        _ bytes: UnsafeBufferPointer<UInt8>, _ size: Int, isMeasured: Bool = false,
        _ body: (RawFeature) throws -> Void
    ) throws {
        count += 1
        let kept = size > Self.sizeLimit ? min(bytes.count, Self.keptOfOversized) : bytes.count
        state = .afterFeature
        var feature = RawFeature(
            ordinal: count, offset: valueOffset, size: size, bytes: bytes.extracting(0..<kept))
        feature.isMeasured = isMeasured
        try body(feature)
    }

    private mutating func endName(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        let name = try readString(bytes)
        guard memberNames.insert(name, in: bytes) else {
            throw broken("duplicate member name", at: valueOffset)
        }
        memberNamesCost += bytes.count + 64
        guard memberNamesCost <= Self.sizeLimit else { throw broken("too many members", at: valueOffset) }
        memberName = name.string(from: bytes)
        state = .beforeColon
    }

    private mutating func endValue(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        if let fault = JSONCursor.fault(in: bytes) {
            throw broken(fault.text, at: valueOffset + fault.offset)
        }
        switch memberName {
        case "type":
            let type = try bytes.first == UInt8(ascii: "\"") ? readString(bytes) : nil
            if let type, type.equals("Feature", in: bytes) {
                throw broken(
                    "a single Feature, not a FeatureCollection; to get a single event from a service, request format=quakeml",
                    at: valueOffset)
            }
            guard let type, type.equals("FeatureCollection", in: bytes) else {
                throw broken("not a FeatureCollection: \"type\" has a different value", at: valueOffset)
            }
            sawType = true
        case "metadata":
            metadata = FeedMetadata(bytes)
            sawMetadata = true
        default: break
        }
        state = .afterValue
    }

    private func readString(_ bytes: UnsafeBufferPointer<UInt8>) throws -> JSONText {
        var cursor = JSONCursor(bytes)
        do {
            return try cursor.readString()
        } catch {
            throw broken(error.text, at: valueOffset + error.offset)
        }
    }

    private func broken(_ reason: String, at offset: Int) -> FeedError {
        .brokenDocument(reason: reason, offset: offset)
    }
}

/// The bytes of one value, which may have begun in an earlier chunk.
private struct Captured {
    private var earlier: [UInt8] = []
    /// The number of the value's bytes in earlier chunks, including bytes that were not kept.
    private var earlierCount = 0
    private var start = 0

    mutating func start(at index: Int) { start = index }

    func size(upTo end: Int) -> Int { earlierCount + end - start }

    /// Keeps the bytes of this chunk, up to `sizeLimit` bytes of the value in total.
    mutating func keep(_ chunk: UnsafeBufferPointer<UInt8>, upTo end: Int) {
        let room = max(0, FeatureScanner.sizeLimit - earlier.count)
        earlier.append(contentsOf: chunk.extracting(start..<min(end, start + room)))
        earlierCount += end - start
    }

    /// Passes the value to `body`. If the whole value is in this chunk, it is not copied.
    mutating func withBytes(
        in chunk: UnsafeBufferPointer<UInt8>, upTo end: Int,
        _ body: (UnsafeBufferPointer<UInt8>, Int) throws -> Void
    ) rethrows {
        guard earlierCount > 0 else {
            return try body(chunk.extracting(start..<end), end - start)
        }
        keep(chunk, upTo: end)
        try earlier.withUnsafeBufferPointer { try body($0, earlierCount) }
    }

    mutating func removeAll() {
        earlier.removeAll(keepingCapacity: earlier.capacity <= 64 << 10)
        earlierCount = 0
    }
}
