import Feed

/// The paths that the server serves. Each path has a name for the metrics.
enum Route: Sendable {
    case health
    case metrics
    /// A summary feed, such as `all_day.geojson`.
    case summary(SummaryFeed)
    /// The detail document of the event with this code, if its agency is in the scope.
    case detail(String, Agency?)
    case coverage
    case changes
    /// The history of the event with this code.
    case history(String)
    /// A path of the event service, without `/fdsnws/event/1/` in front.
    case event(String)
    /// The page, either for a whole window or for a frame in another site.
    case index(isFramed: Bool)
    case page(PageFile, isVersioned: Bool)
    case unknown

    init(path: String) {
        let feeds = "/earthquakes/feed/v1.0/"
        self =
            if path == "/health" {
                .health
            } else if path == "/metrics" {
                .metrics
            } else if let feed = Self.summaryFeed(path, below: "\(feeds)summary/") {
                .summary(feed)
            } else if let (agency, text) = path.between("\(feeds)detail/", ".geojson")?.scoped,
                let code = text.percentDecoded
            {
                .detail(code, agency)
            } else if path == "/coverage" {
                .coverage
            } else if path == "/changes" {
                .changes
            } else if let code = path.between("/history/", "")?.percentDecoded {
                .history(code)
            } else if path.hasPrefix(EventAPI.path) || "\(path)/" == EventAPI.path {
                .event(String(path.dropFirst(EventAPI.path.count)))
            } else if path == "/" || path == "/embed" {
                .index(isFramed: path == "/embed")
            } else if let (file, isVersioned) = PageFile.at(path) {
                .page(file, isVersioned: isVersioned)
            } else {
                .unknown
            }
    }

    private static func summaryFeed(_ path: String, below folder: String) -> SummaryFeed? {
        SummaryFeed.Form.endings.lazy.compactMap { ending, form in
            path.between(folder, ending).flatMap { SummaryFeed($0.scoped.rest, form, of: $0.scoped.agency) }
        }.first
    }

    var name: String {
        switch self {
        case .health: "health"
        case .metrics: "metrics"
        case .summary: "summary"
        case .detail: "detail"
        case .coverage: "coverage"
        case .changes: "changes"
        case .history: "history"
        case .event: "event"
        case .index, .page: "page"
        case .unknown: "unknown"
        }
    }
}

/// The path and the query of a request's target.
struct Target {
    let path: String
    /// The text after the question mark; nil if there is no question mark.
    let query: String?

    /// Reads the origin form `/path?query`, and the absolute form `http://host/path?query` (RFC 9112, 3.2).
    ///
    /// - Parameter basePath: the prefix of all paths. It may be missing, because a proxy may have removed it.
    init(_ text: String, below basePath: String) {
        var rest = text.utf8[...]
        if rest.first != UInt8(ascii: "/"), let match = text.prefixMatch(of: #/(?i:https?):\/\/[^\/?]*/#) {
            rest = text[match.range.upperBound...].utf8
        }
        let parts = rest.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].isEmpty ? "/" : String(Substring(parts[0]))
        self.path = path.below(basePath) ?? path
        query = parts.count > 1 ? String(Substring(parts[1])) : nil
    }
}

extension String {
    /// The text between a prefix and a suffix; nil if one of them is missing, or if the text is empty.
    fileprivate func between(_ prefix: String, _ suffix: String) -> String? {
        guard utf8.count > prefix.utf8.count + suffix.utf8.count, hasPrefix(prefix), hasSuffix(suffix) else {
            return nil
        }
        return String(dropFirst(prefix.count).dropLast(suffix.count))
    }

    /// The agency and the rest of a feed's path below the feeds' folder. The path may begin with the name of an agency, as in
    /// `gfz/all_day`, or with `all`, for which the agency is nil; otherwise the agency is the USGS.
    fileprivate var scoped: (agency: Agency?, rest: String) {
        let parts = split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return (.usgs, self) }
        if parts[0] == "all" { return (nil, parts[1]) }
        return Agency.named(parts[0]).map { ($0, parts[1]) } ?? (.usgs, self)
    }

    /// The path without the base path in front. nil if the path does not begin with the base path, or if the server has a route
    /// for the path as it is.
    fileprivate func below(_ base: String) -> String? {
        guard !base.isEmpty, hasPrefix(base) else { return nil }
        let rest = dropFirst(base.count)
        guard rest.isEmpty || rest.first == "/" else { return nil }
        if case .unknown = Route(path: self) { return rest.isEmpty ? "/" : String(rest) }
        return nil
    }

    /// The text without its percent encoding. nil if the encoding is invalid, the bytes are not UTF-8, or the text contains a
    /// NUL.
    fileprivate var percentDecoded: String? {
        guard let bytes = utf8[...].percentDecoded(), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
