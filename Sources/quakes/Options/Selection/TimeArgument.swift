import ArgumentParser
import Feed
import QuakeStore

extension PastMoment: ExpressibleByArgument {
    /// Reads a whole number as a token, so a year alone is not read as a time here.
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

/// A moment, a day, a month or a year in UTC. It is given as a date, or by how long ago it was.
///
/// `2014-04-15T12:00Z`, `2014-04-15`, `2014-04`, `2014`, `today`, `yesterday`, `now`, `3h`, `3 h ago`, `2 weeks`, `1mo`,
/// `1y`.
struct TimeArgument: ExpressibleByArgument {
    /// The moment, or the beginning of the day, month or year.
    let instant: Instant
    /// For a moment, the same as `instant`; otherwise the first moment after the day, month or year.
    let end: Instant
    /// Whether the time depends on when it was read, as `now` and `30d` do.
    let isRelative: Bool

    init?(argument: String) {
        self.init(argument, now: .now)
    }

    init?(_ text: String, now: Instant) {
        let today = CivilDate(now)
        switch text.lowercased() {
        case "now": self.init(from: now, to: now, isRelative: true)
        case "today": self.init(relativeDay: today)
        case "yesterday": self.init(relativeDay: CivilDate(daysSince1970: today.daysSince1970 - 1))
        default:
            if let days = Self.days(text) {
                self.init(from: days.start, to: days.end)
            } else if let instant = Instant(text) {
                self.init(from: instant, to: instant)
            } else if let instant = ago(text, before: now) {
                self.init(from: instant, to: instant, isRelative: true)
            } else {
                return nil
            }
        }
    }

    private init(relativeDay day: CivilDate) {
        let next = CivilDate(daysSince1970: day.daysSince1970 + 1)
        self.init(from: day.start, to: next.start, isRelative: true)
    }

    private init(from instant: Instant, to end: Instant, isRelative: Bool = false) {
        (self.instant, self.end, self.isRelative) = (instant, end, isRelative)
    }

    /// The start and the end of `2014`, `2014-04` or `2014-04-15`.
    private static func days(_ text: String) -> (start: Instant, end: Instant)? {
        let form = /(\d{4})(?:-(\d\d)(?:-(\d\d))?)?/.asciiOnlyDigits()
        guard let match = text.wholeMatch(of: form)?.output, let year = Int(match.1) else { return nil }
        let (month, day) = (match.2.flatMap { Int($0) }, match.3.flatMap { Int($0) })
        guard let first = CivilDate(year: year, month: month ?? 1, day: day ?? 1) else { return nil }
        if day != nil { return (first.start, CivilDate(daysSince1970: first.daysSince1970 + 1).start) }
        return (first.start, first.adding(months: month == nil ? 12 : 1).start)
    }
}

/// Reads a length of time, with or without `ago` after it, and returns the moment that is this long before `now`. The result is
/// nil if the text is not a length of time, or if the moment is too early for any event.
private func ago(_ text: String, before now: Instant) -> Instant? {
    guard let length = TimeLength(text.replacing(#/ ago$/#.ignoresCase(), with: "")) else { return nil }
    if length.months == 0 {
        guard length.seconds < 1e12 else { return nil }
        let instant = Instant(milliseconds: now.milliseconds - Int64(length.seconds * 1000))
        return instant >= Instant.possible.lowerBound ? instant : nil
    }
    guard length.months == length.months.rounded(), length.months < 24_000 else { return nil }
    let today = CivilDate(now)
    let timeOfDay = now.milliseconds - today.start.milliseconds
    return Instant(milliseconds: today.adding(months: -Int(length.months)).start.milliseconds + timeOfDay)
}
