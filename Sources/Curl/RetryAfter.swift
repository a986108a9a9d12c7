import CCurl
import Glibc

/// How long a response asks clients to wait (RFC 9110, section 10.2.3); nil if it does not say.
///
/// - Parameters:
///   - text: of the field `Retry-After`: seconds, or a date.
///   - date: that of the field `Date`. A date counts from the server's own clock, if it tells it.
package func retryAfter(_ text: String, date: String?) -> Duration? {
    if let seconds = deltaSeconds(text) { return .seconds(seconds) }
    guard let end = secondsSince1970(text) else { return nil }
    let now = date.flatMap(secondsSince1970) ?? time(nil)
    return .seconds(end < now ? 0 : end - now)
}

/// A number that is too large counts as 2³¹ (RFC 9111, section 1.2.2).
package func deltaSeconds(_ text: some StringProtocol) -> Int? {
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return isNumber ? min(Int(text) ?? .max, 1 << 31) : nil
}

/// A date in one of the three forms that a recipient must accept (RFC 9110, section 5.6.7), or in a similar one.
private func secondsSince1970(_ text: String) -> Int? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : seconds
}
