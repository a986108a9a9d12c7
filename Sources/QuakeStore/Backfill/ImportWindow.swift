import Feed

/// One window of a backfill, as the importer needs it.
public struct ImportWindow: Sendable {
    /// The name under which the run is recorded.
    let name: String
    /// What the history names as the feed that showed an event to be withdrawn.
    let feed: String
    /// The origin times for which the document has every event; nil when small events are left out.
    let times: ClosedRange<Instant>?
    /// A document with this many features may have been cut off.
    let limit: Int

    func identity(_ metadata: FeedMetadata, of source: FeedSource, features: Int) -> FeedIdentity? {
        guard features < limit, let generated = metadata.generated,
            let service = FeedIdentity.host(of: metadata.url) ?? FeedIdentity.host(of: "\(source)")
        else { return nil }
        return FeedIdentity(service: service, name: feed, generated: generated, window: times)
    }
}
