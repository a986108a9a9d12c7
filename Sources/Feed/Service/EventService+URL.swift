extension EventService {
    public struct Question: Sendable {
        /// Origin times; the end is exclusive. Without a beginning, the USGS would look at the last 30 days only.
        public var since: Instant
        /// nil means up to now.
        public var until: Instant?
        /// Only events that were revised, or deleted, after this time.
        public var updatedAfter: Instant?
        public var minimumMagnitude: Double?
        /// Whether only deleted events are asked for. Together with the others, the USGS's service takes minutes for them. Their rows
        /// have no type, so the question must not name one.
        public var isOfDeletions = false

        public init(since: Instant = Self.beginning, until: Instant? = nil, updatedAfter: Instant? = nil) {
            (self.since, self.until, self.updatedAfter) = (since, until, updatedAfter)
        }

        /// Before the first event of any catalogue.
        public static let beginning = Instant(milliseconds: -30_610_224_000_000)

        fileprivate var parameters: String {
            var text = "&starttime=\(since.withoutZone)"
            // The standard's windows have their end, and its times have microseconds.
            if let until { text += "&endtime=\((until - 1).withoutZone)999" }
            if let updatedAfter { text += "&updatedafter=\(updatedAfter.withoutZone)" }
            if let minimumMagnitude { text += "&minmagnitude=\(minimumMagnitude)" }
            if isOfDeletions { text += "&includedeleted=only" }
            return text
        }
    }

    public static func isQuery(_ source: FeedSource) -> Bool {
        source.eventQuery != nil
    }

    /// The URL of the events, the oldest first.
    public func queryURL(of question: Question) -> String {
        let limit = abilities.contains(.limits) ? "&limit=\(limit)" : ""
        return "\(url)query?format=\(format)\(question.parameters)&orderby=time-asc\(limit)"
    }

    public func countURL(of question: Question) -> String {
        "\(url)count?format=text\(question.parameters)"
    }
}

extension Instant {
    /// As the standard has it, which knows no zone but UTC: the ISC refuses a `Z`.
    fileprivate var withoutZone: Substring { description.dropLast() }
}
