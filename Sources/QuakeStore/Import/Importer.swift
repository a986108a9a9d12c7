import Feed
import Logging
import PostgreSQL

/// Imports feeds into a database: one direction, in constant memory, whatever the feed's size.
public struct Importer: Sendable {
    public struct Options: Sendable {
        /// Features of one transaction; of several lanes, what they have in hand together.
        public var batchSize = 20_000
        /// How many connections import one document side by side, when it is larger than a batch and nothing has to be
        /// settled at its end.
        public var lanes = 1
        public var rejectLimit = RejectLimit.standard
        /// Counts what an import would do, and writes nothing.
        public var isDryRun = false
        public var retraction = Retraction.auto
        /// How a feed is fetched over HTTP.
        public var fetch = FetchOptions()

        public init() {}
    }

    /// What happens to events that a document shows to be renamed or withdrawn.
    public enum Retraction: String, Sendable, CaseIterable {
        /// They are deleted, unless they are suspiciously many.
        case auto
        /// They are deleted.
        case force
        /// Nothing is.
        case never
    }

    /// How far a run has come.
    public struct Progress: Sendable {
        /// Bytes of the document after inflation, and features, that have been read.
        public var bytes: Int
        public var features: Int
    }

    private let connection: Connection
    private let options: Options
    private let logger: Logger

    /// Prepares a connection for imports. It must be used for nothing else meanwhile.
    public init(_ connection: Connection, options: Options = Options(), logger: Logger) async throws {
        self.connection = connection
        self.options = options
        self.logger = logger
        try await MergeStatement.prepare(connection)
    }

    /// Imports one feed, and records the run in `import.run`.
    ///
    /// A document that fits one batch is imported whole or not at all. Of a longer one that breaks, the batches before
    /// the break stay. Whatever happens after the run began is told by the summary: its outcome and failure.
    ///
    /// A feed that its server says is unchanged since it was last imported well is no run: only `import.feed` notes that it
    /// was asked for.
    ///
    /// - Throws: `SourceBusy` when another process imports the source; `PostgresError` when the run can't be begun.
    public func run(
        _ source: FeedSource, window: ImportWindow? = nil, progress: (Progress) -> Void = { _ in }
    ) async throws -> ImportSummary {
        let log = RunLog(connection: connection, source: source, name: window?.name)
        guard !options.isDryRun else {
            return await importing(source, window, log, ifChangedSince: nil, progress).summary
        }
        try await log.lock()
        // Where an error ends this early, the lock ends with the connection.
        let validators = try await log.validators()
        var (summary, result) = await importing(source, window, log, ifChangedSince: validators, progress)
        do {
            if case .notModified = result {
                try await log.touch()
            } else {
                summary.tokens = try await log.end(summary, result)
            }
            try await log.unlock()
        } catch let error as PostgresError where error.connectionLost && summary.failure != nil {
            // The connection took the lock with it, and left the run open: the source's next run closes it.
        }
        return summary
    }

    private func importing(
        _ source: FeedSource, _ window: ImportWindow?, _ log: RunLog,
        ifChangedSince validators: Validators?, _ progress: (Progress) -> Void
    ) async -> (summary: ImportSummary, result: FetchResult?) {
        let start = ContinuousClock.now
        var document = DocumentImport(
            connection: connection, source: source, window: window, options: options, logger: logger)
        var summary = ImportSummary(source: source)
        var result: FetchResult?
        do {
            result = try await document.read(log, ifChangedSince: validators, progress)
            if case .notModified = result {
                summary.outcome = .notModified
            } else {
                try options.checkRejects(document.counts)
                if let brake = document.counts.brake { throw brake }
            }
        } catch is CancellationError {
            summary.outcome = .cancelled
            summary.failure = CancellationError()
        } catch {
            summary.outcome = .failed
            summary.failure = error
        }
        summary.run = document.run
        summary.feed = document.feed
        summary.generated = document.generated
        summary.freshFor = result?.freshFor
        summary.counts = document.counts
        summary.duration = .now - start
        return (summary, result)
    }
}

extension FetchResult {
    fileprivate var freshFor: Duration? {
        switch self {
        case .document(_, let freshFor), .notModified(let freshFor): freshFor
        }
    }
}

extension Importer.Options {
    fileprivate func checkRejects(_ counts: ImportCounts) throws {
        guard rejectLimit.allows(rejected: counts.rejected, of: counts.seen) else {
            throw TooManyRejects(rejected: counts.rejected, seen: counts.seen)
        }
    }
}
