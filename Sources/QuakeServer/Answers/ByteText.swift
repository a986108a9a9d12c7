import Feed

// Values as text in bytes, without a String in between.
extension [UInt8] {
    mutating func append(text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    mutating func append(text: String) {
        append(contentsOf: text.utf8)
    }

    mutating func append(integer: some BinaryInteger) {
        if integer < 0 { append(UInt8(ascii: "-")) }
        append(digits: UInt64(integer.magnitude))
    }

    private mutating func append(digits number: UInt64) {
        if number > 9 { append(digits: number / 10) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    /// The shortest decimal number that reads back as the same value.
    ///
    /// Nearly all numbers of a feed have a few decimals. If a whole number divided by a power of ten gives the value, its
    /// digits are the value's: the division of two exact numbers is rounded as reading the decimal is.
    mutating func append(number: Double) {
        var power = 1.0
        for decimals in 0...7 {
            let scaled = (number * power).rounded()
            guard scaled.magnitude < 9_007_199_254_740_992 else { break }
            if scaled / power == number {
                return append(
                    Int64(scaled), decimals: decimals, power: UInt64(power), isNegative: number.sign == .minus
                )
            }
            power *= 10
        }
        append(contentsOf: number.description.utf8)
    }

    private mutating func append(_ scaled: Int64, decimals: Int, power: UInt64, isNegative: Bool) {
        if isNegative { append(UInt8(ascii: "-")) }
        let (whole, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: power)
        append(digits: whole)
        guard decimals > 0 else { return }
        append(UInt8(ascii: "."))
        var place = power / 10
        while place > 0 {
            append(UInt8(ascii: "0") + UInt8(rest / place % 10))
            place /= 10
        }
    }

    /// A JSON string, quotes included. The bytes are UTF-8.
    mutating func append(jsonString bytes: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        appendEscaped(bytes)
        append(UInt8(ascii: "\""))
    }

    mutating func append(jsonString text: String) {
        var text = text
        text.withUTF8 { append(jsonString: UnsafeRawBufferPointer($0)) }
    }

    /// The inside of a JSON string.
    mutating func appendEscaped(_ bytes: UnsafeRawBufferPointer) {
        var start = 0
        for (index, byte) in bytes.enumerated()
        where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            append(contentsOf: bytes[start..<index])
            start = index + 1
            if byte < 0x20 {
                append(text: "\\u00")
                for digit in [byte >> 4, byte & 15] {
                    append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                }
            } else {
                append(UInt8(ascii: "\\"))
                append(byte)
            }
        }
        append(contentsOf: bytes[start...])
    }
}
