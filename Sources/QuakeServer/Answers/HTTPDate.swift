import Feed

extension Instant {
    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
    var httpDate: String {
        let days = milliseconds.divided(by: 86_400_000).whole
        let date = CivilDate(daysSince1970: days)
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekday = weekdays[Int(days.divided(by: 7).rest)]
        // 1994-11-06 08:49:37
        let text = shortText
        let (day, clock) = (text.dropLast(9).suffix(2), text.suffix(8))
        return "\(weekday), \(day) \(months[date.month - 1]) \(date.year) \(clock) GMT"
    }
}
