import ArgumentParser
import QuakeStore

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

    @Option(
        help: ArgumentHelp(
            "List at most this many; 0 for all. (default: 20 for a table, otherwise all)", valueName: "n"))
    var limit: Int?

    @Option(help: "A table for people, or one JSON object per line.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, ndjson
    }

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative") }
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
            let limit = limit ?? (format == .table ? 20 : 0)
            let rejects = try await Reject.list(run: run, limit: limit == 0 ? nil : limit, on: connection)
            switch format {
            case .ndjson: for reject in rejects { StandardOutput.print(reject.json) }
            case .table: show(rejects)
            }
        }
    }

    private func show(_ rejects: [Reject]) {
        var table = Table(columns: [
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
        ])
        for reject in rejects {
            table.append([
                "\(reject.id)", reject.lastSeen.shortText, "\(reject.count)", reject.reason, reject.message,
                "\(reject.run)", reject.source, "\(reject.ordinal)", "\(reject.offset)", "\(reject.size)",
            ])
        }
        StandardOutput.write(table.render(width: StandardOutput.width))
    }
}

/// There is no reject with this number.
struct UnknownReject: Error, CustomStringConvertible {
    let id: Int

    var description: String { "there is no reject \(id); quakes rejects lists them" }
}
