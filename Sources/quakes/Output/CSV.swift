import Feed

/// Comma-separated values (RFC 4180). Null is an empty field; an empty text is a pair of quotes.
struct CSV {
    /// Whether the output is safe to open in a spreadsheet. Otherwise texts are exact.
    var isForSpreadsheet = false

    enum Field {
        /// Text that came from a feed or another program.
        case text(String?)
        /// A number, a time or another value that this program formats.
        case value(String?)
    }

    func line(_ fields: [Field]) -> String {
        fields.map { field in
            switch field {
            case .text(let text): Self.quoted(isForSpreadsheet ? text.map(Self.harmless) : text)
            case .value(let text): Self.quoted(text)
            }
        }.joined(separator: ",")
    }

    /// A text that is safe in a spreadsheet: control characters are replaced, and a text that would be taken for a formula gets
    /// an apostrophe in front (https://owasp.org/www-community/attacks/CSV_Injection).
    private static func harmless(_ text: String) -> String {
        // A formula may also begin with the wide forms of these characters.
        let begins = text.unicodeScalars.first.map { "=+-@\t\r\n＝＋－＠".unicodeScalars.contains($0) } ?? false
        return (begins ? "'" : "") + strippingControlCharacters(text)
    }

    private static func quoted(_ field: String?) -> String {
        guard var field else { return "" }
        guard !field.isEmpty else { return "\"\"" }
        var bytes: [UInt8] = []
        field.withUTF8 { bytes.append(csvField: UnsafeRawBufferPointer($0)) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
