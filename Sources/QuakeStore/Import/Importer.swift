import Feed
import Logging
import PostgreSQL

/// Imports feeds of any size into a database, in constant memory.
public struct Importer: Sendable {
    public struct Options: Sendable {
        /// The number of features per transaction; with several lanes, the number of features that all lanes hold together.
        public var batchSize = 20_000
        /// How many connections import one document in parallel. A document that fits one batch or may settle (see `Settling`)
        /// uses only one connection.
        public var lanes = 1
        public var rejectLimit = RejectLimit.standard
        /// Whether to write nothing, and only count the changes that the import would make.
        public var isDryRun = false
        public var retraction = Retraction.auto
        public var fetch = FetchOptions()
        /// Returns the reason for the task's cancellation; nil if there is none. With a reason, the run counts as failed; without
        /// one, it counts as cancelled.
        public var reasonOfCancellation: @Sendable () -> (any Error)? = { nil }
        /// The first sweep of an event service requests revisions after this time; nil means 31 days ago.
        public var sweepsSince: Instant?
        /// The clock, which determines the days that a sweep requests from a service.
        package var now: @Sendable () -> Instant = { .now }
        /// The greatest number of events in an answer of an event service; nil for the service's known limit.
        package var sweepLimit: Int?
        /// How long the run may take; nil for any time. A mirror waits for a change for at most half of it.
        public var timeout: Duration?
        /// The interval at which a daemon imports the source; nil for a single run.
        public var every: Duration?

        public init() {}
    }

    /// Determines whether events are deleted that, according to a document, were renamed or withdrawn.
    public enum Retraction: String, Sendable, CaseIterable {
        /// The events are deleted, unless there are suspiciously many of them.
        case auto
        case force
        case never
    }

    public struct Progress: Sendable {
        /// The bytes read, after decompression.
        public var bytes: Int
        public var features: Int
        /// The state of the transfer, before decompression.
        public var arrival: Arrival
    }

    private let connection: Connection
    private let options: Options
    private let logger: Logger

    /// Prepares a connection for imports. Do not use the connection for anything else while the importer uses it.
    ///
    /// - Throws: `NoSession` when the connection goes through a pooler in transaction mode; `PostgresError`.
    public init(_ connection: Connection, options: Options = Options(), logger: Logger) async throws {
        self.connection = connection
        self.options = options
        self.logger = logger
        try await connection.requireSession(to: "import")
        try await MergeStatement.prepare(connection)
    }

    /// Imports one feed, and records the run in `import.run`.
    ///
    /// A document that fits one batch is imported whole or not at all. If a longer document turns out to be broken, the batches
    /// already committed stay. Errors after the run began are not thrown: they are in the summary's outcome and failure.
    ///
    /// If the server says that the feed has not changed since its last successful import, no run is recorded. Only
    /// `import.feed` notes that the feed was checked.
    ///
    /// - Throws: `SourceBusy` when another process is importing the source; `FeedError` for a missing file that was never
    ///   imported, because its name is probably misspelt; `PostgresError` when the run can't begin. If a daemon's file is
    ///   missing, a run is recorded even if the file was never imported, because a monitor has to see the failure.
    public func run(
        _ source: FeedSource, window: ImportWindow? = nil, progress: (Progress) -> Void = { _ in }
    ) async throws -> ImportSummary {
        let stream = window == nil ? ChangesSource(source) : nil
        let log = RunLog(
            connection: connection, source: source, name: window?.name ?? "\(source)", every: options.every,
            keepsValidators: window == nil && source.hasValidators)
        func imported(ifChangedSince validators: Validators?) async throws -> ImportSummary {
            if let stream {
                return try await Mirror(stream: stream, log: log, options: options).run(progress)
            }
            return try await importing(window, log, ifChangedSince: validators, progress)
        }
        if options.isDryRun { return try await imported(ifChangedSince: nil) }
        if options.every == nil, let missing = source.missingFile, try await !log.hasRun() { throw missing }
        // If an error ends this function early, the lock is released when the connection closes.
        let validators = try await log.lock()
        var summary = try await imported(ifChangedSince: validators)
        do {
            if summary.outcome == .notModified {
                try await log.touch()
            } else {
                summary.tokens = try await log.end(summary)
                summary.cursor = summary.sweep?.moment
            }
            try await log.unlock()
        } catch let error as PostgresError where error.connectionLost && summary.failure != nil {
            // The lock was lost with the connection, and the row in `import.run` still says that the run is open. The next run of
            // any source corrects that row.
        }
        return summary
    }

    private func sweep(_ window: ImportWindow?, _ log: RunLog) async throws -> Sweep? {
        guard window == nil, var service = EventService(log.source) else { return nil }
        service.limit = options.sweepLimit ?? service.limit
        return try await Sweep(
            of: service, keptAs: log.name, beginning: options.sweepsSince, at: options.now(), on: connection)
    }

    private func importing(
        _ window: ImportWindow?, _ log: RunLog, ifChangedSince validators: Validators?,
        _ progress: (Progress) -> Void
    ) async throws -> ImportSummary {
        let sweep = try await sweep(window, log)
        let start = ContinuousClock.now
        var document = DocumentImport(log, window: window, sweep: sweep, options: options, logger: logger)
        var summary = ImportSummary(source: log.source)
        do {
            summary.result = try await document.read(ifChangedSince: validators, progress)
            if case .notModified = summary.result {
                summary.outcome = .notModified
            } else {
                guard document.counts.pass(options.rejectLimit) else {
                    let (rejected, seen) = (document.counts.rejected, document.counts.seen)
                    throw Failure(
                        .badData,
                        rejected == seen
                            ? "all features (\(seen)) were rejected; to see them, run: quakes rejects"
                            : """
                            \(rejected) of \(seen) features were rejected, more than allowed; \
                            the others were imported; to see the rejected features, run: quakes rejects; \
                            to accept them, use --max-rejects
                            """)
                }
                try window?.check(document.scanner.metadata, given: document.scanner.count)
                if let brake = document.counts.brake { throw brake }
            }
        } catch {
            summary.fail(error, options)
        }
        summary.run = document.run
        summary.feed = document.feed
        summary.generated = document.generated
        summary.counts = document.counts
        summary.given = document.scanner.count
        var warnings = document.notes
        if summary.counts.isAhead {
            warnings.append(
                "the document is dated more than 5 minutes in the future; its events were imported, but nothing was deleted; check the clocks of the feed and of the database"
            )
        }
        for warning in warnings { logger.warning("import \(log.source): \(warning)") }
        if !warnings.isEmpty { summary.warning = warnings.joined(separator: "; ") }
        summary.duration = .now - start
        let isSettled =
            !summary.counts.isAhead && (!summary.counts.isUnsettled || options.retraction == .never)
        if summary.outcome == .done, isSettled { summary.sweep = document.sweep }
        return summary
    }
}
