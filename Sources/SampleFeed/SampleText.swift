import Feed

/// A part of the document in bytes. It is built by string interpolation, but without an intermediate String.
struct SampleText: ExpressibleByStringInterpolation, StringInterpolationProtocol {
    static let pieceSize = 65_536
    static let longestFeature = 2_048

    var bytes: [UInt8] = []

    init(literalCapacity: Int, interpolationCount: Int) {
        bytes.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    init(stringInterpolation text: SampleText) { self = text }

    init(stringLiteral text: StaticString) { appendLiteral(text) }

    mutating func appendLiteral(_ text: StaticString) { bytes.append(text: text) }

    mutating func appendInterpolation(_ text: SampleText) { bytes += text.bytes }

    mutating func appendInterpolation(bytes text: [UInt8]) { bytes += text }

    mutating func appendInterpolation(word: StaticString) { bytes.append(text: word) }

    /// The word in quotes; null for nil.
    mutating func appendInterpolation(quoted word: StaticString?) {
        guard let word else { return appendLiteral("null") }
        appendInterpolation("\"\(word: word)\"")
    }

    mutating func appendInterpolation(_ number: Int) { bytes.append(integer: number) }

    /// `value` / 10^`decimals`, without trailing zeros; null for nil.
    mutating func appendInterpolation(_ value: Int?, decimals: Int) {
        guard let value else { return appendLiteral("null") }
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let scale = [1, 10, 100, 1_000, 10_000][decimals]
        let (whole, rest) = Int(value.magnitude).quotientAndRemainder(dividingBy: scale)
        bytes.append(integer: whole)
        guard rest > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        bytes.append(digits: rest, width: decimals)
        while bytes.last == UInt8(ascii: "0") { bytes.removeLast() }
    }

    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)

    /// A non-negative number with at least `width` digits. `first` is the index of the digit that stands for zero: with 10, all
    /// digits are letters.
    mutating func appendInterpolation(_ number: Int, radix: Int = 10, width: Int, from first: Int = 0) {
        if width > 1 || number >= radix {
            appendInterpolation(number / radix, radix: radix, width: width - 1, from: first)
        }
        bytes.append(Self.digits[first + number % radix])
    }
}
