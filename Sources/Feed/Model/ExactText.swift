/// A text that is compared by its bytes, as in a database with the collation C.
///
/// String treats é and an e followed by an accent as equal, because they are canonically equivalent. In the table, they are
/// different texts, and may be the codes of different events.
public struct ExactText: Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByStringInterpolation
{
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String { text }

    public static func == (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.elementsEqual(other.text.utf8)
    }

    public static func < (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension ExactText: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension String {
    /// The parts of the text between the separators, including empty parts.
    ///
    /// The separator is a scalar, not a Character: a separator and a combining mark after it would form a different Character.
    package func split(at separator: Unicode.Scalar) -> [String] {
        unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
    }

    /// Replaces each `scalar` by another text, even if a combining mark follows it.
    package func replacing(_ scalar: Unicode.Scalar, with text: String) -> String {
        split(at: scalar).joined(separator: text)
    }
}
