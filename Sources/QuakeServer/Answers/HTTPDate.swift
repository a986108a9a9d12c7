import Feed

extension Instant {
    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
    var httpDate: String {
        let (days, time) = milliseconds.divided(by: 1000).whole.divided(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        func two(_ number: some BinaryInteger) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekday = weekdays[Int(days.divided(by: 7).rest)]
        let clock = "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))"
        return "\(weekday), \(two(date.day)) \(months[date.month - 1]) \(date.year) \(clock) GMT"
    }
}
