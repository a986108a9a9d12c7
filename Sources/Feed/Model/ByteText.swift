extension [UInt8] {
    package mutating func append(text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    package mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }

    package mutating func append(integer: some BinaryInteger) {
        if integer < 0 { append(UInt8(ascii: "-")) }
        append(digits: UInt64(integer.magnitude))
    }

    /// Appends a number that is not negative, with at least `width` digits.
    package mutating func append(digits number: some BinaryInteger, width: Int = 1) {
        if width > 1 || number > 9 { append(digits: number / 10, width: width - 1) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    /// Appends a text. ASCII letters and digits stay as they are, and so do the bytes in `others`. Any other byte is written as
    /// `mark` and two hexadecimal digits.
    package mutating func append(
        escaped text: some Sequence<UInt8>, by mark: Unicode.Scalar, keeping others: StaticString
    ) {
        for byte in text {
            if byte.isAlphanumeric || others.withUTF8Buffer({ $0.contains(byte) }) {
                append(byte)
            } else {
                append(UInt8(ascii: mark))
                for digit in [byte >> 4, byte & 15] {
                    append(digit + UInt8(ascii: digit < 10 ? "0" : "7"))
                }
            }
        }
    }

    /// Appends the shortest decimal number that reads back as the same value.
    package mutating func append(number: Double) {
        guard !append(plain: number) else { return }
        append(contentsOf: number.description.utf8)
    }

    /// Appends the number in the form of its description: with a decimal point, or with an exponent if it is very large or small.
    package mutating func append(decimal number: Double) {
        let start = count
        guard number.magnitude >= 0.0001 || number == 0, append(plain: number) else {
            return append(contentsOf: number.description.utf8)
        }
        if !self[start...].contains(UInt8(ascii: ".")) { append(text: ".0") }
    }

    /// Appends a number if it has at most seven decimals, as nearly all numbers of a feed do. The digits are those of a whole
    /// number. They are right if the whole number divided by a power of ten is equal to `number`, because the division rounds in
    /// the same way as reading the decimal.
    ///
    /// - Returns: false if the number has more decimals; then nothing is appended.
    private mutating func append(plain number: Double) -> Bool {
        var power = 1.0
        for decimals in 0...7 {
            let scaled = (number * power).rounded()
            guard scaled.magnitude < 9_007_199_254_740_992 else { break }
            if scaled / power == number {
                if number.sign == .minus { append(UInt8(ascii: "-")) }
                let (whole, rest) = UInt64(scaled.magnitude).quotientAndRemainder(dividingBy: UInt64(power))
                append(digits: whole)
                if decimals > 0 {
                    append(UInt8(ascii: "."))
                    append(digits: rest, width: decimals)
                }
                return true
            }
            power *= 10
        }
        return false
    }
}

extension Substring {
    /// Decodes a text that `append(escaped:by:keeping:)` wrote: a mark and two hexadecimal digits become one byte.
    func unescaped(by mark: Unicode.Scalar) -> String {
        var bytes: [UInt8] = []
        var rest = utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(\.hexDigit)
            if byte == UInt8(ascii: mark), digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// The byte in lower case if it is an upper-case ASCII letter. All other bytes stay as they are, so other letters in UTF-8 do
    /// not change.
    @inlinable
    package var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    @inlinable
    package var isDigit: Bool { self &- UInt8(ascii: "0") <= 9 }

    @inlinable
    package var isAlphanumeric: Bool {
        isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    /// The value of a hexadecimal digit in ASCII; nil for any other byte.
    @inlinable
    package var hexDigit: UInt8? {
        if isDigit { return self & 15 }
        return (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) ? (self & 15) + 9 : nil
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The 64-bit FNV-1a hash (RFC 9923), which is the same in every run.
    package var hash64: UInt64 {
        reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension [UInt8] {
    /// `hash64` as 16 hexadecimal digits. It is not cryptographic.
    package var hashText: String {
        let digits = String(withUnsafeBufferPointer(\.hash64), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The number with this many digits after the decimal point.
package func rounded(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let scaled = Int64((abs(value) * scale).rounded())
    let sign = value < 0 && scaled != 0 ? "-" : ""
    let fraction = String(scaled % Int64(scale))
    let padding = String(repeating: "0", count: digits - fraction.count)
    return "\(sign)\(scaled / Int64(scale)).\(padding)\(fraction)"
}
