import Feed
import Foundation

// The rules of the zones are Foundation's, and are part of the program. If a country changes its rules, a new build of Quakes is
// needed.
extension TimeZone {
    /// The local date and time at `moment`, as an instant: formatted in UTC, it shows what a clock in the zone shows.
    func localTime(at moment: Instant) -> Instant {
        moment + offset(moment.milliseconds.divided(by: 1000).whole) * 1000
    }

    /// Such as `UTC`, `UTC+9` or `UTC-3:30`. Foundation's abbreviations are not used, because they depend on the locale.
    func offsetText(at moment: Instant) -> String {
        let minutes = offset(moment.milliseconds.divided(by: 1000).whole) / 60
        guard minutes != 0 else { return "UTC" }
        let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
        let text = "UTC\(minutes < 0 ? "-" : "+")\(hours)"
        return rest == 0 ? text : "\(text):\(rest < 10 ? "0" : "")\(rest)"
    }

    /// The first moment of this day at which a clock in the zone shows this time of day or a later one.
    ///
    /// When clocks are put back, some times of day occur twice: the first one is returned. When clocks are put forward, some
    /// times do not occur: the moment of the change is returned.
    func moment(day: Int64, minute: Int) -> Instant {
        let local = day * 86_400 + Int64(minute) * 60
        // All offsets are shorter than a day, and there is at most one change between these two moments.
        let earlier = offset(local - 86_400)
        let later = offset(local + 86_400)
        let candidates = [earlier, later].sorted(by: >).map { local - $0 }
        for seconds in candidates where seconds + offset(seconds) == local {
            return Instant(milliseconds: seconds * 1000)
        }
        // The time does not occur on this day. The change is between the two candidates.
        var (low, high) = (candidates[0], max(candidates[0], candidates[1]))
        while low < high {
            let middle = (low + high).divided(by: 2).whole
            if middle + offset(middle) >= local { high = middle } else { low = middle + 1 }
        }
        return Instant(milliseconds: low * 1000)
    }

    /// Seconds east of UTC.
    /// - Parameter seconds: since 1970.
    private func offset(_ seconds: Int64) -> Int64 {
        Int64(secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }
}
