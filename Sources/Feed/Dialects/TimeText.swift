/// Reads times in the forms that other agencies use.
enum TimeText {
    /// Reads `2026-10-01T01:29:17.05` with any number of decimals, and with `Z`, an offset, or neither, which means UTC. Also
    /// reads slashes and a space, as in `2026/10/01 01:53:03.6500`, and a date alone. Rounds to the millisecond. A leap second
    /// becomes the first second of the next minute, because `Instant` has no leap seconds.
    ///
    /// - Returns: nil if it is not a time.
    static func read(_ text: UnsafeBufferPointer<UInt8>) -> Instant? {
        var reader = DigitReader(rest: text[...])
        guard let year = reader.number(4...4), let separator = reader.take(oneOf: "-/"),
            let month = reader.number(2...2), reader.take(separator), let day = reader.number(2...2),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        var time = 0
        if reader.take(oneOf: "Tt ") != nil {
            while reader.take(oneOf: "T ") != nil {}
            guard let (milliseconds, microseconds) = reader.timeOfDay(lastSecond: 60),
                let offset = reader.take("z") ? 0 : reader.offset(mayLackMinutes: true)
            else { return nil }
            time = milliseconds + (microseconds ?? 0 < 500 ? 0 : 1) - offset
        }
        return reader.rest.isEmpty ? date.start + Int64(time) : nil
    }
}

extension DigitReader<Slice<UnsafeBufferPointer<UInt8>>> {
    fileprivate mutating func take(oneOf characters: StaticString) -> Unicode.Scalar? {
        guard let first = rest.first, characters.withUTF8Buffer({ $0.contains(first) }) else { return nil }
        rest.removeFirst()
        return Unicode.Scalar(first)
    }
}
