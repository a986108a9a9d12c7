public enum FeedSource: Sendable, Hashable {
    case standardInput
    case file(String)
    /// An http or https URL.
    case url(String)

    /// The summary feeds of the USGS by name, such as `all_day` or `2.5_week`
    /// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).
    public static let summaryFeeds: [String] = ["significant", "4.5", "2.5", "1.0", "all"].flatMap {
        magnitude in
        ["hour", "day", "week", "month"].map { "\(magnitude)_\($0)" }
    }

    private static let summaryFolder = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/"

    /// Reads `-`, the name of a summary feed or of an event service, an http(s) URL, or else a path. A file with
    /// the name of a feed is written `./all_day`.
    public init(_ argument: String) {
        if argument == "-" {
            self = .standardInput
        } else if Self.summaryFeeds.contains(argument) {
            self = .url("\(Self.summaryFolder)\(argument).geojson")
        } else if let service = EventService.registered.first(where: { $0.name == argument }) {
            self = service.source
        } else if ["http://", "https://"].contains(where: { argument.lowercased().utf8.starts(with: $0.utf8) }
        ) {
            // A missing slash is added, so that an event service has the same name with and without it.
            self = .url(
                argument.wholeMatch(of: #/[^?\#]*/fdsnws/event/\d+/#) == nil ? argument : argument + "/")
        } else {
            self = .file(argument)
        }
    }

    /// The host in lower case; nil for anything but a URL.
    public var host: String? {
        if case .url(let url) = self { FeedIdentity.host(of: url) } else { nil }
    }

    /// Whether its name leaves out parameters of the URL. If so, other sources may have the same name.
    public var hidesParameters: Bool {
        if case .url(let url) = self { SourceName(url).hidesParameters } else { false }
    }

    /// The query of a URL of an FDSN event service; nil for any other source.
    package var eventQuery: Substring? {
        guard case .url(let url) = self else { return nil }
        return url.wholeMatch(of: #/[^?\#]*/fdsnws/event/\d+/query(?:\?([^\#]*))?(?:\#.*)?/#)
            .map { $0.1 ?? "" }
    }

    /// The name of a summary feed of the USGS or of an event service, such as `all_day` or `usgs`; nil for any other source.
    public var shortName: String? {
        guard case .url(let url) = self else { return nil }
        if let service = EventService(self)?.name { return service }
        return Self.summaryFeeds.first { url == "\(Self.summaryFolder)\($0).geojson" }
    }
}

/// The source as text. A URL is written without its secrets: see `SourceName`.
extension FeedSource: CustomStringConvertible {
    public var description: String {
        switch self {
        case .standardInput: "-"
        case .file(let path): path
        case .url(let url): "\(SourceName(url))"
        }
    }
}

extension String {
    /// `https://user:password@host/…` becomes `https://host/…`.
    var withoutUserInfo: String {
        guard let range = userInfoRange else { return self }
        return String(self[..<range.lowerBound] + self[unicodeScalars.index(after: range.upperBound)...])
    }

    /// The user and the password of a URL, percent escapes resolved.
    package var userInfo: (user: String, password: String)? {
        guard let range = userInfoRange else { return nil }
        let parts = self[range].unicodeScalars
            .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(Substring.init)
        return (parts[0].unescaped(by: "%"), parts.count > 1 ? parts[1].unescaped(by: "%") : "")
    }

    /// The text between `://` and the `@`. A password with an unescaped slash makes a URL invalid, but it must not be shown
    /// either. So if the text after the colon is not a port number, everything up to the last `@` counts as a secret.
    ///
    /// The text is read by scalars, so that a combining mark does not hide the `@` or `?` before it.
    private var userInfoRange: Range<Index>? {
        guard let scheme = unicodeScalars.firstRange(of: "://".unicodeScalars) else { return nil }
        let rest = unicodeScalars[scheme.upperBound...]
        let authority = rest.prefix { !"/?#".unicodeScalars.contains($0) }
        if let at = authority.lastIndex(of: "@") { return rest.startIndex..<at }
        guard authority.last != "]", let colon = authority.lastIndex(of: ":"),
            !authority[colon...].dropFirst().allSatisfy({ ("0"..."9").contains($0) }),
            let at = rest.lastIndex(of: "@")
        else { return nil }
        return rest.startIndex..<at
    }
}
