import ArgumentParser
import Feed
import QuakeStore

struct BackfillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill",
        abstract: "Import a stretch of the past from an FDSN event service.",
        discussion: """
            The stretch is divided into windows that hold fewer events than the service returns at once. Each window is \
            imported like a feed. Without --min-magnitude, events that the service no longer has are deleted, as by an \
            import. If a backfill is interrupted, run the same command again: it goes on where it stopped.

            The service is that of the USGS, or another one that answers query with format=geojson, and count, as that \
            one does. A service that only has QuakeML or text cannot be used.

                quakes backfill --from 2020-01-01 --to 2021-01-01
            """)

    @Option(
        help: ArgumentHelp("Only events from this time on, such as 2020-01-01 or 30d.", valueName: "date"))
    var from: TimeArgument

    @Option(help: ArgumentHelp("Only events before this time. (default: now)", valueName: "date"))
    var to: TimeArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this magnitude or more.", valueName: "m"))
    var minMagnitude: Double?

    @Flag(help: "Start at the end and work backwards.")
    var newestFirst = false

    @Option(
        help: ArgumentHelp(
            "The URL of a service that answers in the USGS's GeoJSON, up to and including its version number.",
            valueName: "url"))
    var service = "https://earthquake.usgs.gov/fdsnws/event/1"

    @Option(help: ArgumentHelp("The shortest wait between two requests.", valueName: "duration"))
    var pace = DurationArgument(argument: "1s")!

    @Option(help: ArgumentHelp("How many events the service returns at once.", valueName: "n"))
    var perRequest = 20_000

    @Flag(help: "Discard an unfinished backfill and begin again.")
    var startOver = false

    @Option(
        help: ArgumentHelp(
            "Whether to delete events that the service no longer has: auto (unless suspiciously many), force (always) or never.",
            valueName: "auto|force|never"))
    var retract = Importer.Retraction.auto

    @OptionGroup var fetch: FetchArguments
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if let to, to.instant <= from.instant { throw ValidationError("--to must be later than --from") }
        guard (2...1_000_000_000).contains(perRequest) else {
            throw ValidationError("--per-request takes 2 to 1000000000, not \(perRequest)")
        }
        guard ["http://", "https://"].contains(where: service.lowercased().hasPrefix) else {
            throw ValidationError("--service takes an http or https URL, not \(FeedSource(service))")
        }
        // A name has neither password nor fragment, where a ? would be none.
        guard !"\(FeedSource.url(service))".contains("?") else {
            throw ValidationError("--service must not have a query")
        }
    }

    func run() async throws {
        var options = Backfill.Options(from: from.instant)
        options.to = to?.instant
        options.minimumMagnitude = minMagnitude
        options.isNewestFirst = newestFirst
        options.service = service.hasSuffix("/") ? String(service.dropLast()) : service
        options.pace = pace.duration
        options.limit = perRequest
        options.startsOver = startOver
        var imports = Importer.Options()
        imports.retraction = retract
        imports.fetch = fetch.options
        let database = try await database.located()
        let outcome = try await database.withConnection(for: .writer) { connection in
            let backfill = try await Backfill(
                connection, options, imports: imports, logger: database.logger)
            var line = BackfillLine()
            let outcome = try await backfill.run { line.show($0) }
            line.end()
            return outcome
        }
        let counts = ImportCounts.named.filter { $0.name != "bytes" }
            .map { "\(outcome.counts[keyPath: $0.count]) \($0.name)" }.joined(separator: ", ")
        StandardOutput.print(
            "\(counts); \(outcome.events) events with \(outcome.requests) requests in total")
    }
}
