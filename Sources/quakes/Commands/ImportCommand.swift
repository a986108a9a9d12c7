import ArgumentParser
import Feed
import FoundationEssentials
import Logging
import PostgreSQL
import QuakeStore

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import earthquake feeds into the database.",
        discussion: """
            A source is a summary feed of the USGS by name (all_hour, all_day, all_week, all_month, and the same \
            with 1.0, 2.5, 4.5 and significant in place of all), an http or https URL, a file, or - for standard \
            input; gzip is recognised by its content.

            New events are inserted, changed ones updated, equal ones not touched; a record that is older than \
            the stored one changes nothing. A feature that can't be imported is kept in import.reject, and the others \
            go on. A document that fits one batch is imported whole or not at all.
            """)

    @Argument(help: "Feeds to import, one after the other.")
    var sources: [FeedSource]

    @Option(
        help: ArgumentHelp(
            "Features of one transaction; of several lanes, what they have in hand together.", valueName: "n")
    )
    var batch = 20_000

    @Option(
        help: ArgumentHelp(
            "Connections that import a document of more than one batch side by side, unless events may be found renamed or withdrawn by it. (default: the number of cores, at most 4)",
            valueName: "n"))
    var lanes = min(ProcessInfo.processInfo.activeProcessorCount, 4)

    @Option(
        help: ArgumentHelp(
            "Fail when more features than this are rejected: a number or a percentage. (default: the greater of 10 and 1%)",
            valueName: "n|p%"))
    var maxRejects: RejectLimit = .standard

    @Option(
        help: ArgumentHelp(
            "What a feed that is complete for its time no longer has is deleted: auto, unless it is suspiciously much; force, always; never.",
            valueName: "auto|force|never"))
    var retract = Importer.Retraction.auto

    @Flag(help: "Only count what the import would do; write nothing.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "Import again and again, so often, each source on its own; for a daemon.", valueName: "duration"))
    var every: DurationArgument?

    @Option(help: ArgumentHelp("Give up a run after this long, such as 90s or 15m.", valueName: "duration"))
    var timeout: DurationArgument?

    @Option(help: "Print the summary as text or as one JSON object a source.")
    var format = Format.text

    @OptionGroup var fetch: FetchArguments
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    func validate() throws {
        guard batch > 0 else { throw ValidationError("--batch must be at least 1") }
        guard (1...64).contains(lanes) else { throw ValidationError("--lanes must be 1 to 64") }
        if let every {
            guard every.duration > .zero else { throw ValidationError("--every must be more than 0s") }
            guard !sources.contains(.standardInput) else {
                throw ValidationError("standard input can't be imported again and again")
            }
        }
    }

    func run() async throws {
        let database = try await database.located()
        guard let every = every?.duration else { return try await importOnce(into: database) }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in sources {
                    group.addTask { try await importAgainAndAgain(source, every, into: database) }
                }
                try await group.waitForAll()
            }
        } catch is CancellationError {
            // A signal is how a daemon ends.
        }
    }

    // MARK: Once

    /// Imports every source, also after one has failed. Each failure is printed, and the first decides the exit code.
    private func importOnce(into database: Database) async throws {
        let status = try await withTimeout { logger in
            try await database.withConnection(for: .worker, logger) { connection in
                let importer = try await importer(connection, logger)
                var firstStatus: Int32?
                for source in sources {
                    do {
                        try await importOne(source, with: importer, logger)
                    } catch let error as CancellationError {
                        throw error
                    } catch {
                        StandardError.print("quakes: \(Self.text(of: error, importing: source))")
                        firstStatus = firstStatus ?? ExitStatus(error).rawValue
                        if (error as? PostgresError)?.connectionLost == true { break }
                    }
                }
                return firstStatus
            }
        }
        if let status { throw ExitCode(status) }
    }

    /// Runs `body` within `--timeout`.
    private func withTimeout<Result: Sendable>(
        _ body: @escaping @Sendable (Logger) async throws -> Result
    ) async throws -> Result {
        let logger = log.logger()
        guard let limit = timeout?.duration else { return try await body(logger) }
        return try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body(logger) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TimedOut(limit: limit)
            }
            // The first to end decides; the group waits until the other has ended, too.
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }

    private func importer(_ connection: Connection, _ logger: Logger) async throws -> Importer {
        var options = Importer.Options()
        options.lanes = lanes
        options.batchSize = batch
        options.rejectLimit = maxRejects
        options.isDryRun = dryRun
        options.retraction = retract
        options.fetch = fetch.options
        return try await Importer(connection, options: options, logger: logger)
    }

    // MARK: Again and again

    /// Each run has a connection of its own: what happens to one touches none after it.
    private func importAgainAndAgain(
        _ source: FeedSource, _ every: Duration, into database: Database
    ) async throws {
        var schedule = Schedule(every: every)
        var random = SystemRandomNumberGenerator()
        while true {
            let start = ContinuousClock.now
            let ending: Schedule.Ending
            do {
                let summary = try await withTimeout { logger in
                    try await database.withConnection(for: .worker, logger) { connection in
                        try await importOne(source, with: importer(connection, logger), logger)
                    }
                }
                ending = summary.freshFor.map { .fresh($0) } ?? .done
            } catch let error as CancellationError {
                throw error
            } catch {
                log.logger().error("\(Self.text(of: error, importing: source))")
                ending = Schedule.Ending(error)
            }
            let next = schedule.next(after: ending, startedAt: start, now: .now, using: &random)
            try await Task.sleep(until: next, clock: .continuous)
        }
    }

    @discardableResult
    private func importOne(
        _ source: FeedSource, with importer: Importer, _ logger: Logger
    ) async throws -> ImportSummary {
        var line = ProgressLine(source: source)
        let summary = try await importer.run(source) { line.show($0) }
        line.clear()
        if log.logFormat == .json { logger.notice("run ended", metadata: summary.metadata) }
        switch format {
        case .json: StandardOutput.print(summary.json)
        // Zeros would say no more than the error does.
        case .text where summary.failure == nil || summary.counts.seen > 0: StandardOutput.print(summary.text)
        case .text: break
        }
        if let failure = summary.failure { throw failure }
        return summary
    }

    /// The error, with its source where it does not name that itself.
    private static func text(of error: any Error, importing source: FeedSource) -> String {
        switch error {
        case FeedError.noInput, FeedError.unavailable, is SourceBusy: "\(error)"
        default: "\(source): \(error)"
        }
    }
}
