import ArgumentParser
import QuakeStore

struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Show what changed, who changed it, and the old and new values.",
        discussion: """
            Changes are listed in the order in which they became visible, the newest last. --code shows the history of one \
            earthquake:

                quakes changes --code us7000abcd

            --limit shows the newest changes. With --after, it shows the first changes after that token. If \
            the limit is reached within a transaction, the rest of that transaction is shown as well. To see \
            more, continue with --after and the last token that was shown. If there are fewer changes than \
            the limit, no more exist. If history after the given token was pruned, the command ends with \
            exit code 66.
            """)

    @Option(
        help: ArgumentHelp(
            "Only changes after this token. (default: all changes in the history)", valueName: "token"))
    var after: Int?

    @Option(help: ArgumentHelp("Only changes of this earthquake.", valueName: "code"))
    var code: String?

    @Option(help: ArgumentHelp("Only changes by this author.", valueName: "author"))
    var author: String?

    @OptionGroup var limit: LimitOption

    @Option(help: "A table for people, or one JSON object per line.")
    var format = LineFormat.table

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        let limit = limit.rows(isTable: format == .table)
        var selection = ChangeSelection()
        selection.after = after
        selection.code = code
        selection.author = author
        selection.limit = limit.rows
        selection.describesEvents = format == .table
        let listing = Listing(format.form(Change.columns, \.json))
        try await database.withConnection(for: .reader) { connection in
            if let code { try await UnknownCodes.check(code, on: connection) }
            let hasMore = try await selection.forEach(on: connection, beginning: tell, listing.append)
            listing.finish("", none: "there are no such changes")
            if hasMore { tellOfMore(limit) }
        }
    }

    private func tellOfMore(_ limit: RowLimit) {
        guard after != nil else { return limit.tellOfMore("the newest") }
        if limit.isDefault {
            StandardError.say("there are more changes after the last token; --limit 0 shows all")
        }
    }

    /// Says that older history was pruned, unless the user gave --after.
    private func tell(_ horizon: Horizon) {
        if after == nil, horizon.token > 0 { StandardError.say("\(horizon)") }
    }
}
