import ArgumentParser
import Feed
import QuakeStore

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether the data are fresh, what failed, and how far behind the readers are.",
        discussion: """
            For a monitor: with --max-age or --max-lag, the exit code is 69 if a feed has not been imported successfully \
            for too long, or if a named reader is too far behind. Standard error says which:

                quakes status --max-age 15m --max-lag 5m
            """)

    @Argument(help: "Only these sources. (default: all)")
    var sources: [FeedSource] = []

    @Option(help: ArgumentHelp("How old a feed's last successful import may be.", valueName: "duration"))
    var maxAge: DurationArgument?

    @Option(help: ArgumentHelp("How far behind a named reader may be.", valueName: "duration"))
    var maxLag: DurationArgument?

    @Option(help: "Text for people, or one JSON object.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, json
    }

    func run() async throws {
        let status = try await database.withConnection(for: .reader, log.logger()) { connection in
            Status(
                imports: try await ImportStatus.read(of: sources, on: connection),
                history: try await HistoryStatus.read(on: connection))
        }
        switch format {
        case .json: StandardOutput.print(status.json)
        case .table: StandardOutput.write(status.text(width: StandardOutput.width))
        }
        let complaints = status.complaints(maxAge: maxAge?.duration, maxLag: maxLag?.duration, asked: sources)
        for complaint in complaints {
            StandardError.print("quakes: \(strippingControlCharacters(complaint))")
        }
        if !complaints.isEmpty { throw ExitCode(ExitStatus.unavailable) }
    }
}
