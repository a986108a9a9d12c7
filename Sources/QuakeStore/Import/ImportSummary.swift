import Feed

/// The result of one import. The counts include only what was committed.
public struct ImportSummary: Sendable {
    public enum Outcome: String, Sendable {
        case done, failed, cancelled
        /// The server says that the feed has not changed since its last successful import.
        case notModified = "not_modified"
    }

    /// nil for a dry run.
    public var run: Int?
    public var source: FeedSource
    /// The URL and the time that the document states.
    public var feed: String?
    public var generated: Instant?
    /// Up to when an event service has been swept; nil if the cursor did not move, and for any other source.
    public var cursor: Instant?
    public var outcome = Outcome.done
    public var counts = ImportCounts()
    /// The history tokens of the first and the last transaction in which the run changed anything.
    public var tokens: ClosedRange<Int>?
    public var duration = Duration.zero
    /// Why the outcome is not `done`.
    public var failure: (any Error)?
    /// The fault of a document that was imported.
    public var warning: String?
    /// nil if the server failed.
    var result: FetchResult?
    /// The sweep that was made, if it is complete and settled: its cursor may move.
    var sweep: Sweep?

    /// How long the feed will not change, according to the server.
    public var freshFor: Duration? {
        switch result {
        case .document(_, let freshFor)?, .notModified(let freshFor)?: freshFor
        case nil: nil
        }
    }

    /// A run that has not changed anything yet.
    ///
    /// - Parameter failure: why there was no run at all.
    public init(source: FeedSource, failure: (any Error)? = nil) {
        self.source = source
        self.failure = failure
        if let failure { outcome = failure is CancellationError ? .cancelled : .failed }
    }

    /// Notes the error that ended the run early. A cancellation may have a reason, which says more.
    mutating func fail(_ error: any Error, _ options: Importer.Options) {
        failure = (error is CancellationError ? options.reasonOfCancellation() : nil) ?? error
        outcome = failure is CancellationError ? .cancelled : .failed
    }
}
