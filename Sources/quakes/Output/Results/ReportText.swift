import QuakeStore

extension ReportCommand.Format {
    func form(of report: Report, csv: CSV) -> ListingForm<[String?]> {
        switch self {
        case .table: .table(report.tableColumns)
        case .csv:
            .csv(csv, report.columns.map(\.name)) { cells in
                zip(report.columns, cells).map { column, cell in
                    column.kind == .text ? .text(cell) : .value(cell)
                }
            }
        case .json: .array(report.object)
        }
    }
}

extension Report {
    fileprivate func object(_ cells: [String?]) -> String {
        var object = JSONObject()
        for (column, cell) in zip(columns, cells) {
            switch column.kind {
            case .integer: object.append(column.name, json: cell ?? "null")
            case .number: object.append(column.name, cell.flatMap { Double($0) })
            case .boolean: object.append(column.name, cell.map { $0 == "t" })
            case .time, .text: object.append(column.name, cell)
            }
        }
        return object.text
    }

    fileprivate var tableColumns: [quakes.Column<[String?]>] {
        let url = columns.firstIndex { $0.name == "url" }
        return columns.enumerated().map { index, column in
            let isText = column.kind == .text
            return quakes.Column(
                column.name, [.integer, .number].contains(column.kind) ? .right : .left,
                minimumWidth: isText ? 12 : 0, priority: index, flexible: isText,
                cell: { cells in
                    guard let cell = cells[index] else { return TableCell("") }
                    return TableCell(
                        Self.text(cell, column), style: Self.style(cell, column),
                        link: column.name == "code" ? TextLink(url.flatMap { cells[$0] }) : nil)
                })
        }
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
