import ArgumentParser
import Feed
import QuakeStore

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare a period of the table with an event service, and repair the differences.",
        discussion: """
            Lists each event in which the table and the service differ. The event is missing if only the service has it, and \
            surplus if only the table has it. It is older or newer if the table has an older or newer version than the service, \
            and different if the versions have the same time, or the table's has none, but other values. Events revised less than \
            15 minutes ago are left out, because the daemon may not have imported them yet.

            The exit code is 0 if table and service agree, and 65 if they differ. With --repair, each window of time with a \
            difference is imported again in one transaction. The exit code is then 0, or 65 if some differences remain:

                quakes verify --since 7d
                quakes verify --since 2020-01-01 --until 2020-02-01 --repair
            """)

    @OptionGroup var stretch: ServiceStretch

    @Flag(help: "Import events that differ, and delete surplus events.")
    var `repair` = false

    @Option(
        help: ArgumentHelp(
            "Whether --repair deletes surplus events, and replaces newer versions by those of the service: auto (unless suspiciously many), force (always) or never.",
            valueName: "auto|force|never"))
    var retract = Importer.Retraction.auto

    @Option(help: "A table for people, one JSON array, or CSV.")
    var format = TableFormat.table

    @OptionGroup var spreadsheet: SpreadsheetOption
    @OptionGroup var rejects: RejectOption
    @OptionGroup var fetch: FetchArguments
    @OptionGroup var database: DatabaseOptions

    func validate() throws { try spreadsheet.validate(isCSV: format == .csv) }

    func run() async throws {
        var options = Verification.Options(
            from: stretch.since.instant, to: stretch.until?.instant ?? .now)
        options.service = stretch.service
        options.pace = stretch.pace.duration
        var imports = Importer.Options()
        imports.retraction = retract
        imports.rejectLimit = rejects.maxRejects
        imports.fetch = fetch.options
        let database = try await database.located()
        let differs = try await database.withConnection(for: .writer) { connection in
            let verification = try await Verification(
                connection, options, imports: imports, logger: database.logger)
            let outcome = try await verification.run()
            try await show(outcome, of: verification)
            guard `repair`, outcome.findings > 0 else { return outcome.findings > 0 }
            let repair = try await verification.repair(outcome)
            let counts = repair.counts
            StandardError.say(
                "repaired: \(counts.inserted) inserted, \(counts.updated) updated, \(counts.superseded + counts.retracted) deleted"
            )
            if repair.left > 0 {
                let more = repair.left > repair.codes.count ? ", …" : ""
                StandardError.say(
                    "not repaired (\(repair.left)): \(repair.codes.joined(separator: ", "))\(more); to delete an event, use quakes delete"
                )
            }
            if let failure = repair.failure { throw failure }
            return repair.left > 0
        }
        if differs { throw ExitCode(ExitStatus.badData) }
    }

    private func show(_ outcome: Verification.Outcome, of verification: Verification) async throws {
        if format != .table || outcome.findings > 0 {
            let form = format.form(
                Verification.Finding.columns, csv: spreadsheet.csv, Verification.Finding.names, \.fields,
                \.json)
            let listing = Listing(form)
            try await verification.forEachFinding(listing.append)
            listing.finish("the first")
        }
        let unread = outcome.rejected > 0 ? ", \(outcome.rejected) of which cannot be read" : ""
        StandardError.say(
            "\(outcome.events) events at the service\(unread); \(outcome.findings) differ; \(outcome.requests) requests"
        )
    }
}
