/// Finds the events of a document that arrives in chunks: GeoJSON, QuakeML or FDSN text. The format is recognised by the
/// document's first bytes, not by its name.
public struct DocumentScanner {
    /// nil while the format is unknown.
    private var scanner: (any EventScanner)?
    private let naming: EventNaming
    /// Whether an empty document is accepted as a document without events.
    private let mayBeEmpty: Bool
    /// The document's first bytes after any whitespace, kept until the format is known.
    private var held: [UInt8] = []
    /// The number of bytes before `held`.
    private var skipped = 0
    /// The offset of the chunk in the document, while the format is unknown.
    private var chunkStart = 0

    /// - Parameters:
    ///   - host: the host of the event service that sent the document; nil for any other document.
    ///   - mayBeEmpty: whether the document may be empty, without even a header line. Some services send such a document if they
    ///     have no event.
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
    /// Whether `metadata` is final. It then shows whether the document is a summary feed, and which one. Only GeoJSON of the USGS
    /// can be a summary feed, so for other formats the value is true as soon as the format is known.
    public var sawMetadata: Bool { scanner?.sawMetadata ?? false }
    public var count: Int { scanner?.count ?? 0 }
    /// Whether events may be missing from the document, because it is empty, ended within a line, or contains text that is
    /// neither an event nor a comment, such as an error message of the service.
    public var isIncomplete: Bool { scanner?.isIncomplete ?? true }
    /// The error of a document whose last line is not a row, for example because the document broke off. All events before that
    /// line are still read.
    public var breach: FeedError? { scanner?.breach }
    public var notes: [String] { scanner?.notes ?? [] }

    /// Scans the next bytes of the document, until the chunk ends or `body` returns false: see `FeatureScanner.scan`. `measure`
    /// is called only for features of GeoJSON.
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

    /// Calls `body` with the events that become complete only with the end of the document.
    ///
    /// - Returns: false if there may be more events, because `body` returned false: call this method again.
    /// - Throws: `FeedError.brokenDocument` with the byte offset; any error of `body`.
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

    /// Creates the scanner of the format, and gives it the first bytes without a byte order mark.
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

/// Finds the events of a document of one format. `DocumentScanner` documents the members.
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
