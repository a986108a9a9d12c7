/// Which feed a document is and when it was generated, according to the document itself: a file's name proves nothing,
/// because the file may be a copy.
public struct FeedIdentity: Sendable, Equatable {
    /// The service whose events the feed contains: its host in lower case, without the port.
    public let service: String
    /// The feed's name, such as `all_day`.
    public let name: String
    public let generated: Instant
    /// The origin times for which the document has every event of its service; nil for a feed that leaves out small
    /// events.
    public let window: ClosedRange<Instant>?

    public init(service: String, name: String, generated: Instant, window: ClosedRange<Instant>?) {
        (self.service, self.name, self.generated, self.window) = (service, name, generated, window)
    }

    /// Recognises only the summary feeds, by their URL (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php);
    /// nil for any other document.
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

    /// The feed's period in milliseconds; nil for a feed with a minimum magnitude.
    private static func period(of name: String) -> Int64? {
        let day: Int64 = 86_400_000
        return ["all_hour": day / 24, "all_day": day, "all_week": 7 * day, "all_month": 30 * day][name]
    }
}
