import Curl

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

    /// The values of a field. The name has to be in lower case.
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

    /// The time that the server asks clients to wait.
    var retryAfter: Duration? {
        self["retry-after"].first.flatMap { Curl.retryAfter($0, date: self["date"].first) }
    }

    /// The content encodings if they are not supported: several, or one other than gzip. nil otherwise. Gzip is recognised by the
    /// content's bytes.
    var unknownContentEncoding: String? {
        let codings = list("content-encoding").map { $0.lowercased() }.filter { $0 != "identity" }
        return codings.count > 1 || codings.contains { $0 != "gzip" && $0 != "x-gzip" }
            ? codings.joined(separator: ", ") : nil
    }
}

extension StringProtocol {
    /// The text without white space at its ends.
    package var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
