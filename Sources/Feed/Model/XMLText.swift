/// Escapes text for an element of an XML 1.0 document, or for an attribute in double quotes.
///
/// A character that XML does not allow, such as most control characters, becomes U+FFFD: no escape can express it
/// (https://www.w3.org/TR/xml/#charsets). A parser reads everything else back unchanged, including line ends.
public func xmlEscaped(_ text: String) -> String {
    var (text, result) = (text, [UInt8]())
    text.withUTF8 { result.append(xmlEscaped: UnsafeRawBufferPointer($0)) }
    return String(decoding: result, as: UTF8.self)
}

extension [UInt8] {
    package mutating func append(xmlEscaped text: UnsafeRawBufferPointer) {
        var start = 0
        for (index, byte) in text.enumerated() {
            guard let escape = Self.escape(byte, at: index, of: text) else { continue }
            append(contentsOf: text[start..<index])
            escape.withUTF8Buffer { append(contentsOf: $0) }
            start = index + (byte == 0xEF ? 3 : 1)
        }
        append(contentsOf: text[start...])
    }

    /// The escape for the character that starts at `index`; nil if it stays as it is.
    private static func escape(_ byte: UInt8, at index: Int, of text: UnsafeRawBufferPointer) -> StaticString?
    {
        switch byte {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "\""): "&quot;"
        // If these were not escaped, a parser could turn them into spaces or line feeds.
        case UInt8(ascii: "\t"): "&#9;"
        case UInt8(ascii: "\n"): "&#10;"
        case UInt8(ascii: "\r"): "&#13;"
        case 0..<0x20: "\u{FFFD}"
        // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
        case 0xEF where index + 2 < text.count && text[index + 1] == 0xBF && text[index + 2] >= 0xBE:
            "\u{FFFD}"
        default: nil
        }
    }
}
