/// Text inside an XML 1.0 document: in an element, or in an attribute between double quotes.
///
/// A character that XML does not allow, such as most control characters, becomes U+FFFD: no escape can express it
/// (https://www.w3.org/TR/xml/#charsets). Everything else is read back as it was, line ends included.
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

    /// What a character becomes; nil for one that stays.
    private static func escape(_ byte: UInt8, at index: Int, of text: UnsafeRawBufferPointer) -> StaticString?
    {
        switch byte {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "\""): "&quot;"
        // A parser would turn these into a space or a line feed.
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
