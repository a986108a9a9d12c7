import ArgumentParser
import Feed
import PostgreSQL
import QuakeStore
import Synchronization

struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Show a report: activity, magnitudes, aftershocks, revisions, freshness.",
        discussion: """
            Without a name, the command lists the reports: the views and functions of the schema report. NAME=VALUE sets \
            a parameter of a function, or limits a view to the rows that have this value in that column. Times are written as \
            in the other commands, such as 2019-07-06, 2019-07 or 7d:

                quakes report daily_activity region=Alaska --limit 10
                quakes report gutenberg_richter since=2019-07-01 completeness=3 --merge
                quakes report aftershock_rate mainshock=ci38457511 --format csv

            Reports that count events accept agency=NAME, which counts only the events of that agency, and merge=true, which \
            counts each earthquake once, even if several agencies report it. Without either, an earthquake counts once for each \
            agency that reports it.

            Rows are sorted by the first column. If the first column is a time, a table at a terminal shows the newest rows \
            first.
            """)

    @Argument(help: "The report to show. (default: list the reports)")
    var name: String?

    @Argument(help: ArgumentHelp("Values for parameters or columns.", valueName: "name=value"))
    var arguments: [String] = []

    @Flag(help: "The same as merge=true.")
    var merge = false

    @Option(help: ArgumentHelp("The same as agency=NAME.", valueName: "name"))
    var agency: String?

    @OptionGroup var limit: LimitOption

    @Option(help: "A table for people, comma-separated values with a header, or one JSON array of objects.")
    var format = TableFormat.table

    @OptionGroup var spreadsheet: SpreadsheetOption
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        try spreadsheet.validate(isCSV: format == .csv)
        guard name != nil || format == .table else {
            throw ValidationError("--format needs the name of a report")
        }
        for argument in arguments where !argument.unicodeScalars.contains("=") {
            throw ValidationError("\(argument) is not of the form NAME=VALUE")
        }
    }

    func run() async throws {
        try await database.withConnection(for: .report) { connection in
            let reports = try await Report.all(on: connection)
            guard let name else { return list(reports) }
            guard let report = reports.first(where: { $0.name == name }) else {
                let names = reports.map(\.name)
                let remedy = closestSpelling(of: name, among: names).map { "did you mean \($0)?" }
                throw ValidationError(
                    "there is no report \(name); \(remedy ?? "the reports are \(names.joined(separator: ", "))")"
                )
            }
            try await show(report, try values(for: report), on: connection)
        }
    }

    /// Lists the reports. At a terminal, it shows the beginning of each summary, on several lines if necessary; elsewhere it
    /// shows the whole summary on one line.
    private func list(_ reports: [Report]) {
        let isTerminal = StandardOutput.isTerminal
        let columns: [Column<Report>] = [
            Column("report") { $0.name },
            Column("what", minimumWidth: 30, flexible: true, widest: 2000, breaking: .text) { report in
                let end = isTerminal ? report.summary.firstRange(of: #/[.:](?= |$)/#)?.lowerBound : nil
                let summary = end.map { String(report.summary[..<$0]) } ?? report.summary
                let taken = report.parameters.filter(\.isArgument).map(\.name).joined(separator: ", ")
                return summary + (taken.isEmpty ? "" : "\(end == nil ? " " : ". ")Takes \(taken).")
            },
        ]
        StandardOutput.write(reports.table(columns, at: StandardOutput.terminal))
    }

    private func values(for report: Report) throws -> [String: String] {
        var values: [String: String] = [:]
        let options = (merge ? ["merge=true"] : []) + (agency.map { ["agency=\($0)"] } ?? [])
        for argument in arguments + options {
            let pair = argument.unicodeScalars.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map { String($0) }
            guard let parameter = report.parameters.first(where: { $0.name == pair[0] }) else {
                throw ValidationError(
                    "\(report.name) has no \(pair[0]); it has \(report.parameters.map(\.name).joined(separator: ", "))"
                )
            }
            guard values.updateValue(time(pair[1], of: parameter), forKey: pair[0]) == nil else {
                throw ValidationError("\(pair[0]) is given twice")
            }
        }
        for parameter in report.parameters where parameter.isRequired && values[parameter.name] == nil {
            throw ValidationError(
                "\(report.name) needs \(parameter.name)=VALUE, such as: quakes report \(report.name) \(parameter.name)=\(parameter.name == "mainshock" ? "us7000abcd" : "…")"
            )
        }
        return values
    }

    /// The value as SQL reads it. A time may be given as in the other commands, such as `2019-07` or `7d`.
    private func time(_ value: String, of parameter: Report.Parameter) -> String {
        // A moment is passed on unchanged, because SQL also reads its microseconds.
        guard parameter.type == "timestamp with time zone", let time = TimeArgument(argument: value),
            time.end > time.instant || Instant(value) == nil
        else { return value }
        return "\(parameter.name == "until" ? time.end : time.instant)"
    }

    private func show(_ report: Report, _ values: [String: String], on connection: Connection) async throws {
        try await report.checkMainshock(values, on: connection)
        try await report.checkAgencies(values, on: connection)
        if report.isCount, values["merge"] == nil, values["agency"] == nil,
            try await Report.hasSeveralAgencies(on: connection)
        {
            StandardError.say(
                "an earthquake counts once for each agency that reports it; --merge counts each earthquake once, --agency NAME counts the events of one agency"
            )
        }
        let limit = limit.rows(isTable: format == .table)
        let listing = Listing(report.form(format, csv: spreadsheet.csv), limit: limit)
        let fits = Mutex<[[String?]]>([])
        let hasFits = report.columns.contains { $0.name == "is_good_fit" }
        let isBackwards = report.isChronicle && format == .table && StandardOutput.isTerminal
        do {
            try await report.forEachRow(
                values, limit: limit.reading, backwards: isBackwards,
                for: format == .table ? .table : format == .csv ? .csv : .json, on: connection
            ) { row in
                if hasFits { fits.withLock { $0.append(row) } }
                listing.append(row)
            }
        } catch let error as PostgresError where error.isRefusedValue && !values.isEmpty {
            let given = values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            throw ValidationError("\(error.message); given: \(given.joined(separator: " "))")
        }
        listing.finish(isBackwards ? "the newest" : "the first", none: "the report has no rows")
        if let warning = report.warning(of: fits.withLock { $0 }) { StandardError.say(warning) }
    }
}
