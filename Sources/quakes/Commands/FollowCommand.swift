import ArgumentParser
import QuakeStore
import QuakeView

struct FollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Follow the changes into a local view, or as a stream.",
        discussion: """
            With --view FILE the earthquakes are kept in a SQLite file, in tables quake and position, which change together: \
            each change arrives there exactly once, whatever is killed on the way. Other programs can read the file \
            meanwhile.

            With --format ndjson each change is one line of JSON on standard output, in the order of tokens, and each pass \
            ends with a line that holds its position. --token FILE keeps that position once the lines are written: each change \
            arrives at least once.

            The first start takes a snapshot of the table. So does a start after the history was pruned too far, or after \
            the server has lost what was seen already: it is said, never passed over.

            It follows until it is stopped, over restarts of the server. SIGTERM ends it with exit status 0.
            """)

    @Option(help: ArgumentHelp("The SQLite file to keep up to date.", valueName: "file"))
    var view: String?

    @Option(help: "Write a stream to standard output.")
    var format: Format?

    @Option(help: ArgumentHelp("Where a stream keeps its position.", valueName: "file"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "Report the position under this name: quakes status shows its lag, and quakes prune spares what it needs.",
            valueName: "name"))
    var name: String?

    @Flag(help: "Catch up and end.")
    var once = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case ndjson
    }

    func validate() throws {
        guard (view == nil) != (format == nil) else {
            throw ValidationError("give --view FILE or --format ndjson, one of them")
        }
        guard token == nil || format != nil else {
            throw ValidationError("--token belongs to --format ndjson; a view keeps its own position")
        }
        guard name != "" else { throw ValidationError("--name must not be empty") }
    }

    func run() async throws {
        do {
            // The file first: a wrong one needs no database to be refused.
            if let view {
                try await follow(SQLiteView(view))
            } else {
                try await follow(ChangeStream(tokenFile: token.map { try TokenFile($0) }))
            }
        } catch is CancellationError where !once {
            // A signal is how following ends.
        }
    }

    private func follow(_ view: some View) async throws {
        let logger = log.logger()
        let database = try await database.located()
        try await database.withConnection(for: .reader, logger) { _ in }
        let follower = Follower(database.options, view: view, name: name, logger: logger)
        try await database.namingGrants(for: .reader, logger) {
            if once {
                try await follower.catchUp()
            } else {
                try await follower.run()
            }
        }
    }
}
