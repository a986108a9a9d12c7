extension UInt8 {
    @inline(__always)
    var isJSONWhitespace: Bool {
        self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09
    }
}

extension UnsafeBufferPointer<UInt8> {
    var trimmed: UnsafeBufferPointer<UInt8> {
        guard let first = firstIndex(where: { !$0.isJSONWhitespace }),
            let last = lastIndex(where: { !$0.isJSONWhitespace })
        else { return extracting(0..<0) }
        return extracting(first..<last + 1)
    }

    /// The UTF-16 unit of an escape, `\u` and four hexadecimal digits, at `index`; nil if there is none.
    func utf16Unit(at index: Int) -> UInt16? {
        guard index + 6 <= count, self[index] == UInt8(ascii: "\\"), self[index + 1] == UInt8(ascii: "u")
        else {
            return nil
        }
        var unit: UInt16 = 0
        for digit in self[index + 2..<index + 6] {
            guard let value = digit.hexDigit else { return nil }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }

    /// The index of the first byte, at `index` or later, that is a quote, a backslash, a control character or not ASCII; `count`
    /// when there is none.
    @inline(__always)
    func firstSpecialByte(from index: Int) -> Int {
        var index = index
        let base = UnsafeRawPointer(baseAddress)
        while index + 8 <= count, let base {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let special =
                (zeroBytes(word ^ 0x2222_2222_2222_2222) | zeroBytes(word ^ 0x5C5C_5C5C_5C5C_5C5C)
                    | ((word &- 0x2020_2020_2020_2020) & ~word) | word) & highBits
            if special != 0 { return index + special.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count {
            let byte = self[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 || byte >= 0x80 {
                return index
            }
            index += 1
        }
        return count
    }
}

private let highBits: UInt64 = 0x8080_8080_8080_8080

/// Sets the high bit of each zero byte. A byte above a zero byte may be flagged wrongly, but the lowest flagged byte is always
/// right, because borrows only travel upwards.
@inline(__always)
private func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word
}
