import Feed
import Logging
import PostgreSQL

/// Imports feeds into a database: one direction, in constant memory, whatever the feed's size.
public struct Importer: Sendable {
    public struct Options: Sendable {
        /// Features of one transaction.
        public var batchSize = 20_000
        public var rejectLimit = RejectLimit.standard
        /// Counts what an import would do, and writes nothing.
        public var isDryRun = false
        public var retraction = Retraction.auto

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
        try await connection.execute(script: MergeStatement.session, to: "prepare the session")
    }

    /// Imports one feed, and records the run in `import.run`.
    ///
    /// A document that fits one batch is imported whole or not at all. Of a longer one that breaks, the batches before
    /// the break stay. Whatever happens after the run began is told by the summary: its outcome and failure.
    ///
    /// - Throws: `SourceBusy` when another process imports the source; `PostgresError` when the run can't be begun.
    nonisolated(nonsending)
        public func run(
            _ source: FeedSource, progress: (Progress) -> Void = { _ in }
        ) async throws -> ImportSummary
    {
        let log = RunLog(connection: connection, source: source)
        guard !options.isDryRun else {
            return await summary(of: source, run: nil, progress)
        }
        try await log.lock()
        // Where an error ends this early, the lock ends with the connection.
        let run = try await log.begin()
        var summary = await summary(of: source, run: run, progress)
        // A lost connection took the lock with it, and left the run open: the source's next run closes it.
        if let error = summary.failure as? PostgresError, error.connectionLost { return summary }
        summary.tokens = try await log.end(summary)
        try await log.unlock()
        return summary
    }

    nonisolated(nonsending)
        private func summary(
            of source: FeedSource, run: Int?, _ progress: (Progress) -> Void
        ) async -> ImportSummary
    {
        let start = ContinuousClock.now
        var document = DocumentImport(
            batchImport: BatchImport(connection: connection, logger: logger, run: run),
            options: options)
        var summary = ImportSummary(run: run, source: source)
        do {
            try await document.read(source, progress)
            try options.checkRejects(document.counts)
            if let brake = document.counts.brake { throw brake }
        } catch is CancellationError {
            summary.outcome = .cancelled
            summary.failure = CancellationError()
        } catch {
            summary.outcome = .failed
            summary.failure = error
        }
        summary.feed = document.feed
        summary.counts = document.counts
        summary.duration = .now - start
        return summary
    }
}

extension Importer.Options {
    fileprivate func checkRejects(_ counts: ImportCounts) throws {
        guard rejectLimit.allows(rejected: counts.rejected, of: counts.seen) else {
            throw TooManyRejects(rejected: counts.rejected, seen: counts.seen)
        }
    }
}

/// The work on one document: scan, collect, import batch by batch.
private struct DocumentImport {
    let batchImport: BatchImport
    let options: Importer.Options
    private(set) var counts = ImportCounts()
    private var scanner = FeatureScanner()
    private var decoder = FeatureDecoder()
    private var batch = FeatureBatch()
    private var bytesRead = 0

    init(batchImport: BatchImport, options: Importer.Options) {
        self.batchImport = batchImport
        self.options = options
    }

    /// The URL that the document's metadata name.
    var feed: String? { scanner.metadata.url }

    nonisolated(nonsending)
        mutating func read(_ source: FeedSource, _ progress: (Importer.Progress) -> Void) async throws
    {
        try await source.read { chunk in
            try scan(chunk)
            while batch.count >= options.batchSize {
                try await importBatch(options.batchSize, documentEnd: nil)
            }
            progress(Importer.Progress(bytes: bytesRead, features: scanner.count))
        }
        try scanner.finish()
        try await importBatch(batch.count, documentEnd: bytesRead)
    }

    private mutating func scan(_ chunk: [UInt8]) throws {
        bytesRead += chunk.count
        try chunk.withUnsafeBufferPointer { bytes in
            try scanner.scan(bytes) { try batch.append($0) }
        }
    }

    /// Imports the first `count` features that wait; with the last of them, what follows them in the document.
    nonisolated(nonsending)
        private mutating func importBatch(_ count: Int, documentEnd: Int?) async throws
    {
        let end = documentEnd ?? batch.features[count - 1].end
        counts += try await batchImport.importFirst(
            count, of: batch, bytes: end - counts.bytes, document: state(isLast: documentEnd != nil),
            decoder: &decoder)
        try batch.removeFirst(count)
    }

    private func state(isLast: Bool) -> DocumentState {
        let identity = FeedIdentity(scanner.metadata)
        var state = DocumentState(generated: scanner.metadata.generated)
        state.isBeginning = counts.seen == 0
        // Metadata may also come behind the features.
        let maySettle = identity != nil || scanner.metadata.url == nil && !isLast
        state.notesPresence = maySettle && options.retraction != .never
        // An empty list is what a broken service makes; and of an event whose id can't be read nobody knows which it is.
        if isLast, state.notesPresence, scanner.count > 0, counts.unreadable == 0 {
            state.settlement = identity.map {
                Settlement(
                    identity: $0, retraction: options.retraction, rejectLimit: options.rejectLimit,
                    before: counts)
            }
        }
        return state
    }
}
