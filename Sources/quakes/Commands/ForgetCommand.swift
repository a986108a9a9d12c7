import ArgumentParser
import Feed
import QuakeStore

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Drop what is kept about a source that is no longer imported.",
        discussion: """
            quakes status then no longer shows the source, and no longer expects it to be fresh. Its runs and an unfinished \
            backfill are dropped. The earthquakes, their history and the rejects stay:

                quakes forget all_month
            """)

    @Argument(help: "The sources to forget, as they were imported or as quakes status shows them.")
    var sources: [FeedSource]

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    func run() async throws {
        try await database.withConnection(for: .owner, log.logger()) { connection in
            for source in sources {
                let runs = try await Forgetting(source).run(on: connection)
                let name = strippingControlCharacters(source.shortName ?? "\(source)")
                StandardOutput.print("forgot \(name) and its \(runs) run\(runs == 1 ? "" : "s")")
            }
        }
    }
}
