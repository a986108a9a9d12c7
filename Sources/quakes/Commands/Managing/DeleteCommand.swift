import ArgumentParser
import QuakeStore

struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete earthquakes; history keeps their rows.",
        discussion: """
            All the earthquakes are deleted in one transaction, or none is. If a feed still has a deleted earthquake, the next \
            import inserts it again.

            The reason "superseded by CODE" says that CODE is the earthquake's new code; "retracted by NAME" says that the feed \
            of this name withdrew it. Any other text is only shown.
            """)

    @Argument(help: "Codes of the earthquakes to delete, such as us7000abcd.")
    var codes: [String]

    @Option(help: ArgumentHelp("The reason, for the history.", valueName: "text"))
    var reason: String?

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await database.withConnection(for: .writer) { connection in
            try await Deletion.delete(codes, reason: reason, on: connection)
        }
        for code in codes { StandardOutput.print("deleted \(strippingControlCharacters(code))") }
    }
}
