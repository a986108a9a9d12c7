import QuakeStore

/// Writes the rows of a report to standard output as they arrive.
struct ReportWriter {
    private let report: Report
    private let format: ReportCommand.Format
    private let csv: CSV
    private var table: Table
    private var isEmpty = true

    init(
        _ report: Report, _ format: ReportCommand.Format, csv: CSV,
        at terminal: Terminal = StandardOutput.terminal
    ) {
        self.report = report
        self.format = format
        self.csv = csv
        table = Table(
            columns: report.columns.enumerated().map { index, column in
                let isText = column.kind == .text
                return TableColumn(
                    title: column.name,
                    alignment: [.integer, .number].contains(column.kind) ? .right : .left,
                    minimumWidth: isText ? 12 : 0, priority: index, flexible: isText)
            }, at: terminal)
        if format == .csv { StandardOutput.print(csv.line(report.columns.map { .value($0.name) })) }
    }

    mutating func append(_ cells: [String?]) {
        switch format {
        case .table: StandardOutput.write(text(cells))
        case .csv: StandardOutput.print(csv.line(fields(cells)))
        case .json: StandardOutput.write((isEmpty ? "[\n" : ",\n") + object(cells))
        }
        isEmpty = false
    }

    mutating func finish() {
        switch format {
        case .table: StandardOutput.write(table.finish())
        case .csv: break
        case .json: StandardOutput.print(isEmpty ? "[]" : "\n]")
        }
    }

    private func fields(_ cells: [String?]) -> [CSV.Field] {
        zip(report.columns, cells).map { column, cell in column.kind == .text ? .text(cell) : .value(cell) }
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

    // MARK: Table

    /// Takes a row of the table, and returns what can be written now.
    private mutating func text(_ cells: [String?]) -> String {
        let url = zip(report.columns, cells).first { $0.0.name == "url" }?.1
        return table.append(
            zip(report.columns, cells).map { column, cell in
                guard let cell else { return TableCell("") }
                return TableCell(
                    Self.text(cell, column), style: Self.style(cell, column),
                    link: column.name == "code" ? TextLink(url) : nil)
            })
    }

    private static func text(_ cell: String, _ column: Report.Column) -> String {
        let midnight = " 00:00:00"
        return switch column.kind {
        // The start of a day or a month is a date.
        case .time where ["day", "month"].contains(column.name) && cell.hasSuffix(midnight):
            String(cell.dropLast(midnight.count))
        case .number: shortened(number: cell)
        case .integer, .boolean, .time, .text: cell
        }
    }

    private static func style(_ cell: String, _ column: Report.Column) -> TextStyle? {
        switch column.name {
        case "magnitude", "largest_magnitude": TextStyle(magnitude: Double(cell))
        case "alert_level": TextStyle(alert: cell)
        default: nil
        }
    }

    /// A number for people: three digits after the decimal point, or as many as matter.
    private static func shortened(number text: String) -> String {
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
