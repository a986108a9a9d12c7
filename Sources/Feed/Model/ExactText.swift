/// A text that equals another, or comes before it, by its bytes, as in a database with the collation C.
///
/// To a String, é and an e with an accent behind it are the same: they are canonically equivalent. To the table they are
/// two texts, and may be two codes.
package struct ExactText: Hashable, Comparable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.elementsEqual(other.text.utf8)
    }

    package static func < (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension String {
    /// The parts between the characters `separator`, empty ones included.
    ///
    /// A Character would not do: a mark that combines with the separator makes it another Character.
    package func split(at separator: Unicode.Scalar) -> [String] {
        unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
    }

    /// With another text in place of each character `scalar`, also of one that a combining mark follows.
    package func replacing(_ scalar: Unicode.Scalar, with text: String) -> String {
        split(at: scalar).joined(separator: text)
    }
}
