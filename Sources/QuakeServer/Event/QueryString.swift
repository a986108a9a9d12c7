/// The parameters of a URL: what is behind its `?`.
struct QueryString {
    /// In the order in which they were written, decoded.
    let pairs: [(name: String, value: String)]

    /// - Throws: `EventError` for what is no text: a `%` without two hexadecimal digits, bytes that are not UTF-8, and
    ///   control characters.
    init(_ text: String) throws {
        pairs = try text.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (try Self.decoded(parts[0]), parts.count > 1 ? try Self.decoded(parts[1]) : "")
        }
    }

    /// A plus is a space, as in forms, which clients send (https://url.spec.whatwg.org/#urlencoded-parsing).
    private static func decoded(_ bytes: Substring.UTF8View) throws -> String {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): result.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
                else {
                    throw EventError(400, "a % in the request is not followed by two hexadecimal digits")
                }
                result.append(high << 4 | low)
            default: result.append(byte)
            }
        }
        guard let text = String(validating: result, as: UTF8.self) else {
            throw EventError(400, "the request is not UTF-8")
        }
        guard !text.unicodeScalars.contains(where: { $0 < " " || ("\u{7F}"..."\u{9F}").contains($0) }) else {
            throw EventError(400, "the request has a control character")
        }
        return text
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
