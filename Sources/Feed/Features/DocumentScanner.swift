/// Finds the events of a document that arrives in chunks: GeoJSON, QuakeML or FDSN text. The format is
/// that of its first bytes, not of its name.
public struct DocumentScanner {
    /// nil while the format is unknown.
    private var scanner: (any EventScanner)?
    private let naming: EventNaming
    /// Whether a document without a single byte is one without events.
    private let mayBeEmpty: Bool
    /// The first bytes, without whitespace in front, until they tell the format.
    private var held: [UInt8] = []
    /// How many bytes came before `held`.
    private var skipped = 0
    /// Where the chunk begins in the document, while the format is unknown.
    private var chunkStart = 0

    /// - Parameters:
    ///   - host: that of the event service whose answer the document is; nil for any other document.
    ///   - mayBeEmpty: whether it may be text without a header line, as some services answer that they have no event.
    public init(host: String? = nil, mayBeEmpty: Bool = false) {
        naming = EventNaming(host: host)
        self.mayBeEmpty = mayBeEmpty
    }

    public init(of source: FeedSource) {
        let query = source.eventQuery
        self.init(
            host: query == nil ? nil : source.host,
            mayBeEmpty: query?.split(separator: "&").contains("format=text") == true)
    }

    public var metadata: FeedMetadata { scanner?.metadata ?? FeedMetadata() }
    /// Whether the feed of the document is known. Only the USGS's GeoJSON can be one of its summary feeds.
    public var sawMetadata: Bool { scanner?.sawMetadata ?? false }
    public var count: Int { scanner?.count ?? 0 }
    /// Whether the document may lack events that exist: it ended within a line or without any, or holds a line that is neither an
    /// event nor a comment, such as an error message of the service.
    public var isIncomplete: Bool { scanner?.isIncomplete ?? true }
    /// The error of a document that was broken off, after all of its events have been handed over: its last line is not a row.
    public var breach: FeedError? { scanner?.breach }
    public var notes: [String] { scanner?.notes ?? [] }

    /// Scans the next bytes of the document until `body` has enough for now: see `FeatureScanner.scan`. Only features of
    /// GeoJSON are measured.
    public mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int = 0,
        measure: (UnsafeBufferPointer<UInt8>) -> Int? = { _ in nil }, _ body: (RawFeature) throws -> Bool
    ) throws -> Int {
        var start = start
        if scanner == nil { try decide(chunk, from: &start, isLast: false) }
        if let index = try scanner?.scan(chunk, from: start, measure: measure, body) { return index }
        chunkStart += chunk.count
        return chunk.count
    }

    /// Hands over the events that the document's end completes.
    ///
    /// - Returns: whether that was all. If not, `body` had enough: call this again.
    /// - Throws: `FeedError.brokenDocument` with the byte offset; what `body` throws.
    public mutating func finish(_ body: (RawFeature) throws -> Bool) throws -> Bool {
        if scanner == nil {
            var start = 0
            try decide(UnsafeBufferPointer(start: nil, count: 0), from: &start, isLast: true)
        }
        if let isDone = try scanner?.finish(body) { return isDone }
        if !mayBeEmpty || !held.isEmpty { try FeatureScanner(at: skipped).finish() }
        return true
    }

    private mutating func decide(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: inout Int, isLast: Bool
    ) throws {
        while start < chunk.count || isLast {
            if start < chunk.count {
                let byte = chunk[start]
                start += 1
                if byte.isJSONWhitespace, held.isEmpty || held == DocumentStart.byteOrderMark {
                    skipped += 1
                    continue
                }
                held.append(byte)
            }
            let kind = DocumentStart.kind(of: held, isLast: isLast && start >= chunk.count)
            if kind == .unknown, !isLast { continue }
            if kind != .unknown { try begin(kind) }
            return
        }
    }

    /// Gives the first bytes to the scanner of the format, without a byte order mark.
    private mutating func begin(_ kind: DocumentStart.Kind) throws {
        let isMarked = held.starts(with: DocumentStart.byteOrderMark)
        let first = Array(held.dropFirst(isMarked ? DocumentStart.byteOrderMark.count : 0))
        let offset = skipped + held.count - first.count
        held = []
        switch kind {
        case .unknown: break
        case .geoJSON: scanner = try GeoJSONScanner(inChunkAt: chunkStart, at: offset, first, naming)
        case .xml: scanner = QuakeMLScanner(at: offset, first, naming)
        case .text: scanner = TextScanner(inChunkAt: chunkStart, at: offset, first, naming)
        case .other(let reason): throw FeedError.brokenDocument(reason: reason, offset: skipped)
        }
    }
}

/// Finds the events of a document of one format. `DocumentScanner` says what is meant.
protocol EventScanner {
    var metadata: FeedMetadata { get }
    var sawMetadata: Bool { get }
    var count: Int { get }
    var isIncomplete: Bool { get }
    var breach: FeedError? { get }
    var notes: [String] { get }

    mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int,
        measure: (UnsafeBufferPointer<UInt8>) -> Int?, _ body: (RawFeature) throws -> Bool
    ) throws -> Int
    mutating func finish(_ body: (RawFeature) throws -> Bool) throws -> Bool
}

extension EventScanner {
    var metadata: FeedMetadata { FeedMetadata() }
    var sawMetadata: Bool { true }
    var breach: FeedError? { nil }
}
