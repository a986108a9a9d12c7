import ArgumentParser
import Feed
import QuakeStore

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare a stretch of the table with an event service, and repair it.",
        discussion: """
            Lists each event in which the table and the service differ: missing here, older or newer here than \
            there, different in a version of the same time, or surplus, which the service does not have. Events revised \
            less than 15 minutes ago are left out, because the worker may not have asked for them yet.

            The exit code is 0 if they agree, and 65 if they do not. With --repair, the windows of time in which something was \
            found are imported again, each in one transaction. The exit code is then 0, or 65 if something is left as it was:

                quakes verify --since 7d
                quakes verify --since 2020-01-01 --until 2020-02-01 --repair
            """)

    @OptionGroup var stretch: ServiceStretch

    @Flag(help: "Import and delete what was found to differ.")
    var `repair` = false

    @Option(
        help: ArgumentHelp(
            "Whether --repair deletes events, and takes back versions, that the service does not have: auto (unless suspiciously many), force (always) or never.",
            valueName: "auto|force|never"))
    var retract = Importer.Retraction.auto

    @Option(help: "A table for people, one JSON array, or CSV.")
    var format = TableFormat.table

    @OptionGroup var spreadsheet: SpreadsheetOption
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
            StandardError.print(
                "quakes: repaired: \(counts.inserted) inserted, \(counts.updated) updated, \(counts.superseded + counts.retracted) deleted"
            )
            if repair.left > 0 {
                let more = repair.left > repair.codes.count ? ", …" : ""
                StandardError.print(
                    "quakes: \(repair.left) left as they were: \(repair.codes.joined(separator: ", "))\(more); to delete an event, use quakes delete"
                )
            }
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
        StandardError.print(
            "quakes: \(outcome.events) events there\(unread); \(outcome.findings) differ; \(outcome.requests) requests"
        )
    }
}
