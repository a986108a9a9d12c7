import Feed

/// A window of a backfill, for the importer.
public struct ImportWindow: Sendable {
    /// How the run is named.
    let name: String
    /// How history names what told that an event was withdrawn.
    let feed: String
    /// The origin times of which the document has every event; nil when small ones are left out.
    let times: ClosedRange<Instant>?
    /// A document with so many features may have been cut off.
    let limit: Int

    func identity(_ metadata: FeedMetadata, of source: FeedSource, features: Int) -> FeedIdentity? {
        guard features < limit, let generated = metadata.generated,
            let service = FeedIdentity.host(of: metadata.url) ?? FeedIdentity.host(of: "\(source)")
        else { return nil }
        return FeedIdentity(service: service, name: feed, generated: generated, window: times)
    }
}
