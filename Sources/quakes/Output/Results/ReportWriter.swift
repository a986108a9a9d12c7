import QuakeStore

/// Writes the rows of a report to standard output: CSV and JSON row by row, a table at the end.
struct ReportWriter {
    private let report: Report
    private let format: ReportCommand.Format
    private let csv: CSV
    private var rows: [[String?]] = []
    private var isEmpty = true

    init(_ report: Report, _ format: ReportCommand.Format, csv: CSV) {
        self.report = report
        self.format = format
        self.csv = csv
        if format == .csv { StandardOutput.print(csv.line(report.columns.map { .value($0.name) })) }
    }

    mutating func append(_ cells: [String?]) {
        switch format {
        case .table: rows.append(bounded(cells))
        case .csv: StandardOutput.print(csv.line(fields(cells)))
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

    /// The table holds all its rows, so none of them may hold a text of any length.
    private func bounded(_ cells: [String?]) -> [String?] {
        zip(report.columns, cells).map { column, cell in
            column.kind == .text ? cell.map { Table.bounded($0, to: TableColumn(title: "").widest) } : cell
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

    private var table: Table {
        // A column of times that are all at midnight is shown as dates.
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

    /// A number for people: three digits after the decimal point, or as many as matter.
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
