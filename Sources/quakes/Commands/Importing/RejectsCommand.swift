import ArgumentParser
import Feed
import QuakeStore

struct RejectsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rejects",
        abstract: "Show what could not be imported, and why.",
        discussion: """
            Features with the same bytes are kept once, with a count. The list begins with the feature that was seen last. With \
            an ID, the command writes the original bytes of that feature:

                quakes rejects 7 | head -c 300
            """)

    @Argument(help: "Write the bytes of this reject.")
    var id: Int?

    @Option(help: ArgumentHelp("Only rejects that were last seen in this run.", valueName: "run"))
    var run: Int?

    @OptionGroup var limit: LimitOption

    @Option(help: "A table for people, or one JSON object per line.")
    var format = LineFormat.table

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await database.withConnection(for: .reader) { connection in
            if let id {
                guard let bytes = try await Reject.bytes(of: id, on: connection) else {
                    throw Failure(.noInput, "there is no reject \(id); quakes rejects lists them")
                }
                bytes.withUnsafeBytes { StandardOutput.write($0) }
                return
            }
            let limit = limit.rows(isTable: format == .table)
            let listing = Listing(format.form(Reject.columns, \.json), limit: limit)
            try await Reject.forEach(run: run, limit: limit.reading, on: connection, listing.append)
            listing.finish("the latest", none: "there are no rejects\(run.map { " of run \($0)" } ?? "")")
        }
    }
}
