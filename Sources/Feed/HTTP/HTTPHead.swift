import CCurl
import Glibc

struct HTTPHead: Sendable {
    let status: Int
    /// Such as `404 Not Found`.
    let statusText: String
    private let fields: [(name: String, value: String)]

    init(status: Int, line: String, fields: [(name: String, value: String)]) {
        self.status = status
        self.fields = fields.map { ($0.name.lowercased(), $0.value.trimmed) }
        let words = line.drop { $0 != " " }.filter { $0.isASCII && !$0.isNewline && $0 >= " " }
        statusText = words.prefix(80).trimmed
    }

    /// The name is in lower case.
    subscript(name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    private func list(_ name: String) -> [String] {
        self[name].flatMap { $0.split(separator: ",").map(\.trimmed) }.filter { !$0.isEmpty }
    }

    var validators: Validators? {
        let validators = Validators(etag: self["etag"].first, lastModified: self["last-modified"].first)
        return validators == Validators() ? nil : validators
    }

    /// How long the response stays fresh (RFC 9111, sections 4.2 and 5.2.2); nil if it does not say.
    var freshFor: Duration? {
        let directives = list("cache-control").map {
            $0.split(separator: "=", maxSplits: 1).map(\.trimmed)
        }
        if directives.contains(where: { ["no-cache", "no-store"].contains($0.first?.lowercased()) }) {
            return .zero
        }
        let ages = directives.filter { $0.first?.lowercased() == "max-age" }.map {
            $0.last.flatMap { deltaSeconds($0.filter { $0 != "\"" }) } ?? 0
        }
        let age = self["age"].first.flatMap(deltaSeconds) ?? 0
        return ages.min().map { .seconds($0 < age ? 0 : $0 - age) }
    }

    /// How long the server asks clients to wait (RFC 9110, section 10.2.3). A date counts from the server's own clock,
    /// if the response has a `Date`.
    var retryAfter: Duration? {
        guard let text = self["retry-after"].first else { return nil }
        if let seconds = deltaSeconds(text) { return .seconds(seconds) }
        guard let date = secondsSince1970(text) else { return nil }
        let now = self["date"].first.flatMap(secondsSince1970) ?? time(nil)
        return .seconds(date < now ? 0 : date - now)
    }

    /// The content encodings, if there are several or any but gzip. Gzip is recognised by its bytes.
    var unknownContentEncoding: String? {
        let codings = list("content-encoding").map { $0.lowercased() }.filter { $0 != "identity" }
        return codings.count > 1 || codings.contains { $0 != "gzip" && $0 != "x-gzip" }
            ? codings.joined(separator: ", ") : nil
    }
}

/// A number that is too large counts as 2³¹ (RFC 9111, section 1.2.2).
private func deltaSeconds(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
    return min(Int(text) ?? .max, 1 << 31)
}

/// A date in one of the three forms that a recipient must accept (RFC 9110, section 5.6.7), or in a similar one.
private func secondsSince1970(_ text: String) -> Int? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : seconds
}

extension StringProtocol {
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
