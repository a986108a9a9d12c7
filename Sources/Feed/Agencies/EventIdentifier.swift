/// The identifier of an event in a document, and its parts.
///
/// A public id, such as `smi:ch.ethz.sed/sc25a/Event/2026tjhylr`, names its authority. Any other identifier has none.
struct EventIdentifier {
    /// The part of a public id between the scheme and the id, such as `ch.ethz.sed/sc25a/Event`; empty for any other identifier.
    let authority: String
    /// The id within the authority, such as `2026tjhylr`, or `46744251` in `smi:…/query?eventId=46744251`.
    let id: String
    /// The text from after `owner` to the end of the id, such as `sc25a/Event/2026tjhylr`. If the id is in a query, `path` is the
    /// id.
    let path: String
    /// The host, if the identifier is the address of an event at a service: `smi:HOST/fdsnws/event/1/query?eventid=ID`.
    var host: String?

    /// The first part of the authority, in lower case, such as `ch.ethz.sed`.
    var owner: String { authority.prefix { $0 != "/" }.lowercased() }

    init(_ text: String) {
        let scheme = ["smi:", "quakeml:"].first { text.hasPrefix($0) }
        guard let scheme, text.utf8.count > scheme.utf8.count else {
            (authority, id, path) = ("", text, text)
            return
        }
        let rest = text.dropFirst(scheme.count)
        if let named = Self.idBehindMark(in: rest) {
            (authority, id, path) = (String(rest.prefix { $0 != "?" }), named, named)
            host = Self.host(of: rest)
            return
        }
        let parts = rest.split(separator: "/")
        // ObsPy gives such ids to events from other formats: `smi:local/ndk/M010176A/event`.
        let isNamedBefore = parts.count > 2 && parts.last == "event"
        guard let last = isNamedBefore ? parts[parts.count - 2] : parts.last else {
            (authority, id, path) = ("", text, text)
            return
        }
        authority = String(rest[..<last.startIndex].drop(while: { $0 == "/" }))
        id = String(last)
        path = parts.count > 1 ? String(rest[parts[1].startIndex..<last.endIndex]) : id
    }

    private static func idBehindMark(in text: Substring) -> String? {
        let lowercased = text.utf8.map(\.asciiLowercased)
        for mark in ["eventid=", "evid="] {
            guard let found = lowercased.firstRange(of: mark.utf8) else { continue }
            let start = text.utf8.index(text.startIndex, offsetBy: found.upperBound)
            let id = text[start...].prefix { !"&;".contains($0) }
            if !id.isEmpty { return String(id) }
        }
        return nil
    }

    /// The host of `HOST/fdsnws/event/1/query?…`, in lower case; nil for any other text. The function is called for every event,
    /// so a regular expression would take most of the time of an import.
    private static func host(of text: Substring) -> String? {
        let host = text.utf8.prefix { $0.isAlphanumeric || "-.".utf8.contains($0) }
        guard text.utf8[host.endIndex...].starts(with: "/fdsnws/event/1/query?".utf8),
            let dot = host.lastIndex(of: UInt8(ascii: ".")), dot > host.startIndex
        else { return nil }
        let domain = host[dot...].dropFirst()
        guard domain.count >= 2, domain.allSatisfy({ $0.isAlphanumeric && !$0.isDigit }) else { return nil }
        return Substring(host).lowercased()
    }
}
