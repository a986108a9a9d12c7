import ArgumentParser
import QuakeStore
import QuakeView
import Synchronization

struct FollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Keep a local view up to date, or stream the changes.",
        discussion: """
            --view FILE keeps the earthquakes in a SQLite file, in the tables quake and position. Both tables change \
            together, so each change arrives exactly once, even if processes are killed. Other programs can read the \
            file at the same time.

            --format ndjson writes each change to standard output as one line of JSON, in the order of tokens. Each pass \
            ends with a line that holds its position. --token FILE stores that position after the lines are written, so \
            each change arrives at least once.

            The first start takes a snapshot of the table. The command also takes a snapshot if the history that it needs \
            was pruned, or if the server has lost changes that the command has already processed. It reports each snapshot.

            The command runs until it is stopped. If the database is unavailable, at the start or later, the command waits for \
            it. SIGTERM ends the command with exit code 0.
            """)

    @Option(help: ArgumentHelp("The SQLite file to keep up to date.", valueName: "file"))
    var view: String?

    @Option(help: "Stream the changes to standard output.")
    var format: Format?

    @Option(help: ArgumentHelp("The file in which a stream keeps its position.", valueName: "file"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "Report the position under this name: quakes status then shows the lag, and quakes prune keeps the history that is still needed.",
            valueName: "name"))
    var name: String?

    @Flag(help: "Catch up, then exit.")
    var once = false

    @OptionGroup var database: DatabaseOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case ndjson
    }

    func validate() throws {
        guard (view == nil) != (format == nil) else {
            throw ValidationError("give either --view FILE or --format ndjson")
        }
        guard token == nil || format != nil else {
            throw ValidationError("--token needs --format ndjson; a view keeps its own position")
        }
        guard (1...200).contains(name?.utf8.count ?? 1) else {
            throw ValidationError("--name must have 1 to 200 bytes")
        }
    }

    func run() async throws {
        do {
            // The file is opened first, so that a wrong file is refused even without a database.
            if let view {
                try await follow(SQLiteView(view))
            } else {
                try await follow(ChangeStream(tokenFile: token.map { try TokenFile($0) }))
            }
        } catch is CancellationError where !once {
            // Following is normally stopped by a signal.
        }
    }

    private func follow(_ view: some ReaderView) async throws {
        let database = try await database.located()
        if once {
            try await database.withConnection(for: .reader) { _ in }
        } else {
            try await database.waitUntilFit(for: .reader)
        }
        let follower = Follower(
            database.options, view: view, name: name, logger: database.logger,
            observer: Self.observer(of: view))
        try await database.namingGrants(for: .reader) {
            if once {
                try await follower.catchUp()
            } else {
                try await follower.run()
            }
        }
    }

    /// At a terminal, shows the progress of the first pass into a view's file. A stream needs no such line, because its output
    /// shows the progress.
    private static func observer(of view: some ReaderView) -> (@Sendable (PassProgress) -> Void)? {
        guard view is SQLiteView, StandardError.isTerminal else { return nil }
        let line = Mutex(ProgressLine())
        return { progress in
            line.withLock {
                if progress.isDone { $0.clear() } else { $0.show(ProgressState(progress)) }
            }
        }
    }
}
