/// Text inside an XML 1.0 document: in an element, or in an attribute between double quotes.
///
/// A character that XML does not allow, such as most control characters, becomes U+FFFD: no escape can express it
/// (https://www.w3.org/TR/xml/#charsets). Everything else is read back as it was, line ends included.
public func xmlEscaped(_ text: String) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case "\"": result += "&quot;"
        // A parser would turn these into a space or a line feed.
        case "\t": result += "&#9;"
        case "\n": result += "&#10;"
        case "\r": result += "&#13;"
        case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": result.unicodeScalars.append("\u{FFFD}")
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
