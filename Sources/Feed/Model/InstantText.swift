// ISO 8601, in UTC and to the millisecond. A formatter that uses floating point would take longer and would round.

extension Instant: CustomStringConvertible {
    /// Such as `2014-04-15T12:22:47.000Z`.
    public var description: String {
        var text: [UInt8] = []
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Such as `2014-04-15 12:22:47`, for people.
    public var shortText: String {
        var text: [UInt8] = []
        appendText(to: &text)
        text.removeLast(".000Z".utf8.count)
        text[text.count - "T12:22:47".utf8.count] = UInt8(ascii: " ")
        return String(decoding: text, as: UTF8.self)
    }

    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT`, as in HTTP (RFC 9110, 5.6.7) and in mails (RFC 5322, 3.3).
    ///
    /// - Parameter zone: the word for UTC: `GMT` in HTTP, `+0000` in mails.
    public func internetDate(zone: String) -> String {
        let date = CivilDate(daysSince1970: milliseconds.divided(by: 86_400_000).whole)
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let weekday = weekdays[Int(date.daysSince1970.divided(by: 7).rest)]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let words = [
            "\(weekday),", date.day < 10 ? "0\(date.day)" : "\(date.day)", months[date.month - 1],
            "\(date.year)",
            "\(shortText.suffix("08:49:37".count))", zone,
        ]
        return words.joined(separator: " ")
    }

    /// Appends the description, in ASCII.
    public func appendText(to text: inout [UInt8]) {
        let (days, time) = milliseconds.divided(by: 86_400_000)
        let date = CivilDate(daysSince1970: days)
        let seconds = Int(time / 1000)
        if date.year < 0 { text.append(UInt8(ascii: "-")) }
        text.append(digits: abs(date.year), width: 4)
        text.append(UInt8(ascii: "-"))
        text.append(digits: date.month, width: 2)
        text.append(UInt8(ascii: "-"))
        text.append(digits: date.day, width: 2)
        text.append(UInt8(ascii: "T"))
        text.append(digits: seconds / 3600, width: 2)
        text.append(UInt8(ascii: ":"))
        text.append(digits: seconds / 60 % 60, width: 2)
        text.append(UInt8(ascii: ":"))
        text.append(digits: seconds % 60, width: 2)
        text.append(UInt8(ascii: "."))
        text.append(digits: Int(time % 1000), width: 3)
        text.append(UInt8(ascii: "Z"))
    }

    /// Reads `2014-04-15`, `2014-04-15T12:22`, `2014-04-15T12:22:47` or `2014-04-15T12:22:47.123`, followed by `Z`, an offset
    /// such as `+02:00`, or nothing, which means UTC. A space may replace the `T`. Years beyond 9999, and before 0 (1 BC), are
    /// read in the form that `description` writes.
    public init?(_ text: String) {
        guard let (instant, _) = Self.exactly(text) else { return nil }
        self = instant
    }

    /// Reads the same texts as `init(_:)`, and also the microseconds within the millisecond. The microseconds are nil if the text
    /// has at most three decimals.
    public static func exactly(_ text: String) -> (instant: Instant, microseconds: Int?)? {
        var reader = DigitReader(rest: text.utf8[...])
        let isNegative = reader.take("-")
        guard let year = reader.number(4...6), reader.take("-"), let month = reader.number(2...2),
            reader.take("-"), let day = reader.number(2...2),
            let date = CivilDate(year: isNegative ? -year : year, month: month, day: day)
        else { return nil }
        var (time, microseconds) = (0, nil as Int?)
        if reader.take("T") || reader.take(" ") {
            guard let read = reader.timeOfDay() else { return nil }
            (time, microseconds) = read
        }
        guard let offset = reader.offset(), reader.rest.isEmpty else { return nil }
        return (date.start + Int64(time - offset), microseconds)
    }
}

struct DigitReader<Bytes: Collection<UInt8>> where Bytes.SubSequence == Bytes {
    var rest: Bytes

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func digit() -> Int? {
        guard let byte = rest.first, byte.isDigit else { return nil }
        rest.removeFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    /// Reads as many digits as there are, up to the upper bound of `count`; nil if there are fewer than its lower bound.
    mutating func number(_ count: ClosedRange<Int>) -> Int? {
        var (number, read) = (0, 0)
        while read < count.upperBound, let digit = digit() {
            (number, read) = (number * 10 + digit, read + 1)
        }
        return read < count.lowerBound ? nil : number
    }

    /// Reads `12:22`, `12:22:47` or `12:22:47.123456`. The microseconds are nil if there are at most three decimals.
    mutating func timeOfDay(lastSecond: Int = 59) -> (milliseconds: Int, microseconds: Int?)? {
        guard let hour = number(2...2), take(":"), let minute = number(2...2), hour < 24, minute < 60 else {
            return nil
        }
        var milliseconds = (hour * 60 + minute) * 60_000
        guard take(":") else { return (milliseconds, nil) }
        guard let second = number(2...2), second <= lastSecond else { return nil }
        milliseconds += second * 1000
        guard take(".") else { return (milliseconds, nil) }
        guard let tenth = digit() else { return nil }
        milliseconds += tenth * 100 + (digit() ?? 0) * 10 + (digit() ?? 0)
        var microseconds: Int?
        if let first = digit() { microseconds = first * 100 + (digit() ?? 0) * 10 + (digit() ?? 0) }
        while digit() != nil {}
        return (milliseconds, microseconds)
    }

    /// Reads `Z`, `+02:00`, `+0200` or nothing, and returns the offset in milliseconds; nil if the hours or the minutes are
    /// invalid.
    ///
    /// - Parameter mayLackMinutes: whether an offset without minutes, such as `+02`, is accepted, too.
    mutating func offset(mayLackMinutes: Bool = false) -> Int? {
        if take("Z") { return 0 }
        let sign = take("-") ? -1 : take("+") ? 1 : 0
        guard sign != 0 else { return 0 }
        guard let hour = number(2...2), hour < 24 else { return nil }
        if mayLackMinutes, rest.isEmpty { return sign * hour * 3_600_000 }
        _ = take(":")
        guard let minute = number(2...2), minute < 60 else { return nil }
        return sign * (hour * 60 + minute) * 60_000
    }
}
