import Feed

/// One window of a backfill or a verification, described for the importer.
public struct ImportWindow: Sendable {
    let name: String
    let range: Range<Instant>
    /// Whether events below a minimum magnitude are left out.
    let isPartial: Bool
    /// How many events the service counts in the window; nil if it does not count. A document with fewer features was cut off.
    let count: Int?
    /// A document with this many features may have been cut off.
    let limit: Int
    /// Whether the import is a repair. A repair also replaces the events that, according to `Verification`, have a later version
    /// in the table than in the service.
    var isRepair = false
    /// When the request was made. An answer that does not say when it was made counts as made at this time.
    let asked = Instant.now

    func identity(_ metadata: FeedMetadata, of source: FeedSource, features: Int) -> FeedIdentity? {
        guard features >= promised(metadata), features < limit,
            let service = FeedIdentity.host(of: metadata.url) ?? FeedIdentity.host(of: "\(source)")
        else { return nil }
        // This name is part of the reason that the history records when a withdrawn event is deleted.
        let feed = "\(isRepair ? "verify" : "backfill") \(range.lowerBound)/\(range.upperBound)"
        let times = isPartial ? nil : range.lowerBound...range.last
        return FeedIdentity(
            service: service, name: feed, generated: metadata.generated ?? asked, window: times)
    }

    /// Makes the run fail if the answer has fewer features than the service or the answer itself counts.
    ///
    /// - Throws: `ShortAnswer`.
    func check(_ metadata: FeedMetadata, given: Int) throws {
        let counted = promised(metadata)
        guard given < counted else { return }
        throw ShortAnswer(
            window: range, given: given, counted: counted, asFor: isRepair ? .verification : .backfill)
    }

    private func promised(_ metadata: FeedMetadata) -> Int { max(count ?? 0, metadata.count ?? 0) }
}

extension Range<Instant> {
    /// The range's last millisecond, for event services, which include the end of a range.
    var last: Instant { upperBound - 1 }
}

/// An event service gave fewer events of a window than it counts in the window. A backfill or a sweep has imported these events,
/// and has deleted nothing.
public struct ShortAnswer: Error, Equatable, CustomStringConvertible {
    public let window: Range<Instant>
    public let given: Int
    public let counted: Int
    let asFor: UnfitService.Purpose

    public var description: String {
        let imported = "these were imported, and nothing was deleted"
        let end =
            switch asFor {
            case .backfill:
                "\(imported); run the same command again at another time, or ask for fewer at once with --per-request"
            case .sweep: "\(imported); the next sweep asks for all of them again"
            case .verification: "run the same command again at another time"
            }
        return
            "the service counts \(counted) events from \(window.lowerBound) to \(window.upperBound), but gives \(given); \(end)"
    }
}
