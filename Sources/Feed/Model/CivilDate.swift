/// A date in the proleptic Gregorian calendar.
public struct CivilDate: Sendable, Equatable {
    /// Year 0 is 1 BC.
    public let year: Int
    public let month: Int
    public let day: Int

    /// nil for a day that does not exist.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        // 31 April is counted as 1 May, so converting it back gives a different date.
        let counted = CivilDate(daysSince1970: daysSince1970)
        guard counted.month == month, counted.day == day else { return nil }
    }

    /// Does not check the date: the day must exist.
    package init(unchecked year: Int, _ month: Int, _ day: Int) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Howard Hinnant's `civil_from_days` (https://howardhinnant.github.io/date_algorithms.html).
    public init(daysSince1970 days: Int64) {
        let shifted = Int(days) + 719_468
        let (era, dayOfEra) = shifted.divided(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Howard Hinnant's `days_from_civil`, from the same page.
    public var daysSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shiftedYear.divided(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return Int64(era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468)
    }
}

extension CivilDate {
    /// The date in UTC.
    public init(_ instant: Instant) {
        self.init(daysSince1970: instant.milliseconds.divided(by: 86_400_000).whole)
    }

    /// The number of the day in the year: 1 for the first of January.
    package var dayOfYear: Int { Int(daysSince1970 - CivilDate(unchecked: year, 1, 1).daysSince1970) + 1 }

    /// The start of the day: midnight in UTC.
    public var start: Instant { Instant(milliseconds: daysSince1970 * 86_400_000) }

    /// The same day of the month, this many months later; or the last day of the later month if that month is too short.
    public func adding(months: Int) -> CivilDate {
        let (later, index) = (year * 12 + month - 1 + months).divided(by: 12)
        let first = CivilDate(unchecked: later, index + 1, 1)
        let next = CivilDate(unchecked: index == 11 ? later + 1 : later, (index + 1) % 12 + 1, 1)
        let length = Int(next.daysSince1970 - first.daysSince1970)
        return CivilDate(unchecked: first.year, first.month, min(day, length))
    }
}
