/// The bytes of the document, and the few ways of appending to them that it needs, without a String in between.
struct SampleText {
    static let pieceSize = 65_536
    static let longestFeature = 2_048

    var bytes: [UInt8] = []

    mutating func append(_ literal: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    mutating func append(_ name: [UInt8]) { bytes.append(contentsOf: name) }

    mutating func append(quoted word: StaticString?) {
        guard let word else { return append("null") }
        append("\"")
        append(word)
        append("\"")
    }

    mutating func append(_ number: Int) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        append(Int(number.magnitude), radix: 10, width: 1)
    }

    /// `value` / 10^`decimals`, without trailing zeros; null for nil.
    mutating func append(_ value: Int?, decimals: Int) {
        guard let value else { return append("null") }
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let scale = [1, 10, 100, 1_000, 10_000][decimals]
        let (whole, rest) = Int(value.magnitude).quotientAndRemainder(dividingBy: scale)
        append(whole, radix: 10, width: 1)
        guard rest > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        append(rest, radix: 10, width: decimals)
        while bytes.last == UInt8(ascii: "0") { bytes.removeLast() }
    }

    /// Appends a number that is not negative, with at least `width` digits: 0–9 and then a–z.
    mutating func append(_ number: Int, radix: Int, width: Int) {
        appendReversed(number, radix: radix, width: width) { $0 < 10 ? 48 + $0 : 87 + $0 }
    }

    /// Appends a number in base 26, as at least four letters.
    mutating func append(letters number: Int) {
        appendReversed(number, radix: 26, width: 4) { 97 + $0 }
    }

    @inline(__always)
    private mutating func appendReversed(_ number: Int, radix: Int, width: Int, _ digit: (UInt8) -> UInt8) {
        var rest = UInt(number)
        var left = width
        var low = bytes.count
        while rest > 0 || left > 0 {
            let (quotient, value) = rest.quotientAndRemainder(dividingBy: UInt(radix))
            bytes.append(digit(UInt8(truncatingIfNeeded: value)))
            rest = quotient
            left -= 1
        }
        var high = bytes.count - 1
        while low < high {
            bytes.swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}
