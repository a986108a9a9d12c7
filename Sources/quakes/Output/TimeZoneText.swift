import Feed
import Glibc

/// The zone in which a table shows times. The raw value is the zone's name in a column's title.
enum TimeZoneText: String {
    case utc = "UTC"
    /// The zone of the environment variable TZ, else the system's.
    case local

    /// Such as `2014-04-15 12:22:47`. A local time is followed by its offset from UTC, such as `+02` or `+05:30`, because
    /// the offset may change from one row to the next.
    func text(_ instant: Instant) -> String {
        guard case .local = self else { return instant.shortText }
        let offset = Self.offset(at: instant)
        let local = Instant(milliseconds: instant.milliseconds + Int64(offset) * 1000).shortText
        let minutes = abs(offset) / 60
        func twoDigits(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let rest = minutes % 60 == 0 ? "" : ":" + twoDigits(minutes % 60)
        return "\(local)\(offset < 0 ? "-" : "+")\(twoDigits(minutes / 60))\(rest)"
    }

    /// Seconds east of UTC.
    private static func offset(at instant: Instant) -> Int {
        var seconds = time_t((Double(instant.milliseconds) / 1000).rounded(.down))
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }
}
