/// Which feed a document is and when it was made, by its own account: not by the name of a file, which may be a copy.
public struct FeedIdentity: Sendable, Equatable {
    /// The host in lower case, without its port: the service whose events the feed tells.
    public let service: String
    /// Such as `all_day`.
    public let name: String
    public let generated: Instant
    /// The origin times of which the document has every event of its service; nil for a feed that leaves out small
    /// ones.
    public let window: ClosedRange<Instant>?

    public init(service: String, name: String, generated: Instant, window: ClosedRange<Instant>?) {
        (self.service, self.name, self.generated, self.window) = (service, name, generated, window)
    }

    /// Only the summary feeds are known by their URL
    /// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php); nil for any other document.
    public init?(_ metadata: FeedMetadata) {
        guard let generated = metadata.generated, let url = metadata.url,
            let match = url.wholeMatch(
                of: #/(?i:https?)://([^/?\#@:]+)(?::\d+)?/(?:[^?\#]*/)?summary/([a-z0-9._]+)\.geojson/#),
            FeedSource.summaryFeeds.contains(String(match.2))
        else { return nil }
        service = match.1.lowercased()
        name = String(match.2)
        self.generated = generated
        window = Self.period(of: name).map { Instant(milliseconds: generated.milliseconds - $0)...generated }
    }

    /// The host of an http or https URL, in lower case and without its port.
    public static func host(of url: String?) -> String? {
        url?.prefixMatch(of: #/(?i:https?)://(?:[^/?\#@]*@)?([^/?\#:]+)/#)?.1.lowercased()
    }

    /// In milliseconds; nil for a feed with a least magnitude.
    private static func period(of name: String) -> Int64? {
        let day: Int64 = 86_400_000
        return ["all_hour": day / 24, "all_day": day, "all_week": 7 * day, "all_month": 30 * day][name]
    }
}
