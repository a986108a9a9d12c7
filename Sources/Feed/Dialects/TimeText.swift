/// Reads the times of other agencies, which `Instant` writes in one form only.
enum TimeText {
    /// Reads `2026-10-01T01:29:17.05`, with `Z` or an offset or neither, which means UTC, with any number of decimals or
    /// none; with slashes and a space: `2026/10/01 01:53:03.6500`; or the date alone. Rounds to the millisecond. A leap second
    /// is the first of the next minute, because `Instant` has none.
    ///
    /// - Returns: nil if it is not a time.
    static func read(_ text: UnsafeBufferPointer<UInt8>) -> Instant? {
        var reader = DigitReader(rest: text[...])
        guard let year = reader.number(4...4), let separator = reader.take(oneOf: "-/"),
            let month = reader.number(2...2), reader.take(separator), let day = reader.number(2...2),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        var milliseconds = date.daysSince1970 * 86_400_000
        if reader.take(oneOf: "Tt ") != nil {
            while reader.take(oneOf: "T ") != nil {}
            guard let hour = reader.number(2...2), hour < 24, reader.take(":"),
                let minute = reader.number(2...2), minute < 60
            else { return nil }
            milliseconds += Int64(hour * 60 + minute) * 60_000
            if reader.take(":") {
                guard let second = reader.number(2...2), second <= 60, let fraction = reader.fraction()
                else { return nil }
                milliseconds += Int64(second) * 1000 + fraction
            }
            guard let offset = reader.take("z") ? 0 : reader.offset(mayLackMinutes: true) else { return nil }
            milliseconds -= Int64(offset)
        }
        return reader.rest.isEmpty ? Instant(milliseconds: milliseconds) : nil
    }
}

extension DigitReader<Slice<UnsafeBufferPointer<UInt8>>> {
    fileprivate mutating func take(oneOf characters: StaticString) -> Unicode.Scalar? {
        guard let first = rest.first, characters.withUTF8Buffer({ $0.contains(first) }) else { return nil }
        rest.removeFirst()
        return Unicode.Scalar(first)
    }

    /// A point and digits, or nothing, in milliseconds.
    fileprivate mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        let digits = rest.prefix(while: \.isDigit)
        guard !digits.isEmpty else { return nil }
        rest = rest[digits.endIndex...]
        var (milliseconds, unit): (Int64, Int64) = (0, 100)
        for digit in digits.prefix(3) {
            milliseconds += Int64(digit - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return milliseconds + (digits.count > 3 && digits[digits.startIndex + 3] >= UInt8(ascii: "5") ? 1 : 0)
    }
}
