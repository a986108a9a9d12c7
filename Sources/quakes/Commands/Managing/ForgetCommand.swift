import ArgumentParser
import Feed
import QuakeStore

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract:
            "Drop the records of a source that is no longer imported, or of a removed reader.",
        discussion: """
            quakes status then no longer shows the source, and no longer expects it to be fresh. Its runs and an unfinished \
            backfill are dropped. The earthquakes, their history and the rejects stay:

                quakes forget all_month

            --reader drops a named reader's position. quakes status --max-lag, the metrics and the reports then no longer \
            count it, and quakes prune no longer keeps history for it. If the reader still follows under that name, it \
            reports its position again within seconds:

                quakes forget --reader NAME
            """)

    @Argument(help: "The sources to forget, as they were imported or as quakes status shows them.")
    var sources: [FeedSource] = []

    @Option(
        name: .customLong("reader"),
        help: ArgumentHelp(
            "A named reader to forget. Can be given several times.", valueName: "name"))
    var readers: [String] = []

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard !sources.isEmpty || !readers.isEmpty else {
            throw ValidationError("name what to forget: sources, or readers with --reader")
        }
    }

    func run() async throws {
        try await database.withConnection(for: .owner) { connection in
            for source in sources {
                let runs = try await Forgetting.forget(source, on: connection)
                let name = strippingControlCharacters(source.shortName ?? "\(source)")
                StandardOutput.print("forgot \(name) and its \(runs) run\(runs == 1 ? "" : "s")")
            }
            for reader in readers {
                try await Forgetting.forget(reader: reader, on: connection)
                StandardOutput.print("forgot the reader \(strippingControlCharacters(reader))")
            }
        }
    }
}
