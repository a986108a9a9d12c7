import Feed

/// A date in the proleptic Gregorian calendar and a time of day, in UTC or in a time zone.
struct CivilTime: Equatable {
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    /// - Parameter offset: the zone's offset from UTC, in seconds east.
    init(_ moment: Instant, offset: Int = 0) {
        let local = moment.milliseconds + Int64(offset) * 1000
        let (days, time) = local.divided(by: 86_400_000)
        let date = CivilDate(daysSince1970: days)
        (year, month, day) = (date.year, date.month, date.day)
        (hour, minute, second) = (Int(time / 3_600_000), Int(time / 60_000 % 60), Int(time / 1000 % 60))
    }

    /// Such as `2014-04-15`.
    var dateText: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }

    /// Such as `12:22:47`.
    var clockText: String { "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))" }
}

/// The number with leading zeros.
func padded(_ number: Int, _ width: Int) -> String {
    let digits = "\(abs(number))"
    let zeros = String(repeating: "0", count: max(0, width - digits.count))
    return (number < 0 ? "-" : "") + zeros + digits
}
