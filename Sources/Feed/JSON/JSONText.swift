import Glibc

/// The content of a JSON string, as a range of the bytes it was read from, without its quotes.
///
/// It does not contain the bytes: every method that reads the content needs the same bytes as an argument.
public struct JSONText: Sendable, Equatable {
    // The offsets are half as wide as an Int, because a record has dozens of them, and no text is longer than a few MiB.
    @usableFromInline let startOffset: Int32
    @usableFromInline let endOffset: Int32
    /// Whether the range contains escapes, so that its characters differ from its bytes.
    @usableFromInline let isEscaped: Bool

    @inline(__always)
    init(start: Int, end: Int, isEscaped: Bool) {
        startOffset = Int32(truncatingIfNeeded: start)
        endOffset = Int32(truncatingIfNeeded: end)
        self.isEscaped = isEscaped
    }

    @usableFromInline var start: Int { Int(startOffset) }
    @usableFromInline var end: Int { Int(endOffset) }

    /// An upper bound for the number of UTF-8 bytes; exact when nothing is escaped.
    var rawCount: Int { end - start }

    /// Whether the string, after unescaping, is equal to `word`, which must be ASCII.
    @inline(__always)
    func equals(_ word: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if isEscaped { return string(from: bytes) == word.description }
        let count = word.utf8CodeUnitCount
        return rawCount == count && memcmp(bytes.baseAddress! + start, word.utf8Start, count) == 0
    }

    /// Like `equals`, but the case of ASCII letters does not matter. `word` must be in lower case.
    func equalsInAnyCase(_ word: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard isEscaped || rawCount == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            withUTF8(in: bytes) { $0.lazy.map(\.asciiLowercased).elementsEqual(word) }
        }
    }

    @inline(__always)
    public func append(to output: inout [UInt8], from bytes: UnsafeBufferPointer<UInt8>) {
        withUTF8(in: bytes) { output.append(contentsOf: $0) }
    }

    @inlinable
    public func withUTF8<Result>(
        in bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result {
        guard isEscaped else { return try body(bytes.extracting(start..<end)) }
        var utf8: [UInt8] = []
        appendUnescaped(to: &utf8, from: bytes)
        return try utf8.withUnsafeBufferPointer(body)
    }

    @usableFromInline
    func appendUnescaped(to output: inout [UInt8], from bytes: UnsafeBufferPointer<UInt8>) {
        var index = start
        while index < end {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                index += 1
                continue
            }
            let escape = bytes[index + 1]
            if escape == UInt8(ascii: "u") {
                index = appendUnicodeEscape(at: index, to: &output, from: bytes)
            } else {
                output.append(Self.character(ofEscape: escape))
                index += 2
            }
        }
    }

    private static func character(ofEscape escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escape
        }
    }

    private func appendUnicodeEscape(
        at index: Int, to output: inout [UInt8], from bytes: UnsafeBufferPointer<UInt8>
    ) -> Int {
        var units = [bytes.utf16Unit(at: index) ?? 0xFFFD]
        if UTF16.isLeadSurrogate(units[0]) { units.append(bytes.utf16Unit(at: index + 6) ?? 0xFFFD) }
        output.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
        return index + 6 * units.count
    }

    public func string(from bytes: UnsafeBufferPointer<UInt8>) -> String {
        withUTF8(in: bytes) { String(decoding: $0, as: UTF8.self) }
    }

    /// Calls `body` with each element of a list such as `,us7000abcd,ci38600815,`. Empty elements are left out.
    public func forEachElement(
        in bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        withUTF8(in: bytes) { list in
            var start = 0
            for index in 0...list.count where index == list.count || list[index] == UInt8(ascii: ",") {
                if index > start { body(list.extracting(start..<index)) }
                start = index + 1
            }
        }
    }
}
