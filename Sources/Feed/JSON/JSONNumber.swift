import Glibc

/// A JSON number as written: sign, digits and decimal exponent.
struct JSONNumber {
    let range: Range<Int>
    let isNegative: Bool
    /// The first 19 significant digits.
    let mantissa: UInt64
    /// The power of ten to multiply by.
    let exponent: Int
    /// Whether the mantissa is exact: no digit except 0 was dropped.
    let isWhole: Bool

    /// The nearest double; nil when the number overflows, or is not zero and underflows to zero.
    func double(in bytes: UnsafeBufferPointer<UInt8>) -> Double? {
        // Clinger's fast path: mantissa and power are exact, so a single operation rounds correctly.
        if isWhole, mantissa <= 1 << 53, exponent >= -22, exponent <= 22 {
            let power = powersOfTen[abs(exponent)]
            let magnitude = exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
            return isNegative ? -magnitude : magnitude
        }
        let value = withUnsafeTemporaryAllocation(of: CChar.self, capacity: range.count + 1) { copy in
            for (index, byte) in bytes.extracting(range).enumerated() {
                copy[index] = CChar(bitPattern: byte)
            }
            copy[range.count] = 0
            return strtod(copy.baseAddress!, nil)
        }
        guard value.isFinite, value != 0 || mantissa == 0 else { return nil }
        return value
    }

    var hasFraction: Bool { integer == nil && (exponent < 0 || exponent == 0 && !isWhole) }

    /// The number as milliseconds since 1970; nil when it is not a whole number, or not within `Instant.possible`.
    var timestamp: Int64? {
        guard let integer, Instant.possible.contains(Instant(milliseconds: integer)) else { return nil }
        return integer
    }

    /// The number as an integer; nil when it has a fraction or does not fit. `3`, `3.0` and `3e0` are the same.
    var integer: Int64? {
        guard isWhole else { return nil }
        var magnitude = mantissa
        var exponent = exponent
        while exponent < 0, magnitude != 0 {
            let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
            guard remainder == 0 else { return nil }
            magnitude = quotient
            exponent += 1
        }
        while exponent > 0, magnitude != 0 {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            magnitude = product
            exponent -= 1
        }
        if isNegative {
            return magnitude <= UInt64(Int64.max) ? -Int64(magnitude) : nil
        }
        return Int64(exactly: magnitude)
    }
}

private let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19,
    1e20, 1e21, 1e22,
]

extension JSONCursor {
    private static var malformed: String { "malformed number" }

    /// Reads a number: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    mutating func readNumber() throws(JSONError) -> JSONNumber {
        let start = position
        let isNegative = next == UInt8(ascii: "-")
        if isNegative { position += 1 }
        var digits = Digits()
        guard next.isDigit else { throw error(isNegative ? Self.malformed : "expected a value", at: start) }
        let startsWithZero = next == UInt8(ascii: "0")
        let integerDigits = readDigits(&digits)
        guard !startsWithZero || integerDigits == 1 else { throw error(Self.malformed, at: start) }
        var fractionDigits = 0
        if next == UInt8(ascii: ".") {
            position += 1
            fractionDigits = readDigits(&digits)
            guard fractionDigits > 0 else { throw error(Self.malformed, at: start) }
        }
        let exponent = try readExponent(start)
        // https://www.postgresql.org/docs/current/datatype-numeric.html: 131072 digits before the point, 16383 after.
        if integerDigits + exponent > 131_072 || fractionDigits - exponent > 16_383 {
            sawOversizedNumber = true
        }
        addedDigits += abs(exponent)
        return JSONNumber(
            range: start..<position, isNegative: isNegative, mantissa: digits.mantissa,
            exponent: exponent - fractionDigits + digits.dropped, isWhole: digits.isWhole)
    }

    private struct Digits {
        var mantissa: UInt64 = 0
        /// The number of digits that did not fit into the mantissa.
        var dropped = 0
        var isWhole = true

        @inline(__always)
        mutating func append(_ digit: UInt64) {
            if mantissa < 1_000_000_000_000_000_000 {
                mantissa = mantissa * 10 + digit
            } else {
                dropped += 1
                if digit != 0 { isWhole = false }
            }
        }
    }

    @inline(__always)
    private mutating func readDigits(_ digits: inout Digits) -> Int {
        let first = position
        while next.isDigit {
            digits.append(UInt64(next - UInt8(ascii: "0")))
            position += 1
        }
        return position - first
    }

    /// Reads the exponent, clamped to ±10⁹. No column accepts a number with so large an exponent, even if a mebibyte of digits
    /// comes before the exponent.
    private mutating func readExponent(_ start: Int) throws(JSONError) -> Int {
        guard next | 0x20 == UInt8(ascii: "e") else { return 0 }
        position += 1
        let isNegative = next == UInt8(ascii: "-")
        if isNegative || next == UInt8(ascii: "+") { position += 1 }
        guard next.isDigit else { throw error(Self.malformed, at: start) }
        var exponent = 0
        while next.isDigit {
            exponent = min(exponent * 10 + Int(next - UInt8(ascii: "0")), 1_000_000_000)
            position += 1
        }
        return isNegative ? -exponent : exponent
    }
}
