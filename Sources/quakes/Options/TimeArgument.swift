import ArgumentParser
import Feed
import QuakeStore

extension PastMoment: ExpressibleByArgument {
    /// A whole number is a token, so a year alone is none of these.
    public init?(argument: String) {
        if let token = Int(argument), token >= 0 {
            self = .token(token)
        } else if let position = Position(word: argument) {
            self = .position(position)
        } else if let moment = PastMoment(time: argument) {
            self = moment
        } else if let time = TimeArgument(argument: argument) {
            self = .millisecond(time.instant)
        } else {
            return nil
        }
    }
}

/// A point in time, a day, a month or a year, in UTC: given as such, or as how long ago it was.
///
/// `2014-04-15T12:00Z`, `2014-04-15`, `2014-04`, `2014`, `today`, `yesterday`, `now`, `3h`, `3 h ago`, `2 weeks`, `1mo`,
/// `1y`.
struct TimeArgument: ExpressibleByArgument {
    /// The moment, or the beginning of the day, month or year.
    let instant: Instant
    /// The moment, or the end of the day, month or year: the first moment that is no longer part of it.
    let end: Instant

    init?(argument: String) {
        self.init(argument, now: .now)
    }

    init?(_ text: String, now: Instant) {
        let today = CivilDate(now)
        switch text.lowercased() {
        case "now": self.init(now)
        case "today": self.init(day: today)
        case "yesterday": self.init(day: CivilDate(daysSince1970: today.daysSince1970 - 1))
        default:
            if let days = Self.days(text) {
                self.init(from: days.start, to: days.end)
            } else if let instant = Instant(text) ?? Ago(text)?.instant(before: now) {
                self.init(instant)
            } else {
                return nil
            }
        }
    }

    private init(_ instant: Instant) {
        self.init(from: instant, to: instant)
    }

    private init(day: CivilDate) {
        self.init(from: day.start, to: CivilDate(daysSince1970: day.daysSince1970 + 1).start)
    }

    private init(from instant: Instant, to end: Instant) {
        (self.instant, self.end) = (instant, end)
    }

    /// The ends of `2014`, `2014-04` or `2014-04-15`.
    private static func days(_ text: String) -> (start: Instant, end: Instant)? {
        let form = /(\d{4})(?:-(\d\d)(?:-(\d\d))?)?/.asciiOnlyDigits()
        guard let match = text.wholeMatch(of: form)?.output, let year = Int(match.1) else { return nil }
        let (month, day) = (match.2.flatMap { Int($0) }, match.3.flatMap { Int($0) })
        guard let first = CivilDate(year: year, month: month ?? 1, day: day ?? 1) else { return nil }
        if day != nil { return (first.start, CivilDate(daysSince1970: first.daysSince1970 + 1).start) }
        return (first.start, first.adding(months: month == nil ? 12 : 1).start)
    }
}

/// How long ago something was, as people write it.
private struct Ago {
    private let number: Double
    private let unit: Unit

    private enum Unit {
        case milliseconds(Double)
        case months(Int)
    }

    /// Reads `3h`, `3 h ago`, `3 hours ago`, `1.5d`, `1mo`, `2 years`.
    init?(_ text: String) {
        let form = /(\d+(?:[.]\d+)?) ?([a-z]+)(?: ago)?/.asciiOnlyDigits()
        guard let match = text.lowercased().wholeMatch(of: form)?.output, let number = Double(match.1),
            let unit = Self.units[String(match.2)]
        else { return nil }
        (self.number, self.unit) = (number, unit)
    }

    /// nil when that would be before the times that an event can have.
    func instant(before now: Instant) -> Instant? {
        switch unit {
        case .milliseconds(let length):
            guard number * length < 1e15 else { return nil }
            let instant = Instant(milliseconds: now.milliseconds - Int64(number * length))
            return instant >= Instant.possible.lowerBound ? instant : nil
        case .months(let count):
            guard number == number.rounded(), number * Double(count) < 24_000 else { return nil }
            let today = CivilDate(now)
            let timeOfDay = now.milliseconds - today.start.milliseconds
            let date = today.adding(months: -Int(number) * count)
            return Instant(milliseconds: date.start.milliseconds + timeOfDay)
        }
    }

    private static let units: [String: Unit] = {
        var units: [String: Unit] = [:]
        func add(_ names: String, _ unit: Unit) {
            for name in names.split(separator: " ") { units[String(name)] = unit }
        }
        add("s sec second seconds", .milliseconds(1000))
        add("m min minute minutes", .milliseconds(60_000))
        add("h hour hours", .milliseconds(3_600_000))
        add("d day days", .milliseconds(86_400_000))
        add("w week weeks", .milliseconds(604_800_000))
        add("mo month months", .months(1))
        add("y year years", .months(12))
        return units
    }()
}
