import Glibc
import NIOHTTP1

/// What the fields of a response's head say.
extension HTTPHeaders {
    var validators: Validators? {
        let validators = Validators(etag: first(name: "etag"), lastModified: first(name: "last-modified"))
        return validators == Validators() ? nil : validators
    }

    /// How long the response stays fresh (RFC 9111, sections 4.2 and 5.2.2); nil when it does not say.
    var freshFor: Duration? {
        let directives = self[canonicalForm: "cache-control"].map {
            $0.split(separator: "=", maxSplits: 1).map(\.trimmed)
        }
        if directives.contains(where: { ["no-cache", "no-store"].contains($0.first?.lowercased()) }) {
            return .zero
        }
        let ages = directives.filter { $0.first?.lowercased() == "max-age" }.map {
            $0.last.flatMap { deltaSeconds($0.filter { $0 != "\"" }) } ?? 0
        }
        let age = first(name: "age").flatMap(deltaSeconds) ?? 0
        return ages.min().map { .seconds($0 < age ? 0 : $0 - age) }
    }

    /// How long the server asks to be left alone (RFC 9110, section 10.2.3). A date is taken relative to the server's
    /// own clock when the response tells it.
    var retryAfter: Duration? {
        guard let text = first(name: "retry-after")?.trimmed else { return nil }
        if let seconds = deltaSeconds(text) { return .seconds(seconds) }
        guard let date = secondsSince1970(httpDate: text) else { return nil }
        let now = first(name: "date").flatMap { secondsSince1970(httpDate: $0.trimmed) } ?? time(nil)
        return .seconds(date < now ? 0 : date - now)
    }

    /// The content codings besides gzip, which is recognised by its bytes; and more than one.
    var unknownContentEncoding: String? {
        let codings = self[canonicalForm: "content-encoding"].map { $0.lowercased() }.filter {
            !$0.isEmpty && $0 != "identity"
        }
        return codings.count > 1 || codings.contains { $0 != "gzip" && $0 != "x-gzip" }
            ? codings.joined(separator: ", ") : nil
    }
}

/// Too large a number is 2³¹ (RFC 9111, section 1.2.2).
private func deltaSeconds(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return min(Int(text) ?? .max, 1 << 31)
}

/// A date in any of the three forms that a recipient must take (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
func secondsSince1970(httpDate text: String) -> Int? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    var words = text.split { " ,-".contains($0) }
    guard words.count == 5 || (words.count == 6 && words.removeLast() == "GMT") else { return nil }
    if let month = months.firstIndex(where: { $0 == words[1] }), words.count == 5 {
        words = [words[0], words[2], Substring(months[month]), words[4], words[3]]
    }
    let clock = words[4].split(separator: ":", omittingEmptySubsequences: false).map(deltaSeconds)
    guard let day = deltaSeconds(words[1]), (1...31).contains(day),
        let month = months.firstIndex(where: { $0 == words[2] }),
        let year = deltaSeconds(words[3]), year < 10_000,
        clock.count == 3, let hour = clock[0], hour < 24, let minute = clock[1], minute < 60,
        let second = clock[2], second <= 60
    else { return nil }
    // Two digits of a year: none is ever told that lies far ahead.
    let century = words[3].count > 2 ? 0 : year < 70 ? 2000 : 1900
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(century + year - 1900), Int32(month), Int32(day))
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
    return timegm(&parts)
}

extension StringProtocol {
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
