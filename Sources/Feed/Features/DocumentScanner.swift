/// Finds the events of a document that arrives in chunks: GeoJSON, QuakeML or FDSN text. The format is
/// that of its first bytes, not of its name.
public struct DocumentScanner {
    private var format = Format.undecided
    private let naming: EventNaming
    private var dialect: FeatureDialect
    /// Whether a document without a single byte is one without events.
    private let mayBeEmpty: Bool
    /// The first bytes, without whitespace in front, until they tell the format.
    private var held: [UInt8] = []
    /// How many bytes came before `held`.
    private var skipped = 0
    /// Where the chunk begins in the document, while the format is undecided.
    private var chunkStart = 0

    private enum Format {
        case undecided
        case geoJSON(FeatureScanner)
        case quakeML(QuakeMLScanner)
        case text(TextScanner)
    }

    /// - Parameters:
    ///   - host: that of the event service whose answer the document is, so that its events are found there; nil for any other
    ///     document.
    ///   - mayBeEmpty: whether it may be text without a header line, as some services answer that they have no event.
    public init(host: String? = nil, mayBeEmpty: Bool = false) {
        naming = EventNaming(agency: .atHost(host), host: host)
        dialect = FeatureDialect(naming)
        self.mayBeEmpty = mayBeEmpty
    }

    public init(of source: FeedSource) {
        let query = source.eventQuery
        self.init(
            host: query == nil ? nil : source.host,
            mayBeEmpty: query?.split(separator: "&").contains("format=text") == true)
    }

    // MARK: The document's metadata

    /// What it has said so far.
    public var metadata: FeedMetadata {
        switch format {
        case .geoJSON(let scanner): scanner.metadata
        case .quakeML(let scanner): scanner.metadata
        case .undecided, .text: FeedMetadata()
        }
    }

    /// Whether the feed of the document is known by now. Only the USGS's GeoJSON can be one of its summary feeds.
    public var sawMetadata: Bool {
        switch format {
        case .undecided: false
        case .geoJSON(let scanner): scanner.sawMetadata
        case .quakeML, .text: true
        }
    }

    /// The number of events so far.
    public var count: Int {
        switch format {
        case .undecided: 0
        case .geoJSON(let scanner): scanner.count
        case .quakeML(let scanner): scanner.count
        case .text(let scanner): scanner.count
        }
    }

    /// Whether it may lack events that exist: it ended within a line or without any, or holds a line that is neither an event nor a
    /// comment, such as an error message of the service.
    public var isIncomplete: Bool {
        switch format {
        case .undecided: true
        case .geoJSON: false
        case .quakeML(let scanner): scanner.hasStrayText
        case .text(let scanner): scanner.isOpenEnded || scanner.strays > 0
        }
    }

    /// The error of a document that was broken off, after all of its events have been handed over: its last line is not a row.
    public var breach: FeedError? {
        if case .text(let scanner) = format { scanner.breach } else { nil }
    }

    /// Warnings about a document that was read.
    public var notes: [String] {
        switch format {
        case .undecided: []
        case .geoJSON: [dialect.naming.note].compactMap(\.self)
        case .quakeML(let scanner): scanner.notes
        case .text(let scanner): scanner.notes
        }
    }

    // MARK: Scanning

    /// Scans the next bytes of the document until `body` has enough for now: see `FeatureScanner.scan`. Only features of
    /// GeoJSON are measured.
    public mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int = 0,
        measure: (UnsafeBufferPointer<UInt8>) -> Int? = { _ in nil }, _ body: (RawFeature) throws -> Bool
    ) throws -> Int {
        var start = start
        if case .undecided = format {
            guard try decide(chunk, from: &start, isLast: false) else {
                chunkStart += chunk.count
                return chunk.count
            }
        }
        switch format {
        case .undecided: return chunk.count
        case .geoJSON(var scanner):
            format = .undecided
            defer { format = .geoJSON(scanner) }
            return try scan(chunk, from: start, &scanner, measure, body)
        case .quakeML(let scanner): return try scanner.scan(chunk, from: start, body)
        case .text(var scanner):
            format = .undecided
            defer { format = .text(scanner) }
            return try scanner.scan(chunk, from: start, body)
        }
    }

    /// Hands over the events that the document's end completes, and checks that the document is complete.
    ///
    /// - Returns: whether that was all. If not, `body` had enough: call this again.
    /// - Throws: `FeedError.brokenDocument` with the byte offset; what `body` throws.
    public mutating func finish(_ body: (RawFeature) throws -> Bool) throws -> Bool {
        if case .undecided = format {
            var start = 0
            _ = try decide(UnsafeBufferPointer(start: nil, count: 0), from: &start, isLast: true)
        }
        switch format {
        case .undecided: if !mayBeEmpty || !held.isEmpty { try FeatureScanner(after: skipped).finish() }
        case .geoJSON(let scanner): try scanner.finish()
        case .quakeML(let scanner): return try scanner.finish(body)
        case .text(var scanner):
            defer { format = .text(scanner) }
            try scanner.finish(body)
        }
        return true
    }

    /// A feature that the decoder did not measure may be another agency's.
    private mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int, _ scanner: inout FeatureScanner,
        _ measure: (UnsafeBufferPointer<UInt8>) -> Int?, _ body: (RawFeature) throws -> Bool
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

    // MARK: The format

    /// Looks at the first bytes, and gives them to the format's scanner.
    ///
    /// - Returns: whether the format is known.
    private mutating func decide(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: inout Int, isLast: Bool
    ) throws -> Bool {
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
            switch DocumentStart.kind(of: held, isLast: isLast && start >= chunk.count) {
            case .unknown:
                if isLast { return false }
                continue
            case .geoJSON: try begin(with: FeatureScanner(after: skipped))
            case .xml: format = .quakeML(QuakeMLScanner(at: skipped, held, naming))
            case .text: format = .text(TextScanner(inChunkAt: chunkStart, at: skipped, held, naming))
            case .other(let reason):
                throw FeedError.brokenDocument(reason: reason, offset: skipped)
            }
            held = []
            return true
        }
        return false
    }

    private mutating func begin(with scanner: FeatureScanner) throws {
        var scanner = scanner
        _ = try held.withUnsafeBufferPointer { try scanner.scan($0) { _ in true } }
        scanner.goOn(inChunkAt: chunkStart)
        format = .geoJSON(scanner)
    }
}
