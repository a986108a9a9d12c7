import ArgumentParser
import QuakeStore

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove old history, and old records of runs and rejects.",
        discussion: """
            The earthquakes stay as they are. Only the record of who changed them, with their earlier values, is removed. \
            If a named reader was seen in the last 24 hours, the history that it still needs stays too. A reader that \
            comes back after its history was removed takes a fresh snapshot. All history since the oldest cited moment \
            (quakes cite) stays, too.

            The record of a run is kept for --keep-runs. A reject is kept for --keep-runs after a feed last contained it. \
            The last run and the last successful run of each source always stay, and so do runs that have not ended.
            """)

    @Option(help: ArgumentHelp("Keep at least this much history, such as 30d.", valueName: "duration"))
    var keep: DurationArgument

    @Option(
        help: ArgumentHelp("Keep no more history than this, even if readers need it.", valueName: "duration"))
    var keepAtMost: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Keep the records of runs and rejects for this long. (default: 90d)", valueName: "duration"))
    var keepRuns: DurationArgument?

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if let keepAtMost, keepAtMost.duration < keep.duration {
            throw ValidationError("--keep-at-most must not be less than --keep")
        }
    }

    func run() async throws {
        var pruning = Pruning(keep: keep.duration, keepAtMost: keepAtMost?.duration)
        if let keepRuns { pruning.keepRuns = keepRuns.duration }
        let outcome = try await database.withConnection(for: .owner) { [pruning] connection in
            try await pruning.run(on: connection)
        }
        StandardOutput.print(
            "pruned \(outcome.transactions) transactions with \(outcome.changes) changes; history begins after token \(outcome.horizon)"
        )
        StandardOutput.print("pruned \(outcome.runs) runs and \(outcome.rejects) rejects")
        if let citation = outcome.keptForCitation {
            StandardError.say(
                "kept older history for the citation \(strippingControlCharacters(citation)); quakes cite NAME --release releases it"
            )
        }
        if let reader = outcome.keptFor {
            StandardError.say(
                "kept older history for reader \(strippingControlCharacters(reader)); --keep-at-most limits this"
            )
        }
    }
}
