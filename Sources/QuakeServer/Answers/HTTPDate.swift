import Feed
import Glibc

extension Instant {
    /// The date as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
    var httpDate: String {
        var (seconds, parts) = (time_t(milliseconds.divided(by: 1000).whole), tm())
        gmtime_r(&seconds, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { text in
            strftime(text.baseAddress!, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(cString: text.baseAddress!)
        }
    }
}
