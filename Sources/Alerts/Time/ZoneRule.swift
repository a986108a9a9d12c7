import Feed

/// The rule for the local time of a zone after its last listed change: a POSIX TZ string with the extensions of RFC 9636, section
/// 3.3.1, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule: Sendable {
    private let standard: Zone.LocalType
    private let daylight: (type: Zone.LocalType, start: YearDay, end: YearDay)?

    func localType(at seconds: Int64) -> Zone.LocalType {
        guard let daylight else { return standard }
        let today = (seconds + Int64(standard.offset)).divided(by: 86_400).whole
        let year = CivilDate(daysSince1970: today).year
        // Each change is given in the local time that applies before the change.
        let start = daylight.start.seconds(in: year) - Int64(standard.offset)
        let end = daylight.end.seconds(in: year) - Int64(daylight.type.offset)
        let isDaylight = start < end ? start <= seconds && seconds < end : seconds < end || start <= seconds
        return isDaylight ? daylight.type : standard
    }

    init?(_ text: String) {
        var reader = Reader(rest: Substring(text).utf8)
        guard let name = reader.name(), let west = reader.time() else { return nil }
        standard = .init(offset: -west, abbreviation: name)
        guard !reader.rest.isEmpty else {
            daylight = nil
            return
        }
        guard let other = reader.name() else { return nil }
        let offset: Int
        if reader.rest.first == UInt8(ascii: ",") {
            offset = standard.offset + 3600
        } else {
            guard let west = reader.time() else { return nil }
            offset = -west
        }
        guard reader.take(","), let start = reader.yearDay(), reader.take(","), let end = reader.yearDay(),
            reader.rest.isEmpty
        else { return nil }
        daylight = (.init(offset: offset, abbreviation: other), start, end)
    }
}

/// A day of the year, and a time on that day.
private struct YearDay: Sendable {
    enum Day: Sendable {
        /// From 1 to 365; the 29th of February is not counted.
        case withoutLeapDay(Int)
        /// From 0 to 365.
        case ofYear(Int)
        /// The week is from 1 to 5, where 5 is the last week of the month. Sunday is 0.
        case weekday(month: Int, week: Int, weekday: Int)
    }

    let day: Day
    /// In seconds after midnight, from −167 to 167 hours.
    let time: Int

    /// The moment in seconds since 1970-01-01, counted in local time.
    func seconds(in year: Int) -> Int64 {
        let newYear = CivilDate(unchecked: year, 1, 1).daysSince1970
        let days: Int64
        switch day {
        case .withoutLeapDay(let number):
            let isLeap = CivilDate(unchecked: year, 3, 1).daysSince1970 - newYear == 60
            days = newYear + Int64(number - 1 + (isLeap && number > 59 ? 1 : 0))
        case .ofYear(let number):
            days = newYear + Int64(number)
        case .weekday(let month, let week, let weekday):
            let first = CivilDate(unchecked: year, month, 1).daysSince1970
            let next =
                month == 12
                ? CivilDate(unchecked: year + 1, 1, 1).daysSince1970
                : CivilDate(unchecked: year, month + 1, 1).daysSince1970
            // 1970-01-01 was a Thursday.
            let firstWeekday = (first + 4) - (first + 4).divided(by: 7).whole * 7
            var found = first + (Int64(weekday) - firstWeekday + 7) % 7 + Int64(week - 1) * 7
            if found >= next { found -= 7 }
            days = found
        }
        return days * 86_400 + Int64(time)
    }
}

private struct Reader {
    var rest: Substring.UTF8View

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads an abbreviation: letters, or any characters in angle brackets.
    mutating func name() -> String? {
        let isQuoted = take("<")
        let name = rest.prefix { isQuoted ? $0 != UInt8(ascii: ">") : $0.isAlphanumeric && !$0.isDigit }
        rest = rest[name.endIndex...]
        guard !name.isEmpty, !isQuoted || take(">") else { return nil }
        return String(Substring(name))
    }

    mutating func number() -> Int? {
        let digits = rest.prefix(while: \.isDigit)
        rest = rest[digits.endIndex...]
        return digits.count > 4 ? nil : Int(Substring(digits))
    }

    /// Reads a time such as `1`, `-3:30` or `5:53:28`, and returns it in seconds.
    mutating func time() -> Int? {
        let isNegative = take("-")
        if !isNegative { _ = take("+") }
        guard let hours = number() else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] where take(":") {
            guard let value = number() else { return nil }
            seconds += value * unit
        }
        return isNegative ? -seconds : seconds
    }

    mutating func yearDay() -> YearDay? {
        let day: YearDay.Day
        if take("M") {
            guard let month = number(), take("."), let week = number(), take("."), let weekday = number(),
                (1...12).contains(month), (1...5).contains(week), (0...6).contains(weekday)
            else { return nil }
            day = .weekday(month: month, week: week, weekday: weekday)
        } else if take("J") {
            guard let number = number(), (1...365).contains(number) else { return nil }
            day = .withoutLeapDay(number)
        } else {
            guard let number = number(), (0...365).contains(number) else { return nil }
            day = .ofYear(number)
        }
        guard take("/") else { return YearDay(day: day, time: 2 * 3600) }
        return time().map { YearDay(day: day, time: $0) }
    }
}
