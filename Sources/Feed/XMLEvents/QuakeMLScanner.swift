/// Finds the events of a QuakeML document that arrives in chunks, and makes a feature of each.
///
/// The parser gets the document in blocks of a fixed size, so the result does not depend on how the document is divided into
/// chunks. The memory is limited to the texts of one event, at most 1 MiB, regardless of how many picks and arrivals the event
/// has.
final class QuakeMLScanner: EventScanner, @unchecked Sendable {
    private static let blockSize = 4 << 10

    private(set) var metadata = FeedMetadata()
    private(set) var count = 0

    private let reader = XMLReader()
    private let tree = QuakeMLTree.shared
    private var translator: QuakeMLTranslator
    private let offset: Int
    private var block: [UInt8]
    private var isFinished = false
    /// Whether there is text between the events, such as a program's error message.
    private(set) var isIncomplete = false
    var notes: [String] { translator.notes }

    /// The tree's nodes for the open elements; nil for an element that is skipped.
    private var path: [Int?] = []
    private var event = QuakeMLEvent()
    private var made: [UInt8] = []
    private var excerpt = EventExcerpt()
    private var ready: [Ready] = []

    private struct Ready {
        let ordinal: Int
        let offset: Int
        let size: Int
        let feature: [UInt8]
        let source: [UInt8]
        let rejection: Rejection?
        let deletion: StatedDeletion?
    }

    /// - Parameter first: the document's bytes that have been read so far, beginning at `offset`.
    init(at offset: Int, _ first: [UInt8], _ naming: EventNaming) {
        block = first
        self.offset = offset
        translator = QuakeMLTranslator(naming)
        reader.handler = self
    }

    // MARK: Scanning

    func scan(
        _ chunk: UnsafeBufferPointer<UInt8>, from start: Int,
        measure: (UnsafeBufferPointer<UInt8>) -> Int?, _ body: (RawFeature) throws -> Bool
    ) throws -> Int {
        var index = start
        // A full block is parsed only when more bytes follow. So at the end of a chunk, `body` has received every parsed event.
        while index < chunk.count {
            if block.count >= Self.blockSize { try parse(isLast: false) }
            guard try handOver(body) else { return index }
            let taken = min(chunk.count - index, Self.blockSize - block.count)
            block.append(contentsOf: chunk.extracting(index..<index + taken))
            index += taken
        }
        return index
    }

    func finish(_ body: (RawFeature) throws -> Bool) throws -> Bool {
        if !isFinished {
            isFinished = true
            try parse(isLast: true)
        }
        return try handOver(body)
    }

    private func parse(isLast: Bool) throws {
        excerpt.append(block)
        block.withUnsafeBufferPointer { reader.read($0, isLast: isLast) }
        block.removeAll(keepingCapacity: true)
        if let failure = reader.failure {
            throw FeedError.brokenDocument(
                reason: "not QuakeML: \(failure)", offset: offset + reader.position)
        }
        excerpt.drop(upTo: reader.position)
    }

    /// - Returns: false if `body` returned false.
    private func handOver(_ body: (RawFeature) throws -> Bool) throws -> Bool {
        while !ready.isEmpty {
            let next = ready.removeFirst()
            let goesOn = try next.feature.withUnsafeBufferPointer { feature in
                try next.source.withUnsafeBufferPointer { source in
                    var raw = RawFeature(
                        ordinal: next.ordinal, offset: next.offset, size: next.size, bytes: feature)
                    (raw.source, raw.rejection, raw.deletion) = (source, next.rejection, next.deletion)
                    return try body(raw)
                }
            }
            guard goesOn else { return false }
        }
        return true
    }

    // MARK: Elements

    func begin(
        _ name: UnsafePointer<UInt8>, in namespace: UnsafePointer<UInt8>?, _ attributes: XMLReader.Attributes
    ) {
        // Elements of QuakeML are in one of its namespaces. Some programs carelessly write no namespace, which is accepted, too.
        let isForeign =
            namespace.map {
                !$0.begins(with: "http://quakeml.org/") && !$0.begins(with: "https://quakeml.org/")
            } ?? false
        if path.count < 2, let namespace, !isForeign {
            translator.units.isOfFirstVersion = String(cString: namespace).hasSuffix("/1.0")
        }
        guard !path.isEmpty else { return beginDocument(name, isForeign: isForeign) }
        guard !isForeign, let parent = path[path.count - 1],
            let node = tree.child(name, of: parent)
        else { return path.append(nil) }
        path.append(node)
        switch node {
        case tree.event:
            excerpt.begin(at: reader.position)
            event.begin(
                id: attributes.value("publicID"),
                network: attributes.value("eventsource", in: "http://anss.org/xmlns/catalog/"),
                code: attributes.value("eventid", in: "http://anss.org/xmlns/catalog/"))
        default:
            if let part = tree.nodes[node].part { event.begin(part, id: attributes.value("publicID")) }
            if tree.nodes[node].field != nil { event.beginField() }
        }
    }

    private func beginDocument(_ name: UnsafePointer<UInt8>, isForeign: Bool) {
        let name = String(cString: name)
        switch name.lowercased() {
        case "quakeml" where isForeign:
            reader.stop("the root element <\(name)> is not in a namespace of QuakeML")
        case "quakeml": path.append(tree.document)
        case "html": reader.stop("an HTML page, not an earthquake document")
        default: reader.stop("the root element is <\(name.prefix(64))>")
        }
    }

    func take(_ text: UnsafeBufferPointer<UInt8>) {
        guard let node = path.last ?? nil else { return }
        if tree.nodes[node].field != nil {
            event.append(text)
        } else if node == tree.made {
            made.append(contentsOf: text.prefix(64 - min(64, made.count)))
        } else if node == tree.document || node == tree.parameters {
            isIncomplete = isIncomplete || !text.trimmed.isEmpty
        }
    }

    func end() {
        guard let node = path.removeLast() else { return }
        switch node {
        case tree.event: endEvent()
        case tree.made:
            metadata.generated = made.withUnsafeBufferPointer { TimeText.read($0.trimmed) }
            made = []
        default:
            if let field = tree.nodes[node].field { event.endField(field) }
            if tree.nodes[node].part != nil { event.endPart() }
        }
    }

    private func endEvent() {
        count += 1
        let rejection = translator.read(event)
        let (range, bytes) = excerpt.end(at: reader.position)
        ready.append(
            Ready(
                ordinal: count, offset: offset + range.lowerBound, size: range.count,
                feature: translator.writer.bytes, source: bytes, rejection: rejection,
                deletion: translator.writer.deletion))
    }
}
