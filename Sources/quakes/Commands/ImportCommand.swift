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
            A source is a USGS summary feed by name (all_hour, all_day, all_week, all_month, or the same with 1.0, 2.5, \
            4.5 or significant in place of all), an http or https URL, a file, or - for standard input. Gzip is \
            recognised by its content.

            New events are inserted, changed ones are updated, and equal ones are not touched. A record that is older \
            than the stored one changes nothing. A feature that cannot be imported is kept in import.reject, and the \
            others are still imported. A document that fits in one batch is imported whole or not at all.
            """)

    @Argument(help: "The feeds to import, one after the other.")
    var sources: [FeedSource]

    @Option(
        help: ArgumentHelp(
            "Features per transaction; with several lanes, how many they hold together.", valueName: "n"))
    var batch = 20_000

    @Option(
        help: ArgumentHelp(
            "How many connections share a document of more than one batch, unless it can show renamed or withdrawn events. (default: the number of cores, at most 4)",
            valueName: "n"))
    var lanes = min(ProcessInfo.processInfo.activeProcessorCount, 4)

    @Option(
        help: ArgumentHelp(
            "Fail if more features than this are rejected: a number or a percentage. (default: 10 or 1%, whichever is greater)",
            valueName: "n|p%"))
    var maxRejects: RejectLimit = .standard

    @Option(
        help: ArgumentHelp(
            "Whether to delete events that a complete feed no longer has: auto (unless suspiciously many), force (always) or never.",
            valueName: "auto|force|never"))
    var retract = Importer.Retraction.auto

    @Flag(help: "Only count what the import would do; write nothing.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "Run as a daemon: import each source at this interval until stopped.", valueName: "duration"))
    var every: DurationArgument?

    @Option(
        help: ArgumentHelp("Give up on a run after this long, such as 90s or 15m.", valueName: "duration"))
    var timeout: DurationArgument?

    @Option(help: "Print the summary as text, or as one JSON object per source.")
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
                throw ValidationError("standard input can be read only once; leave out --every")
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
            // A daemon normally ends by a signal.
        }
    }

    // MARK: Once

    /// Imports every source, even after one has failed. Prints each failure; the first one decides the exit code.
    private func importOnce(into database: Database) async throws {
        let status = try await withTimeout { logger, deadline in
            try await database.withConnection(for: .worker, logger) { connection in
                let importer = try await importer(connection, logger, deadline)
                var firstStatus: Int32?
                for source in sources {
                    do {
                        try await importOne(source, with: importer, logger)
                    } catch let error as CancellationError {
                        throw error
                    } catch {
                        StandardError.print("quakes: \(Self.text(of: error, importing: source))")
                        firstStatus = firstStatus ?? ExitStatus(error).rawValue
                        if error is TimedOut || (error as? PostgresError)?.connectionLost == true { break }
                    }
                }
                return firstStatus
            }
        }
        if let status { throw ExitCode(status) }
    }

    /// Runs `body` within `--timeout`.
    private func withTimeout<Result: Sendable>(
        _ body: @escaping @Sendable (Logger, Deadline?) async throws -> Result
    ) async throws -> Result {
        let logger = log.logger()
        guard let limit = timeout?.duration else { return try await body(logger, nil) }
        return try await Deadline.run(within: limit) { try await body(logger, $0) }
    }

    private func importer(
        _ connection: Connection, _ logger: Logger, _ deadline: Deadline?
    ) async throws -> Importer {
        var options = Importer.Options()
        options.lanes = lanes
        options.batchSize = batch
        options.rejectLimit = maxRejects
        options.isDryRun = dryRun
        options.retraction = retract
        options.fetch = fetch.options
        options.reasonOfCancellation = { deadline?.failure }
        return try await Importer(connection, options: options, logger: logger)
    }

    // MARK: Again and again

    /// Each run has a connection of its own, so a failure in one run does not affect the next.
    private func importAgainAndAgain(
        _ source: FeedSource, _ every: Duration, into database: Database
    ) async throws {
        var schedule = Schedule(every: every)
        var random = SystemRandomNumberGenerator()
        while true {
            let start = ContinuousClock.now
            let ending: Schedule.Ending
            do {
                let summary = try await withTimeout { logger, deadline in
                    try await database.withConnection(for: .worker, logger) { connection in
                        let importer = try await importer(connection, logger, deadline)
                        return try await importOne(source, with: importer, logger)
                    }
                }
                ending = summary.freshFor.map { .fresh($0) } ?? .done
            } catch let error as CancellationError {
                throw error
            } catch {
                log.logger().error("\(Self.text(of: error, importing: source))")
                ending = Schedule.Ending(error)
            }
            if let remark = schedule.remark(on: ending) { log.logger().notice("\(source): \(remark)") }
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
        // A row of zeros would add nothing to the error.
        case .text where summary.failure == nil || summary.counts.seen > 0: StandardOutput.print(summary.text)
        case .text: break
        }
        if let failure = summary.failure { throw failure }
        return summary
    }

    /// The text of the error, preceded by the source unless the text names it already.
    private static func text(of error: any Error, importing source: FeedSource) -> String {
        switch error {
        case FeedError.noInput, FeedError.unavailable, is SourceBusy: "\(error)"
        default: "\(source): \(error)"
        }
    }
}
