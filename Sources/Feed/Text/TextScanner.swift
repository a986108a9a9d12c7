/// Finds the rows of FDSN text that arrives in chunks, and makes a feature of each.
///
/// A header line, which names the columns, applies until the next header line. Other lines that begin with `#` are comments. Only
/// one line is in memory, and at most 64 KiB of it.
struct TextScanner: EventScanner {
    /// The size limit of a line, in bytes.
    static let lineLimit = 64 << 10

    private(set) var count = 0
    /// The number of lines so far that are too long, or are neither rows nor comments. They become rejects.
    private var strays = 0
    /// Whether the document ended within a line.
    private var isOpenEnded = false
    /// The error if the document ends with lines that are neither rows nor comments: the service has written something else in
    /// place of rows. The next row resets `breach` to nil.
    private(set) var breach: FeedError?

    private var row: TextRow
    private var header: TextHeader?
    /// Whether a comment says that the document is GeoCSV. GeoCSV is FDSN text, too, but only if bars separate its fields.
    private var isGeoCSV = false
    private var headerNotes: [String] = []
    private var kept: [UInt8] = []
    private var lineSize = 0
    private var lineNumber = 1
    private var lineOffset: Int
    private var consumed: Int

    /// - Parameters:
    ///   - chunk: the offset in the document at which the next chunk to scan begins.
    ///   - first: the document's bytes that have been read so far, beginning at `offset`. They contain no line end.
    init(inChunkAt chunk: Int, at offset: Int, _ first: [UInt8], _ naming: EventNaming) {
        kept = first
        lineSize = first.count
        consumed = chunk
        lineOffset = offset
        row = TextRow(naming)
    }

    var isIncomplete: Bool { isOpenEnded || strays > 0 }
    var notes: [String] { headerNotes + [row.naming.note].compactMap(\.self) }

    mutating func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int,
        measure: (UnsafeBufferPointer<UInt8>) -> Int?, _ body: (RawFeature) throws -> Bool
    ) throws -> Int {
        var index = start
        while index < chunk.count {
            let end = chunk[index...].firstIndex(of: UInt8(ascii: "\n")) ?? chunk.count
            let piece = chunk.extracting(index..<end)
            lineSize += piece.count
            let isWhole = end < chunk.count
            if !isWhole || !kept.isEmpty {
                kept.append(contentsOf: piece.prefix(max(0, Self.lineLimit - kept.count)))
            }
            index = isWhole ? end + 1 : end
            guard isWhole, try !endLine(piece, next: consumed + index, body) else { continue }
            break
        }
        if index == chunk.count { consumed += chunk.count }
        return index
    }

    mutating func finish(_ body: (RawFeature) throws -> Bool) throws -> Bool {
        isOpenEnded = lineSize > 0
        _ = try endLine(UnsafeBufferPointer(start: nil, count: 0), next: consumed, body)
        guard header != nil else {
            throw FeedError.brokenDocument(
                reason: "\(name): no line names the columns, #EventID|Time|…", offset: consumed)
        }
        return true
    }

    /// - Returns: whether to continue.
    private mutating func endLine(
        _ piece: UnsafeBufferPointer<UInt8>, next: Int, _ body: (RawFeature) throws -> Bool
    ) throws -> Bool {
        // The kept bytes are moved out of the property, so that the closure may change the scanner.
        var earlier: [UInt8] = []
        swap(&earlier, &kept)
        defer {
            earlier.removeAll(keepingCapacity: earlier.capacity <= 4 << 10)
            swap(&earlier, &kept)
            lineSize = 0
            lineNumber += 1
            lineOffset = next
        }
        guard lineSize > 0 else { return true }
        guard earlier.isEmpty else {
            return try earlier.withUnsafeBufferPointer { try take($0, body) }
        }
        return try take(piece, body)
    }

    private mutating func take(
        _ line: UnsafeBufferPointer<UInt8>, _ body: (RawFeature) throws -> Bool
    ) throws -> Bool {
        let text = line.trimmed
        guard let first = text.first else { return true }
        if first == UInt8(ascii: "#") || text.beginsWithEventID {
            isGeoCSV = isGeoCSV || header == nil && text.saysGeoCSV
            do {
                if let found = try TextHeader(text) {
                    header = found
                    for note in found.notes where headerNotes.count < 10 && !headerNotes.contains(note) {
                        headerNotes.append(note)
                    }
                }
            } catch {
                throw FeedError.brokenDocument(reason: "not FDSN text: \(error.text)", offset: lineOffset)
            }
            return true
        }
        guard let header else {
            throw FeedError.brokenDocument(
                reason: "\(name): a row comes before the line that names the columns",
                offset: lineOffset)
        }
        let isOversized = lineSize > Self.lineLimit
        let rejection =
            isOversized
            ? Rejection(.size, "the line has \(lineSize) bytes, more than 64 KiB") : row.read(text, header)
        if isOpenEnded, !isOversized, row.isShort {
            throw FeedError.brokenDocument(
                reason: "FDSN text that ends within line \(lineNumber)", offset: lineOffset)
        }
        let isStray = isOversized || row.isStray
        note(isStray: isStray)
        return try row.writer.bytes.withUnsafeBufferPointer { feature in
            var raw = RawFeature(
                ordinal: count + strays, offset: lineOffset, size: lineSize,
                // A stray line has no feature, because nothing says which event it is about.
                bytes: isStray ? feature.extracting(0..<0) : feature)
            raw.source = line.extracting(0..<min(line.count, Self.lineLimit))
            (raw.line, raw.rejection) = (lineNumber, rejection)
            if !isStray { raw.deletion = row.writer.deletion }
            return try body(raw)
        }
    }

    private var name: String {
        isGeoCSV ? "GeoCSV with another delimiter than |, not FDSN text" : "not FDSN text"
    }

    private mutating func note(isStray: Bool) {
        guard isStray else {
            count += 1
            breach = nil
            return
        }
        strays += 1
        breach =
            breach
            ?? .brokenDocument(
                reason:
                    "FDSN text that ends with lines that are not rows, from line \(lineNumber) on",
                offset: lineOffset)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether a comment names the format: `# dataset: GeoCSV 2.0`.
    var saysGeoCSV: Bool {
        String(decoding: prefix(100), as: UTF8.self).lowercased().contains("dataset: geocsv")
    }

    /// Whether a line names columns, but has no `#` in front.
    var beginsWithEventID: Bool {
        guard let bar = firstIndex(of: UInt8(ascii: "|")) else { return false }
        return extracting(0..<bar).trimmed.lazy.map(\.asciiLowercased).elementsEqual("eventid".utf8)
    }
}
