/// Decodes the parameters in the query of a URL, which is the part after the `?`. The parameters keep their order.
///
/// - Throws: `Refusal` for invalid text: a `%` without two hexadecimal digits, bytes that are not UTF-8, and control
///   characters.
func queryParameters(_ query: String) throws -> [(name: String, value: String)] {
    func decoded(_ bytes: Substring.UTF8View) throws -> String {
        guard let decoded = bytes.percentDecoded(plusIsSpace: true) else {
            throw Refusal(400, "a % in the request is not followed by two hexadecimal digits")
        }
        guard let text = String(validating: decoded, as: UTF8.self) else {
            throw Refusal(400, "the request is not UTF-8")
        }
        guard !text.unicodeScalars.contains(where: { $0 < " " || ("\u{7F}"..."\u{9F}").contains($0) }) else {
            throw Refusal(400, "the request has a control character")
        }
        return text
    }
    return try query.utf8.split(separator: UInt8(ascii: "&")).map { pair in
        let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        return (try decoded(parts[0]), parts.count > 1 ? try decoded(parts[1]) : "")
    }
}
