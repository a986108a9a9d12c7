import ArgumentParser
import QuakeStore
import Synchronization

struct RejectsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rejects",
        abstract: "Show what could not be imported, and why.",
        discussion: """
            Features with the same bytes are kept once and counted. Those seen last come first. With an ID, the command \
            writes the bytes of that feature as the feed had them:

                quakes rejects 7 | head -c 300
            """)

    @Argument(help: "Write the bytes of this reject.")
    var id: Int?

    @Option(help: ArgumentHelp("Only rejects that were last seen in this run.", valueName: "run"))
    var run: Int?

    @OptionGroup var limit: LimitOption

    @Option(help: "A table for people, or one JSON object per line.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, ndjson
    }

    func run() async throws {
        try await database.withConnection(for: .reader, log.logger()) { connection in
            if let id {
                guard let bytes = try await Reject.bytes(of: id, on: connection) else {
                    throw UnknownReject(id: id)
                }
                bytes.withUnsafeBytes { StandardOutput.write($0) }
                return
            }
            let limit = limit.rows(isTable: format == .table)
            let rows = LimitedRows(limit)
            let table = Mutex(Self.emptyTable)
            try await Reject.forEach(run: run, limit: limit.reading, on: connection) { reject in
                guard rows.next() else { return }
                switch format {
                case .ndjson: StandardOutput.print(reject.json)
                case .table: StandardOutput.write(table.withLock { $0.append(reject.cells) })
                }
            }
            if format == .table { StandardOutput.write(table.withLock { $0.finish() }) }
            rows.finish("the latest")
        }
    }

    private static var emptyTable: Table {
        Table(
            columns: [
                TableColumn(title: "id", alignment: .right),
                TableColumn(title: "last seen (UTC)"),
                TableColumn(title: "times", alignment: .right),
                TableColumn(title: "reason"),
                TableColumn(title: "message", minimumWidth: 30, flexible: true, widest: 1000),
                TableColumn(title: "run", alignment: .right, priority: 1),
                TableColumn(title: "source", priority: 2, widest: 1000),
                TableColumn(title: "feature", alignment: .right, priority: 1),
                TableColumn(title: "at byte", alignment: .right, priority: 1),
                TableColumn(title: "size", alignment: .right, priority: 2),
            ], at: StandardOutput.terminal)
    }
}

/// There is no reject with this number.
struct UnknownReject: Error, CustomStringConvertible {
    let id: Int

    var description: String { "there is no reject \(id); quakes rejects lists them" }
}
