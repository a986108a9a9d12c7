import Feed

/// The result of one import. The counts include only what was committed.
public struct ImportSummary: Sendable {
    public enum Outcome: String, Sendable {
        case done, failed, cancelled
        /// The server says that the feed has not changed since its last successful import.
        case notModified = "not_modified"
    }

    /// The run's number in `import.run`; nil for a dry run.
    public var run: Int?
    public var source: FeedSource
    /// The document's URL, as the document states it.
    public var feed: String?
    /// When the document was generated, as the document states it.
    public var generated: Instant?
    /// The time up to which an event service has been swept; nil if the cursor did not move, and for any other source.
    public var cursor: Instant?
    public var outcome = Outcome.done
    public var counts = ImportCounts()
    /// How many events the document has, including those that it says were deleted.
    var given = 0
    /// The history tokens of the first and the last transaction in which the run changed anything.
    public var tokens: ClosedRange<Int>?
    public var duration = Duration.zero
    /// The error that made the outcome `failed` or `cancelled`; nil for any other outcome.
    public var failure: (any Error)?
    /// A problem of the document that did not prevent its import.
    public var warning: String?
    /// The result of the fetch; nil if the document could not be read.
    var result: FetchResult?
    /// The sweep, if it is complete and settled, so that its cursor may move.
    var sweep: Sweep?

    /// How long the feed will stay unchanged, according to the server.
    public var freshFor: Duration? {
        switch result {
        case .document(_, let freshFor)?, .notModified(let freshFor)?: freshFor
        case nil: nil
        }
    }

    /// The summary of a run that has not changed anything yet.
    ///
    /// - Parameter failure: the error that prevented the run; nil if there was none.
    public init(source: FeedSource, failure: (any Error)? = nil) {
        self.source = source
        self.failure = failure
        if let failure { outcome = failure is CancellationError ? .cancelled : .failed }
    }

    /// Records the error that ended the run early. If a cancellation has a reason, the reason is recorded instead.
    mutating func fail(_ error: any Error, _ options: Importer.Options) {
        failure = (error is CancellationError ? options.reasonOfCancellation() : nil) ?? error
        outcome = failure is CancellationError ? .cancelled : .failed
    }
}
