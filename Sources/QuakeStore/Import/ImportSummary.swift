import Feed

/// One import from its beginning to its end. The counts are what was committed.
public struct ImportSummary: Sendable {
    public enum Outcome: String, Sendable {
        case done, failed, cancelled
        /// The server says that the feed is what was imported last.
        case notModified = "not_modified"
    }

    /// The run's number in `import.run`; nil for a dry run.
    public var run: Int?
    public var source: FeedSource
    /// Which feed the document says it is.
    public var feed: String?
    /// When it was made, by its own account.
    public var generated: Instant?
    /// How long its server promises no news.
    public var freshFor: Duration?
    public var outcome = Outcome.done
    public var counts = ImportCounts()
    /// History tokens of the run's first and last transaction that changed something.
    public var tokens: ClosedRange<Int>?
    public var duration = Duration.zero
    /// Why the outcome is not `done`.
    public var failure: (any Error)?
}
