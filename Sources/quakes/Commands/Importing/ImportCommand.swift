import ArgumentParser
import Feed
import FoundationEssentials
import QuakeStore

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import earthquake feeds into the database.",
        discussion: """
            A source is a USGS summary feed by name (all_hour, all_day, all_week, all_month, or the same with 1.0, 2.5, \
            4.5 or significant in place of all), an event service, an http or https URL, a file, or - for standard input. \
            GeoJSON of the USGS, EMSC and GeoNet, QuakeML, text of FDSN event services, and gzip are recognised by their \
            content.

            An event service is one of \(EventService.registered.compactMap(\.name).joined(separator: ", ")), or the URL of \
            another one up to its version number (https://HOST/fdsnws/event/1/). The service is asked for all events that it \
            has revised or deleted since the last time, however old the earthquakes are. A feed contains only recent \
            earthquakes, so it misses later revisions. Therefore import both:

                quakes import all_hour all_day usgs --every 1m

            A service that can't list its revisions is asked for the earthquakes of the last 3 days each time, and once a day \
            for those of the last 30 days (isc: 240 days).

            If the source is the URL of another Quakes server's changes (http://HOST:8080/changes), the table becomes equal to \
            that server's table. A daemon then imports each change as soon as it arrives, regardless of --every.

            New events are inserted, changed ones are updated, and equal ones are not touched. A record that is older \
            than the stored one changes nothing. A feature that cannot be imported is kept in import.reject, and the \
            others are still imported. A document that fits in one batch is imported whole or not at all.
            """)

    @Argument(help: "The feeds and services to import, one after the other.")
    var sources: [FeedSource]

    @Option(
        help: ArgumentHelp(
            "The number of features per transaction; with several lanes, the number in all lanes together.",
            valueName: "n"))
    var batch = 20_000

    @Option(
        help: ArgumentHelp(
            "The number of connections that import one document in parallel, if it has more than one batch. A document that can show renamed or withdrawn events always uses one connection. (default: the number of cores, at most 4)",
            valueName: "n"))
    var lanes: Int?

    @OptionGroup var rejects: RejectOption

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

    @Flag(
        name: .customLong("associate"), inversion: .prefixedNo,
        help:
            "Whether a daemon also groups events of different agencies that are the same earthquake, as quakes associate does."
    )
    var associates = true

    @Option(
        help: ArgumentHelp(
            "The shortest interval at which a daemon imports an event service.", valueName: "duration"))
    var sweepEvery: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "The first import of an event service asks for revisions since this time, such as 90d. (default: 31d)",
            valueName: "date"))
    var since: TimeArgument?

    @Option(
        help: ArgumentHelp(
            "Stop the import of a source that takes longer than this, such as 90s or 15m.",
            valueName: "duration"))
    var timeout: DurationArgument?

    @Option(help: "Print the summary as text, or as one JSON object per source.")
    var format = TextFormat.text

    @OptionGroup var fetch: FetchArguments
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard batch > 0 else { throw ValidationError("--batch must be at least 1, not \(batch)") }
        if let lanes, !(1...64).contains(lanes) {
            throw ValidationError("--lanes must be 1 to 64, not \(lanes)")
        }
        if let since, since.instant > .now { throw ValidationError("--since must be in the past") }
        if since != nil || sweepEvery != nil, sources.allSatisfy({ EventService($0) == nil }) {
            throw ValidationError(
                "\(since == nil ? "--sweep-every" : "--since") is for event services, and none of the sources is one"
            )
        }
        if let every {
            guard every.duration > .zero else { throw ValidationError("--every must be more than 0s") }
            guard !sources.contains(.standardInput) else {
                throw ValidationError("standard input can be read only once; leave out --every")
            }
            guard !dryRun else {
                throw ValidationError(
                    "--dry-run cannot be used with --every: it writes nothing, so each import would do the same"
                )
            }
        }
    }

    func run() async throws {
        let database = try await database.located()
        if let every = every?.duration {
            try await importUntilStopped(every, into: database)
        } else {
            try await importOnce(into: database)
        }
        if !ImportReport.isComplete { throw ExitCode(ExitStatus.fileFailure) }
    }

    private var report: ImportReport {
        ImportReport(format: format, options: database, isDaemon: every != nil)
    }

    // MARK: Once

    /// Imports every source, even after one has failed. The exit code is that of the first failure; 75 counts only if nothing else
    /// has failed.
    private func importOnce(into database: Database) async throws {
        var failures: [any Error] = []
        for (index, source) in sources.enumerated() {
            do {
                let summary = try await importOne(source, into: database)
                report.add(summary)
                if let failure = summary.failure { failures.append(failure) }
            } catch {
                report.add(unreached: sources[index...], because: error)
                if self.database.logFormat == .text || error is CancellationError { throw error }
                // The log already has the error, as JSON.
                throw ExitCode(ExitStatus(error).rawValue)
            }
        }
        guard let last = failures.last else { return }
        if last is CancellationError { throw last }
        let codes = failures.map { ExitStatus($0).rawValue }
        throw ExitCode(codes.first { $0 != ExitStatus.busy } ?? codes[0])
    }

    // MARK: As a daemon

    private func importUntilStopped(_ every: Duration, into database: Database) async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let association = associates ? DaemonAssociation(database) : nil
                if let association { group.addTask { try await association.run() } }
                for source in sources {
                    group.addTask {
                        try await importAgainAndAgain(
                            source, interval(of: source, every), into: database,
                            told: { association?.notice($0) })
                    }
                }
                try await group.waitForAll()
            }
        } catch is CancellationError {
            // A daemon is normally stopped by a signal.
        }
    }

    /// The time between two imports of a source. An event service is asked no more often than --sweep-every or, without that
    /// option, the service's pace allows.
    private func interval(of source: FeedSource, _ every: Duration) -> Duration {
        EventService(source).map { max(every, sweepEvery?.duration ?? $0.pace) } ?? every
    }

    private func importAgainAndAgain(
        _ source: FeedSource, _ every: Duration, into database: Database,
        told: (ImportSummary) -> Void
    ) async throws {
        let isService = EventService(source) != nil
        var schedule = Schedule(every: every, jitter: isService ? every / 10 : .zero)
        var random = SystemRandomNumberGenerator()
        var repeated = RepeatedFailure()
        while true {
            let start = ContinuousClock.now
            let summary = try await summary(of: source, every, into: database)
            told(summary)
            // A summary without a run means that the database was not ready, or that another worker is importing the source.
            let reason = summary.run == nil ? summary.failure.map { "\($0)" } : nil
            if reason == nil { repeated.reset() }
            if reason.map({ repeated.isToBeSaid($0) }) ?? true { report.add(summary) }
            if let failure = summary.failure as? CancellationError { throw failure }
            var ending =
                summary.failure.map { Schedule.Ending($0) } ?? summary.freshFor.map { .fresh($0) } ?? .done
            // The import of another server's changes has already waited for a change, so the next import begins at once.
            if ChangesSource(source) != nil {
                if summary.failure == nil {
                    // A cache may answer at once that nothing has changed.
                    if summary.outcome == .notModified {
                        try await Task.sleep(until: start + .seconds(1), clock: .continuous)
                    }
                    continue
                }
                if case .done = ending { ending = .notRun }
            }
            // If there was a run, the service got a request, even if the database failed afterwards. So the next request waits
            // for the usual time.
            if isService, [.notRun, .unreached].contains(ending), summary.run != nil { ending = .done }
            if let remark = schedule.remark(on: ending) { database.logger.notice("\(source): \(remark)") }
            let next = schedule.next(after: ending, startedAt: start, now: .now, using: &random)
            try await Task.sleep(until: next, clock: .continuous)
        }
    }

    /// - Throws: `CancellationError`.
    private func summary(
        of source: FeedSource, _ every: Duration, into database: Database
    ) async throws -> ImportSummary {
        do {
            return try await importOne(source, every: every, into: database)
        } catch let error as CancellationError {
            throw error
        } catch {
            return ImportSummary(source: source, failure: error)
        }
    }

    // MARK: One run

    /// Imports one source over a new connection, within `--timeout`.
    ///
    /// - Throws: an error that affects every source, such as an unreachable database. Any other failure is in the summary.
    private func importOne(
        _ source: FeedSource, every: Duration? = nil, into database: Database
    ) async throws -> ImportSummary {
        try await Deadline.run(within: timeout?.duration) { deadline in
            try await database.withConnection(for: .writer) { connection in
                let options = options(deadline, every: every)
                let importer = try await Importer(connection, options: options, logger: database.logger)
                var line = ProgressLine()
                defer { line.clear() }
                do {
                    return try await database.namingGrants(for: .writer) {
                        try await importer.run(source) { progress in
                            // A feed that has arrived completely is imported before a person could read the line.
                            if progress.arrival.bytes != progress.arrival.length {
                                line.show(ProgressState(progress, of: source))
                            }
                        }
                    }
                } catch {
                    return ImportSummary(source: source, failure: error)
                }
            }
        }
    }

    private func options(_ deadline: Deadline?, every: Duration?) -> Importer.Options {
        var options = Importer.Options()
        options.lanes = lanes ?? min(ProcessInfo.processInfo.activeProcessorCount, 4)
        options.batchSize = batch
        options.rejectLimit = rejects.maxRejects
        options.isDryRun = dryRun
        options.retraction = retract
        options.fetch = fetch.options
        options.reasonOfCancellation = { deadline?.failure }
        options.every = every
        options.sweepsSince = since?.instant
        options.timeout = timeout?.duration
        return options
    }
}
