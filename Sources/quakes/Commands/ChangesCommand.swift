import ArgumentParser
import QuakeStore
import Synchronization

struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Show what changed, who changed it, and the old and new values.",
        discussion: """
            Changes are listed in the order in which they became visible. --code shows the history of one earthquake:

                quakes changes --code us7000abcd
            """)

    @Option(help: ArgumentHelp("Only changes after this token.", valueName: "token"))
    var after = 0

    @Option(help: ArgumentHelp("Only changes of this earthquake.", valueName: "code"))
    var code: String?

    @Option(help: ArgumentHelp("Only changes by this author.", valueName: "author"))
    var author: String?

    @Option(help: ArgumentHelp("Show at most this many changes.", valueName: "n"))
    var limit: Int?

    @Option(help: "A table for people, or one JSON object per line.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, ndjson
    }

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        var selection = ChangeSelection()
        selection.after = after
        selection.code = code
        selection.author = author
        selection.limit = limit
        try await database.withConnection(for: .reader, log.logger()) { connection in
            switch format {
            case .ndjson:
                try await selection.forEach(on: connection) { StandardOutput.print($0.json) }
            case .table:
                let table = Mutex(Self.emptyTable)
                try await selection.forEach(on: connection) { change in
                    table.withLock { $0.append(change.cells) }
                }
                StandardOutput.write(table.withLock { $0.render(width: StandardOutput.width) })
            }
        }
    }

    private static var emptyTable: Table {
        Table(columns: [
            TableColumn(title: "time (UTC)"),
            TableColumn(title: "token", alignment: .right),
            TableColumn(title: "author", priority: 1),
            TableColumn(title: "context", priority: 2),
            TableColumn(title: "code"),
            TableColumn(title: "change", minimumWidth: 30, flexible: true),
        ])
    }
}
