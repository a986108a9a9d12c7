import ArgumentParser
import QuakeStore

struct BackfillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill",
        abstract: "Import a stretch of the past from an FDSN event service.",
        discussion: """
            The stretch is divided into windows that hold fewer events than the service returns at once. Each window is \
            imported like a feed. Without --min-magnitude, events that the service no longer has are deleted, as in an \
            import. If a backfill is interrupted, run the same command again: it resumes where it stopped.

            A service that can't count its events is asked for smaller windows. A service without GeoJSON is asked for the \
            text format of the FDSN standard.

                quakes backfill --since 2020-01-01 --until 2021-01-01
                quakes backfill --since 2020-01-01 --service gfz
            """)

    @OptionGroup var stretch: ServiceStretch

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this magnitude or more.", valueName: "m"))
    var minMagnitude: Double?

    @Flag(help: "Start at the end and work backwards.")
    var newestFirst = false

    @Option(
        help: ArgumentHelp(
            "The largest number of events that the service returns for one request.", valueName: "n"))
    var perRequest = 20_000

    @Flag(help: "Discard an unfinished backfill and begin again.")
    var startOver = false

    @Option(
        help: ArgumentHelp(
            "Whether to delete events that the service no longer has: auto (unless suspiciously many), force (always) or never.",
            valueName: "auto|force|never"))
    var retract = Importer.Retraction.auto

    @OptionGroup var rejects: RejectOption
    @OptionGroup var fetch: FetchArguments
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard (2...1_000_000_000).contains(perRequest) else {
            throw ValidationError("--per-request takes 2 to 1000000000, not \(perRequest)")
        }
        if let minMagnitude, !(-12...12).contains(minMagnitude) {
            throw ValidationError("--min-magnitude takes a magnitude from -12 to 12, not \(minMagnitude)")
        }
    }

    func run() async throws {
        var options = Backfill.Options(from: stretch.since.instant)
        options.to = stretch.until?.instant
        options.isRelative = (stretch.since.isRelative, stretch.until?.isRelative ?? false)
        options.minimumMagnitude = minMagnitude
        options.isNewestFirst = newestFirst
        options.service = stretch.service
        options.pace = stretch.pace.duration
        options.service.limit = perRequest
        options.startsOver = startOver
        var imports = Importer.Options()
        imports.retraction = retract
        imports.rejectLimit = rejects.maxRejects
        imports.fetch = fetch.options
        let database = try await database.located()
        let outcome = try await database.withConnection(for: .writer) { connection in
            let backfill = try await Backfill(
                connection, options, imports: imports, logger: database.logger)
            var line = ProgressLine(elsewhereEvery: .seconds(30))
            defer { line.clear() }
            var start: Int?
            return try await backfill.run { progress in
                start = start ?? progress.events
                line.show(ProgressState(progress, resumedAt: start ?? 0))
            }
        }
        let counts = ImportCounts.named.filter { $0.name != "bytes" }
            .map { "\(outcome.counts[keyPath: $0.count]) \($0.name)" }.joined(separator: ", ")
        StandardOutput.print(
            "\(counts); \(outcome.events) events with \(outcome.requests) requests in total")
    }
}
