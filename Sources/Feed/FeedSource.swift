/// Where a feed comes from.
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

    /// Reads `-`, the name of a summary feed, an http(s) URL, or else a path. A file that is named like a feed is
    /// written `./all_day`.
    public init(_ argument: String) {
        if argument == "-" {
            self = .standardInput
        } else if Self.summaryFeeds.contains(argument) {
            self = .url("https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/\(argument).geojson")
        } else if argument.hasPrefix("http://") || argument.hasPrefix("https://") {
            self = .url(argument)
        } else {
            self = .file(argument)
        }
    }
}

/// How a source is named in messages, logs and `import.run`: a URL without its password.
extension FeedSource: CustomStringConvertible {
    public var description: String {
        switch self {
        case .standardInput: "-"
        case .file(let path): path
        case .url(let url): url.withoutUserInfo
        }
    }
}

extension String {
    /// `https://user:password@host/…` becomes `https://host/…`.
    fileprivate var withoutUserInfo: String {
        guard let scheme = firstRange(of: "://") else { return self }
        let authorityEnd = self[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? endIndex
        guard let at = self[scheme.upperBound..<authorityEnd].lastIndex(of: "@") else { return self }
        return String(self[..<scheme.upperBound] + self[index(after: at)...])
    }
}
