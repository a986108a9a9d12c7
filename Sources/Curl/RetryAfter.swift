import CCurl
import Glibc

/// How long a response asks clients to wait (RFC 9110, section 10.2.3); nil if `text` is neither a number nor a date.
///
/// - Parameters:
///   - text: the value of the field `Retry-After`: a number of seconds, or a date.
///   - date: the value of the field `Date`: the time of the server's clock. If the field is missing, this machine's clock is
///     used.
package func retryAfter(_ text: String, date: String?) -> Duration? {
    if let seconds = deltaSeconds(text) { return .seconds(seconds) }
    guard let end = secondsSince1970(text) else { return nil }
    let now = date.flatMap(secondsSince1970) ?? time(nil)
    return .seconds(end < now ? 0 : end - now)
}

/// Reads a number of seconds. A number that is too large counts as 2³¹ (RFC 9111, section 1.2.2).
package func deltaSeconds(_ text: some StringProtocol) -> Int? {
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return isNumber ? min(Int(text) ?? .max, 1 << 31) : nil
}

/// Reads a date in one of the three forms that a recipient must accept (RFC 9110, section 5.6.7), or in a similar form.
private func secondsSince1970(_ text: String) -> Int? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : seconds
}
