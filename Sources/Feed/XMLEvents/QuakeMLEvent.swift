/// The texts of one event of a QuakeML document, and the parts that they belong to.
struct QuakeMLEvent {
    /// The size limit of an event's texts, in bytes. An event may have dozens of origins. It may also have thousands of picks,
    /// but these are not read.
    static let sizeLimit = 1 << 20

    /// A part of every id that Quakes gives to an event, an origin or a magnitude.
    static let query = "/fdsnws/event/1/query?eventid="

    struct Part {
        let kind: QuakeMLPart
        let id: Range<Int>
        var fields: Range<Int>
    }

    private(set) var publicID = 0..<0
    /// ComCat's attributes: the preferred network of the event, and that network's code for the event.
    private(set) var source = 0..<0
    private(set) var sourceID = 0..<0
    private(set) var parts: [Part] = []
    private(set) var isOversized = false

    private var texts: [UInt8] = []
    private var fields: [(field: QuakeMLField, text: Range<Int>)] = []
    private var ownFields: [(field: QuakeMLField, text: Range<Int>)] = []
    private var isInPart = false
    private var openText: Int?

    /// - Parameter network: ComCat's attribute with the event's network. `network` and `code` are empty in documents that are not
    ///   from ComCat.
    mutating func begin(id: [UInt8], network: [UInt8], code: [UInt8]) {
        texts.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        ownFields.removeAll(keepingCapacity: true)
        parts.removeAll(keepingCapacity: true)
        (isOversized, isInPart, openText) = (false, false, nil)
        (publicID, source, sourceID) = (store(id), store(network), store(code))
    }

    private mutating func store(_ text: [UInt8]) -> Range<Int> {
        let start = texts.count
        text.withUnsafeBufferPointer { append($0) }
        return start..<texts.count
    }

    mutating func begin(_ part: QuakeMLPart, id: [UInt8]) {
        guard !isOversized else { return }
        parts.append(Part(kind: part, id: store(id), fields: fields.count..<fields.count))
        if parts.count > Self.sizeLimit / 64 { isOversized = true }
        isInPart = true
    }

    mutating func endPart() {
        isInPart = false
        if let last = parts.indices.last { parts[last].fields = parts[last].fields.lowerBound..<fields.count }
    }

    mutating func beginField() { openText = texts.count }

    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard !isOversized, texts.count + text.count <= Self.sizeLimit else {
            isOversized = true
            return
        }
        texts.append(contentsOf: text)
    }

    mutating func endField(_ field: QuakeMLField) {
        guard let start = openText else { return }
        openText = nil
        guard fields.count + ownFields.count < Self.sizeLimit / 32 else {
            isOversized = true
            return
        }
        if isInPart {
            fields.append((field, start..<texts.count))
        } else {
            ownFields.append((field, start..<texts.count))
        }
    }

    func withTexts<Result>(_ body: (Texts) throws(Rejection) -> Result) throws(Rejection) -> Result {
        try texts.withUnsafeBufferPointer { (bytes) throws(Rejection) in
            try body(Texts(event: self, bytes: bytes, isOwn: isOwn))
        }
    }

    /// Whether Quakes wrote the event: its id names it at an event service, and one of its origins has this id and `/origin`.
    /// Another program may have added other origins.
    private var isOwn: Bool {
        let id = texts[publicID]
        let hasOrigin = parts.contains { part in
            part.kind == .origin && texts[part.id].starts(with: id)
                && texts[part.id].dropFirst(id.count).elementsEqual("/origin".utf8)
        }
        return hasOrigin && id.firstRange(of: Self.query.utf8) != nil
    }

    struct Texts {
        let event: QuakeMLEvent
        let bytes: UnsafeBufferPointer<UInt8>
        /// Whether Quakes wrote the event. If so, its id contains its code, and texts are exactly those of the table.
        let isOwn: Bool

        /// The event's own field; nil if it is missing or says nothing.
        func own(_ field: QuakeMLField) -> UnsafeBufferPointer<UInt8>? {
            event.ownFields.first { $0.field == field }.flatMap { content($0.text) }
        }

        func field(_ field: QuakeMLField, of part: Part?) -> UnsafeBufferPointer<UInt8>? {
            guard let part else { return nil }
            return event.fields[part.fields].first { $0.field == field }.flatMap { content($0.text) }
        }

        func parts(_ kind: QuakeMLPart) -> some Sequence<Part> { event.parts.lazy.filter { $0.kind == kind } }

        func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8>? {
            let whole = bytes.extracting(range)
            let text = isOwn ? whole : whole.trimmed
            return text.isEmpty ? nil : text
        }

        private func content(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8>? {
            guard let text = text(range), isOwn || !text.saysNothing else { return nil }
            return text
        }

        func string(_ text: UnsafeBufferPointer<UInt8>?) -> String {
            text.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }
}
