extension EventService {
    public struct Question: Sendable {
        /// The earliest origin time. Without it, the USGS would return only events of the last 30 days.
        public var since: Instant
        /// The end of the range of origin times, exclusive; nil for now.
        public var until: Instant?
        /// Selects only events that were revised, or deleted, after this time.
        public var updatedAfter: Instant?
        public var minimumMagnitude: Double?
        /// Whether to ask only for deleted events. The USGS's service would take minutes to answer one request for both deleted
        /// and existing events. Deleted events have no type, so such a request must not select a type.
        public var isOfDeletions = false

        public init(since: Instant = Self.beginning, until: Instant? = nil, updatedAfter: Instant? = nil) {
            (self.since, self.until, self.updatedAfter) = (since, until, updatedAfter)
        }

        /// A moment before the first event of any catalogue.
        public static let beginning = Instant(milliseconds: -30_610_224_000_000)

        fileprivate var parameters: String {
            var text = "&starttime=\(since.withoutZone)"
            // In the standard, the end of a window is inclusive, and times have microseconds.
            if let until { text += "&endtime=\((until - 1).withoutZone)999" }
            if let updatedAfter { text += "&updatedafter=\(updatedAfter.withoutZone)" }
            if let minimumMagnitude { text += "&minmagnitude=\(minimumMagnitude)" }
            if isOfDeletions { text += "&includedeleted=only" }
            return text
        }
    }

    /// The URL of the events, the oldest first.
    public func queryURL(of question: Question) -> String {
        let limit = abilities.contains(.limits) ? "&limit=\(limit)" : ""
        return "\(url)query?format=\(format)\(question.parameters)&orderby=time-asc\(limit)"
    }

    package func countURL(of question: Question) -> String {
        "\(url)count?format=text\(question.parameters)"
    }

    /// Asks the service how many events there are.
    ///
    /// - Returns: nil if the answer is not a number.
    /// - Throws: `FeedError`, `CancellationError`.
    public func count(of question: Question, options: FetchOptions) async throws -> Int? {
        var bytes: [UInt8] = []
        do {
            bytes = try await FeedSource.url(countURL(of: question))
                .beginning(Self.longestCount + 1, options: options)
        } catch let failure as FeedError where failure.status == 204 {
            return 0
        }
        guard bytes.count <= Self.longestCount else { return nil }
        return String(decoding: bytes, as: UTF8.self)
            .firstMatch(of: #/^\s*(?:\{\s*"count"\s*:\s*)?(\d{1,12})/#).flatMap { Int($0.1) }
    }

    private static let longestCount = 1000
}

extension Instant {
    /// The time without `Z`. The standard has no zone but UTC, and the ISC refuses a `Z`.
    fileprivate var withoutZone: Substring { description.dropLast() }
}
