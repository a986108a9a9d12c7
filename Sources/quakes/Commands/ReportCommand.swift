import ArgumentParser
import PostgreSQL
import QuakeStore
import Synchronization

struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Show a report: activity, magnitudes, aftershocks, revisions, freshness.",
        discussion: """
            Without a name it lists the reports, which are the views and functions of the schema report. NAME=VALUE gives a \
            function its parameters, and narrows a view to the rows that have this value in that column:

                quakes report daily_activity region=Alaska --limit 10
                quakes report gutenberg_richter since=2019-07-01 completeness=3
                quakes report aftershock_rate mainshock=ci38457511 radius_km=50 --format csv
            """)

    @Argument(help: "The report. (default: a list of them)")
    var name: String?

    @Argument(help: ArgumentHelp("Values of parameters or columns.", valueName: "name=value"))
    var arguments: [String] = []

    @Option(help: ArgumentHelp("At most this many rows.", valueName: "n"))
    var limit: Int?

    @Option(help: "A table for people, comma-separated values with a header, or one JSON array of objects.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, csv, json
    }

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative") }
        for argument in arguments where !argument.contains("=") {
            throw ValidationError("\(argument) is no NAME=VALUE")
        }
    }

    func run() async throws {
        try await database.withConnection(for: .report, log.logger()) { connection in
            let reports = try await Report.all(on: connection)
            guard let name else { return list(reports) }
            guard let report = reports.first(where: { $0.name == name }) else {
                throw ValidationError(
                    "there is no report \(name); there are \(reports.map(\.name).joined(separator: ", "))")
            }
            try await show(report, try values(for: report), on: connection)
        }
    }

    private func list(_ reports: [Report]) {
        var table = Table(columns: [
            TableColumn(title: "report"), TableColumn(title: "what", minimumWidth: 40, flexible: true),
        ])
        for report in reports {
            let parameters = report.isFunction ? report.parameters.map(\.name) : []
            table.append([([report.name] + parameters).joined(separator: " "), report.summary])
        }
        StandardOutput.write(table.render(width: StandardOutput.width))
    }

    private func values(for report: Report) throws -> [String: String] {
        var values: [String: String] = [:]
        for argument in arguments {
            let pair = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
                String.init)
            guard report.parameters.contains(where: { $0.name == pair[0] }) else {
                throw ValidationError(
                    "\(report.name) has no \(pair[0]); it has \(report.parameters.map(\.name).joined(separator: ", "))"
                )
            }
            values[pair[0]] = pair[1]
        }
        for parameter in report.parameters where parameter.isRequired && values[parameter.name] == nil {
            throw ValidationError("\(report.name) needs \(parameter.name)=VALUE")
        }
        return values
    }

    private func show(_ report: Report, _ values: [String: String], on connection: Connection) async throws {
        let writer = Mutex(ReportWriter(report, format))
        do {
            try await report.forEachRow(
                values, limit: limit, times: format == .table ? .short : .iso8601, on: connection
            ) { cells in writer.withLock { $0.append(cells) } }
        } catch let error as PostgresError where error.isRefusedValue && !values.isEmpty {
            throw ValidationError(error.message)
        }
        writer.withLock { $0.finish() }
    }
}

/// Writes a report's rows to standard output: CSV and JSON as they come, a table at the end.
private struct ReportWriter {
    private let report: Report
    private let format: ReportCommand.Format
    private var rows: [[String?]] = []
    private var isEmpty = true

    init(_ report: Report, _ format: ReportCommand.Format) {
        self.report = report
        self.format = format
        if format == .csv { StandardOutput.print(CSV.line(report.columns.map(\.name))) }
    }

    mutating func append(_ cells: [String?]) {
        switch format {
        case .table: rows.append(cells)
        case .csv: StandardOutput.print(CSV.line(cells))
        case .json: StandardOutput.write((isEmpty ? "[\n" : ",\n") + object(cells))
        }
        isEmpty = false
    }

    func finish() {
        switch format {
        case .table: StandardOutput.write(table.render(width: StandardOutput.width))
        case .csv: break
        case .json: StandardOutput.print(isEmpty ? "[]" : "\n]")
        }
    }

    private func object(_ cells: [String?]) -> String {
        var object = JSONObject()
        for (column, cell) in zip(report.columns, cells) {
            switch column.kind {
            case .integer: object.append(column.name, json: cell ?? "null")
            case .number: object.append(column.name, cell.flatMap { Double($0) })
            case .boolean: object.append(column.name, cell.map { $0 == "t" })
            case .time, .text: object.append(column.name, cell)
            }
        }
        return object.text
    }

    private var table: Table {
        // What has no time of day is a date.
        let midnight = " 00:00:00"
        let dates = report.columns.indices.filter { index in
            report.columns[index].kind == .time && rows.allSatisfy { $0[index]?.hasSuffix(midnight) ?? true }
        }
        var table = Table(
            columns: report.columns.enumerated().map { index, column in
                let isText = column.kind == .text
                return TableColumn(
                    title: column.name,
                    alignment: [.integer, .number].contains(column.kind) ? .right : .left,
                    minimumWidth: isText ? 12 : 0, priority: index, flexible: isText)
            })
        for row in rows {
            table.append(
                zip(report.columns.indices, row).map { index, cell in
                    guard let cell else { return "" }
                    if dates.contains(index) { return String(cell.dropLast(midnight.count)) }
                    return report.columns[index].kind == .number ? Self.shortened(cell) : cell
                })
        }
        return table
    }

    /// A number for people: three digits behind the point, or as many as matter.
    private static func shortened(_ text: String) -> String {
        guard let value = Double(text), value.isFinite, value != 0 else { return text }
        var mantissa = value
        var exponent = 0
        while abs(mantissa) >= 10 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
        while abs(mantissa) < 1 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
        if (-3...6).contains(exponent) {
            let plain = rounded(value, exponent < -1 ? 5 : 3)
            return text.count < plain.count ? text : plain
        }
        return "\(rounded(mantissa, 3))e\(exponent)"
    }
}
