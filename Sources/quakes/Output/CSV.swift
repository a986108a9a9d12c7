/// Comma-separated values (RFC 4180). Null is an empty field; an empty text is a pair of quotes.
enum CSV {
    static func line(_ fields: [String?]) -> String {
        fields.map(quoted).joined(separator: ",")
    }

    private static func quoted(_ field: String?) -> String {
        guard let field else { return "" }
        let needsQuotes =
            field.isEmpty || field.unicodeScalars.contains { "\",\r\n".unicodeScalars.contains($0) }
        return needsQuotes
            ? "\"\(field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
            : field
    }
}
