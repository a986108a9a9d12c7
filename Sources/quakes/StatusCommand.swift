import ArgumentParser
import QuakeStore

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell where the history stands and how far readers are behind.")

    @Option(help: "Text for people, or one JSON object.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, json
    }

    func run() async throws {
        let status = try await database.withConnection(for: .reader, log.logger()) { connection in
            try await HistoryStatus.read(on: connection)
        }
        switch format {
        case .json: StandardOutput.print(status.json)
        case .table:
            StandardOutput.print(
                "token \(status.token), committed \(status.committedAt.shortText) UTC; history begins after token \(status.horizon)"
            )
            guard !status.readers.isEmpty else { return }
            StandardOutput.print("")
            StandardOutput.write(status.readerTable.render(width: StandardOutput.width))
        }
    }
}

extension HistoryStatus {
    fileprivate var readerTable: Table {
        var table = Table(columns: [
            TableColumn(title: "reader", minimumWidth: 10, flexible: true),
            TableColumn(title: "token", alignment: .right),
            TableColumn(title: "behind", alignment: .right),
            TableColumn(title: "transactions", alignment: .right),
            TableColumn(title: "seen (UTC)"),
            TableColumn(title: "note", priority: 1),
        ])
        for reader in readers {
            table.append([
                reader.name, "\(reader.token)", reader.behind.formatted, "\(reader.transactionsBehind)",
                reader.seenAt.shortText, reader.isBeforeHorizon ? "needs a fresh snapshot" : "",
            ])
        }
        return table
    }

    fileprivate var json: String {
        var object = JSONObject()
        object.append("token", token)
        object.append("committed_at", committedAt.description)
        object.append("horizon", horizon)
        let readers = readers.map { reader in
            var object = JSONObject()
            object.append("name", reader.name)
            object.append("token", reader.token)
            object.append("seen_at", reader.seenAt.description)
            object.append("transactions_behind", reader.transactionsBehind)
            object.append("seconds_behind", reader.behind / .seconds(1))
            object.append("needs_snapshot", reader.isBeforeHorizon)
            return object.text
        }
        object.append("readers", json: "[\(readers.joined(separator: ","))]")
        return object.text
    }
}
