// ISO 8601, in UTC and to the millisecond, without the cost and the rounding of a formatter over floating point.

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
        appendDate(to: &text)
        text.append(UInt8(ascii: " "))
        appendTime(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the description, in ASCII.
    public func appendText(to text: inout [UInt8]) {
        appendDate(to: &text)
        text.append(UInt8(ascii: "T"))
        appendTime(to: &text)
        text.append(UInt8(ascii: "."))
        text.append(Int(dayAndTime.time % 1000), digits: 3)
        text.append(UInt8(ascii: "Z"))
    }

    private static let millisecondsOfDay: Int64 = 86_400_000

    private func appendDate(to text: inout [UInt8]) {
        let date = CivilDate(daysSince1970: dayAndTime.days)
        if date.year < 0 { text.append(UInt8(ascii: "-")) }
        text.append(abs(date.year), digits: 4)
        text.append(UInt8(ascii: "-"))
        text.append(date.month, digits: 2)
        text.append(UInt8(ascii: "-"))
        text.append(date.day, digits: 2)
    }

    private func appendTime(to text: inout [UInt8]) {
        let seconds = Int(dayAndTime.time / 1000)
        text.append(seconds / 3600, digits: 2)
        text.append(UInt8(ascii: ":"))
        text.append(seconds / 60 % 60, digits: 2)
        text.append(UInt8(ascii: ":"))
        text.append(seconds % 60, digits: 2)
    }

    private var dayAndTime: (days: Int64, time: Int64) {
        var (days, time) = milliseconds.quotientAndRemainder(dividingBy: Self.millisecondsOfDay)
        if time < 0 {
            days -= 1
            time += Self.millisecondsOfDay
        }
        return (days, time)
    }

    /// Reads `2014-04-15`, `2014-04-15T12:22`, `2014-04-15T12:22:47` or `2014-04-15T12:22:47.123`, followed by `Z`, an
    /// offset such as `+02:00`, or nothing, which means UTC. A space may replace the `T`. Years beyond 9999 and before
    /// 0, which is 1 BC, are read as `description` writes them.
    public init?(_ text: String) {
        let iso =
            /(-?\d{4,6})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.](\d{1,3})\d*)?)?)?(?:(Z)|([+-])(\d\d):?(\d\d))?/
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: iso)?.output,
            let date = CivilDate(year: Int(match.1) ?? 0, month: Int(match.2) ?? 0, day: Int(match.3) ?? 0)
        else { return nil }
        func number(_ digits: Substring?) -> Int64 { digits.flatMap { Int64($0) } ?? 0 }
        let (hour, minute, second) = (number(match.4), number(match.5), number(match.6))
        let (offsetHour, offsetMinute) = (number(match.10), number(match.11))
        guard hour < 24, minute < 60, second < 60, offsetHour < 24, offsetMinute < 60 else { return nil }
        let fraction = match.7.map { $0 + String(repeating: "0", count: 3 - $0.count) }
        let offset = (offsetHour * 60 + offsetMinute) * (match.9 == "-" ? -1 : 1)
        milliseconds =
            date.daysSince1970 * Self.millisecondsOfDay
            + ((hour * 60 + minute - offset) * 60 + second) * 1000 + number(fraction)
    }
}

extension [UInt8] {
    /// Appends a non-negative number, with at least this many digits.
    fileprivate mutating func append(_ number: Int, digits: Int) {
        if digits > 1 || number > 9 { append(number / 10, digits: digits - 1) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
