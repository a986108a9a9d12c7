import Feed
import Logging
import PostgreSQL

/// Imports one document: scans it, decodes its features, collects them into batches, and imports the batches.
///
/// The first batch is imported by itself, because most documents have only one. In a longer document, batches are filled while
/// one or several lanes import earlier ones.
struct DocumentImport {
    typealias LaneTasks = ThrowingTaskGroup<Void, any Error>

    private let log: RunLog
    let window: ImportWindow?
    /// The sweep that this run performs; nil unless the run sweeps an event service.
    var sweep: Sweep?
    let options: Importer.Options
    let logger: Logger
    /// The run's number in `import.run`; nil for a dry run, and until the run is recorded (see `read`).
    private(set) var run: Int?
    private let runningCounts = RunningCounts()
    var scanner: DocumentScanner
    var intake: Intake
    let reading = SourceReading()
    private var bytesRead = 0
    /// The number of bytes that were read, but not yet assigned to a batch.
    private var unassigned = 0
    /// Warnings about the document.
    private(set) var notes: [String] = []
    /// The error if a document, or one answer of a sweep, was cut off. The events before the cut are still imported.
    private var breach: FeedError?
    /// The lanes that import the batches after the first one; empty until the first batch has been imported.
    private var lanes: [Lane] = []

    init(_ log: RunLog, window: ImportWindow?, sweep: Sweep?, options: Importer.Options, logger: Logger) {
        self.log = log
        self.window = window
        self.sweep = sweep
        self.options = options
        self.logger = logger
        scanner = DocumentScanner(of: log.source)
        intake = Intake(batchSize: options.batchSize)
    }

    var source: FeedSource { log.source }
    var connection: Connection { log.connection }
    var counts: ImportCounts { runningCounts.counts }
    /// The URL that the document's metadata states; for a sweep, and for the answer to a query that states no URL, the source. Nil
    /// if the answer to a query is not complete. Secrets are removed, because the URL may be the requested one.
    var feed: String? {
        if sweep != nil { return "\(source)" }
        guard !isQuery || statedCount == nil && !scanner.isIncomplete else { return nil }
        if let stated = scanner.metadata.url { return "\(FeedSource.url(stated))" }
        return isQuery ? "\(source)" : nil
    }
    var generated: Instant? { sweep?.moment ?? scanner.metadata.generated }

    /// Whether the document answers a query that a person asked, and not a request of a sweep or a backfill.
    private var isQuery: Bool {
        guard sweep == nil, window == nil else { return false }
        return source.eventQuery != nil || scanner.metadata.url.map(FeedSource.url)?.eventQuery != nil
    }

    /// Reads and imports the document.
    ///
    /// The run is recorded at once, so that a source that sends nothing is visible, too. However, no run is recorded for an
    /// unchanged feed, or for a window in which a service has no events. So if `validators` are sent, or a window is requested,
    /// the run is recorded only when the first bytes arrive or an error occurs.
    mutating func read(
        ifChangedSince validators: Validators?, _ progress: (Importer.Progress) -> Void
    ) async throws -> FetchResult {
        do {
            if validators == nil, window == nil { try await begin() }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                // If the rest of the document turns out to be broken, the batches that were handed over are still imported.
                let reading = await readAll(ifChangedSince: validators, &group, progress)
                for lane in lanes { lane.close() }
                try await group.waitForAll()
                return try reading.get()
            }
        } catch let error as FeedError where window != nil && [204, 400, 413].contains(error.status) {
            // The event service has no events in the window (204), or more than it returns at once (400, 413). Neither counts as
            // a failed run, so no run is recorded.
            throw error
        } catch {
            try await connection.shieldingFromCancellation(within: .seconds(5)) { try await begin() }
            throw error
        }
    }

    private mutating func begin() async throws {
        if run == nil, !options.isDryRun { run = try await log.begin() }
    }

    private mutating func readAll(
        ifChangedSince validators: Validators?, _ group: inout LaneTasks,
        _ progress: (Importer.Progress) -> Void
    ) async -> Result<FetchResult, any Error> {
        do {
            var result = FetchResult.document(nil, freshFor: nil)
            if sweep != nil {
                try await begin()
                try await readSweep(&group, progress)
            } else {
                do {
                    result = try await readDocument(source, ifChangedSince: validators, &group, progress)
                } catch let failure as FeedError
                    where failure.status == 204 && window == nil && source.eventQuery != nil
                {
                    // Status 204 means that the service has no events that match the query.
                    try await begin()
                }
            }
            if case .document = result { try await importRest() }
            if let breach { throw breach }
            return .success(result)
        } catch {
            return .failure(error)
        }
    }

    /// Reads a document, or one answer of a sweep. The last features stay in batches that the caller has to import.
    @discardableResult
    mutating func readDocument(
        _ document: FeedSource, ifChangedSince validators: Validators? = nil, _ group: inout LaneTasks,
        _ progress: (Importer.Progress) -> Void
    ) async throws -> FetchResult {
        let result = try await reading.read(
            document, ifChangedSince: validators, options: options.fetch
        ) { chunk in
            try await begin()
            try await importFeatures(of: chunk, &group)
            progress(
                Importer.Progress(bytes: bytesRead, features: scanner.count, arrival: reading.arrival))
        }
        if case .notModified = result { return result }
        try await begin()
        try await importLastFeatures(&group)
        bytesRead = 0
        breach = breach ?? scanner.breach
        if let statedCount {
            notes.append(
                "the document has \(scanner.count) events, but its metadata says \(statedCount); its events were imported, but it does not count as complete"
            )
        }
        for note in scanner.notes where !notes.contains(note) && notes.count < 10 { notes.append(note) }
        return result
    }

    // MARK: Features

    private mutating func importFeatures(of chunk: [UInt8], _ group: inout LaneTasks) async throws {
        var position = 0
        while position < chunk.count {
            var full: Int?
            let start = position
            position = try chunk.withUnsafeBufferPointer { bytes in
                try scanner.scan(bytes, from: position, measure: { intake.decodePrefix($0) }) { feature in
                    full = try intake.add(feature)
                    return full == nil
                }
            }
            unassigned += position - start
            if let full { try await importBatch(full, &group) }
        }
        bytesRead += chunk.count
    }

    /// Adds the features that the scanner hands over only at the end. In text and QuakeML, only the document's end shows that the
    /// last event is complete.
    private mutating func importLastFeatures(_ group: inout LaneTasks) async throws {
        while true {
            var full: Int?
            let isDone = try scanner.finish { feature in
                full = try intake.add(feature)
                return full == nil
            }
            if isDone { return }
            if let full { try await importBatch(full, &group) }
        }
    }

    // MARK: Batches

    private mutating func importBatch(_ full: Int, _ group: inout LaneTasks) async throws {
        let settling = settling(isLast: false)
        assignBytes(to: full)
        if lanes.indices.contains(full) {
            intake.batches[full] = try await lanes[full].exchange(intake.batches[full], settling) {
                intake.emptyBatch()
            }
        } else {
            try await importFirstBatch(settling)
            // A document that settles records its features in a temporary table, which only one connection can use.
            try await startLanes(settling.notesPresence ? 1 : options.lanes, &group)
        }
        intake.keeping = runningCounts.latest.areMostlyUnchanged ? .number : .row
    }

    private mutating func assignBytes(to lane: Int) {
        intake.batches[lane].documentBytes += unassigned
        unassigned = 0
    }

    /// Imports the features of one answer before the next answer is read, because each answer was made at a different moment.
    mutating func importBatches(_ group: inout LaneTasks) async throws {
        for lane in intake.batches.indices where intake.batches[lane].count > 0 {
            try await importBatch(lane, &group)
        }
    }

    /// Imports the first batch if the rejected deletions of a sweep have filled it. A sweep may have any number of rejected
    /// deletions.
    mutating func importRejectedDeletions() async throws {
        guard intake.batches[0].count >= options.batchSize else { return }
        try await importFirstBatch(settling(isLast: false))
        _ = intake.batches[0].removeAll()
    }

    private func importFirstBatch(_ settling: Settling) async throws {
        if settling.notesPresence { try await Settling.prepare(connection) }
        try await batchImport.run(intake.batches[0], settling)
    }

    private var batchImport: BatchImport {
        BatchImport(connection: connection, logger: logger, run: run, runningCounts: runningCounts)
    }

    /// Starts the lanes. The first lane uses the run's own connection. If the connection of another lane can't be opened, the
    /// import continues without that lane.
    private mutating func startLanes(_ count: Int, _ group: inout LaneTasks) async throws {
        let (openings, opening) = AsyncStream.makeStream(of: (index: Int, failure: (any Error)?).self)
        let all = (0..<count).map { _ in Lane(of: count) }
        for (index, lane) in all.enumerated() {
            group.addTask { [batchImport, reading] in
                do {
                    if index == 0 { return try await lane.run(batchImport) }
                    try await lane.runBeside(batchImport) { opening.yield((index, $0)) }
                } catch {
                    // The lane's error ends the run, so nothing more is needed from the source.
                    reading.stop()
                    throw error
                }
            }
        }
        lanes = [all[0]]
        var failure: (any Error)?
        for await opened in openings.prefix(count - 1) {
            if let reason = opened.failure { failure = reason } else { lanes.append(all[opened.index]) }
        }
        try Task.checkCancellation()
        if let failure {
            logger.warning(
                "import \(source): continues with \(lanes.count) of \(count) connections: \(failure)")
        }
        intake.divide(by: lanes.count)
    }

    private mutating func importRest() async throws {
        let settling = settling(isLast: true)
        assignBytes(to: 0)
        if lanes.isEmpty { return try await importFirstBatch(settling) }
        var others = settling
        others.deletions = StatedDeletions()
        for (index, batch) in intake.batches.enumerated() {
            await lanes[index].hand(batch, index == 0 ? settling : others)
        }
    }

    /// The number of events according to the metadata of a summary feed or of an answer to a query, if the document has fewer, for
    /// example because its list was cut off; nil otherwise. For a sweep and for a window, see `ShortAnswer`.
    private var statedCount: Int? {
        guard sweep == nil, window == nil, isQuery || FeedIdentity(scanner.metadata) != nil,
            let count = scanner.metadata.count, scanner.count < count
        else { return nil }
        return count
    }

    private func settling(isLast: Bool) -> Settling {
        let identity: FeedIdentity? =
            if let sweep {
                // Each answer was made at a different moment. The whole sweep counts as made at the moment of the first answer,
                // because every answer includes the events up to that moment.
                sweep.identity
            } else if let window {
                scanner.isIncomplete
                    ? nil : window.identity(scanner.metadata, of: source, features: scanner.count)
            } else {
                FeedIdentity(scanner.metadata)
            }
        // The metadata may follow the features, and only the end of an answer for a window shows whether the answer is complete.
        // So before the last batch, a document whose metadata is not known yet may still settle, and so may an answer for a
        // window.
        let maySettle = identity != nil || (window != nil || !scanner.sawMetadata) && !isLast
        var settling = Settling(
            made: scanner.metadata.generated ?? sweep?.moment ?? window?.asked,
            service: identity?.service ?? "", feed: identity?.name ?? "",
            notesPresence: maySettle && options.retraction != .never, retraction: options.retraction,
            rejectLimit: options.rejectLimit, isSweep: sweep != nil)
        if window?.isRepair == true, options.retraction != .never { settling.corrector = source.host }
        // An empty document may come from a broken service, so it settles only if the service also counted no events in the
        // window.
        if isLast, sweep != nil || scanner.count > 0 || window?.count == 0 {
            settling.identity = statedCount == nil ? identity : nil
            settling.deletions = sweep?.deletions ?? StatedDeletions()
            settling.deletions.append(intake.deletions)
        }
        return settling
    }
}
