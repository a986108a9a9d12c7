import CLibXML2

/// Reads an XML document that arrives in pieces, with libxml2's push parser and without building a tree.
///
/// The dangerous parts of XML are refused: document types, and with them external resources and all entities except the five of
/// XML. Elements nest at most 64 deep; a tag, a comment or a processing instruction has at most 1 MiB. So the memory is limited
/// for any input. The document may declare any encoding that iconv knows.
///
/// The reader is `@unchecked Sendable`. Its users must make sure that only one task at a time uses the reader, because libxml2's
/// parser requires that.
final class XMLReader: @unchecked Sendable {
    static let depthLimit = 64
    static let tagLimit = 1 << 20

    /// The scanner owns the reader, and therefore outlives it.
    unowned(unsafe) var handler: QuakeMLScanner?
    private(set) var failure: String?
    private(set) var depth = 0
    /// The position at which the parser was stopped. It is kept here, because libxml2 does not keep it after the stop.
    private var lastPosition = 0

    private var parser: UnsafeMutablePointer<xmlParserCtxt>?

    init() {
        var callbacks = xmlSAXHandler()
        callbacks.initialized = UInt32(XML_SAX2_MAGIC)
        callbacks.startElementNs = { reader, name, _, namespace, _, _, count, _, attributes in
            guard let reader = XMLReader.at(reader), let name else { return }
            reader.begin(name, namespace, Attributes(count: Int(count), start: attributes))
        }
        callbacks.endElementNs = { reader, _, _, _ in
            guard let reader = XMLReader.at(reader), reader.failure == nil else { return }
            reader.depth -= 1
            reader.handler?.end()
        }
        callbacks.characters = { XMLReader.at($0)?.take($1, $2) }
        callbacks.cdataBlock = { XMLReader.at($0)?.take($1, $2) }
        callbacks.ignorableWhitespace = { XMLReader.at($0)?.take($1, $2) }
        callbacks.internalSubset = { reader, name, _, _ in
            let isHTML = name.map { String(cString: $0).lowercased() == "html" } ?? false
            XMLReader.at(reader)?.stop(
                isHTML
                    ? "an HTML page, not an earthquake document"
                    : "it declares a document type, which quakes refuses because it can declare entities")
        }
        parser = xmlCreatePushParserCtxt(&callbacks, Unmanaged.passUnretained(self).toOpaque(), nil, 0, nil)
        _ = xmlCtxtUseOptions(parser, Int32(XML_PARSE_NONET.rawValue))
    }

    deinit {
        xmlFreeParserCtxt(parser)
    }

    private static func at(_ pointer: UnsafeMutableRawPointer?) -> XMLReader? {
        pointer.map { Unmanaged<XMLReader>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Reading

    func read(_ piece: UnsafeBufferPointer<UInt8>, isLast: Bool) {
        guard failure == nil else { return }
        guard let parser else {
            failure = "out of memory"
            return
        }
        piece.withMemoryRebound(to: CChar.self) {
            _ = xmlParseChunk(parser, $0.baseAddress, Int32($0.count), isLast ? 1 : 0)
        }
        if failure == nil, parser.pointee.wellFormed == 0 { failure = Self.message(of: parser) }
        if failure == nil, let input = parser.pointee.input,
            input.pointee.end - input.pointee.cur > Self.tagLimit
        {
            failure = "a tag or a comment is longer than 1 MiB"
        }
    }

    func stop(_ reason: String) {
        lastPosition = position
        if failure == nil { failure = reason }
        xmlStopParser(parser)
    }

    /// How many bytes of the document have been parsed.
    var position: Int {
        guard let parser, let input = parser.pointee.input else { return lastPosition }
        // For an encoding other than UTF-8, libxml2 has to encode the unparsed text again to count its bytes.
        if input.pointee.buf?.pointee.encoder != nil {
            return max(lastPosition, Int(xmlByteConsumed(parser)))
        }
        return max(lastPosition, Int(input.pointee.consumed) + (input.pointee.cur - input.pointee.base))
    }

    private static func message(of parser: UnsafeMutablePointer<xmlParserCtxt>) -> String {
        guard let error = xmlCtxtGetLastError(parser), let message = error.pointee.message else {
            return "it is not well-formed XML"
        }
        let text = String(cString: message).split(whereSeparator: \.isNewline).joined(separator: " ")
        return "it is not well-formed XML: \(text)"
    }

    // MARK: Callbacks

    private func begin(
        _ name: UnsafePointer<UInt8>, _ namespace: UnsafePointer<UInt8>?, _ attributes: Attributes
    ) {
        guard failure == nil else { return }
        depth += 1
        guard depth <= Self.depthLimit else {
            return stop("its elements are nested more than \(Self.depthLimit) deep")
        }
        handler?.begin(name, in: namespace, attributes)
    }

    private func take(_ text: UnsafePointer<UInt8>?, _ count: Int32) {
        guard failure == nil else { return }
        handler?.take(UnsafeBufferPointer(start: text, count: Int(count)))
    }

    /// The attributes of an element. They are valid only while the handler's `begin` runs.
    struct Attributes {
        fileprivate let count: Int
        fileprivate let start: UnsafeMutablePointer<UnsafePointer<UInt8>?>?

        /// The value of an attribute; empty if the element does not have the attribute. With `namespace`, the attribute's
        /// namespace must begin with this text; without it, the attribute must not have a namespace.
        func value(_ name: StaticString, in namespace: StaticString? = nil) -> [UInt8] {
            for index in 0..<count {
                // Each attribute has five pointers: local name, prefix, namespace, value, and the value's end.
                guard let fields = start.map({ $0 + 5 * index }), let local = fields[0],
                    let value = fields[3],
                    let end = fields[4], local.equals(name)
                else { continue }
                if let namespace {
                    guard let uri = fields[2], uri.begins(with: namespace) else {
                        continue
                    }
                } else if fields[2] != nil {
                    continue
                }
                let text = Array(UnsafeBufferPointer(start: value, count: end - value))
                // In an attribute, libxml2 writes every ampersand as `&#38;`, because it does not substitute entities by default.
                return text.contains(UInt8(ascii: "&"))
                    ? text.replacing("&#38;".utf8, with: "&".utf8) : text
            }
            return []
        }
    }
}

extension UnsafePointer<UInt8> {
    func begins(with word: StaticString) -> Bool {
        // The text ends with a zero byte, at which the comparison stops.
        word.withUTF8Buffer { word in word.indices.allSatisfy { self[$0] == word[$0] } }
    }

    func equals(_ word: StaticString) -> Bool {
        begins(with: word) && self[word.utf8CodeUnitCount] == 0
    }
}
