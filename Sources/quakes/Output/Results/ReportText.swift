import Feed
import QuakeStore

extension Report {
    func form(_ format: TableFormat, csv: CSV) -> ListingForm<[String?]> {
        format.form(tableColumns, csv: csv, columns.map(\.name), fields, object)
    }

    private func fields(_ cells: [String?]) -> [CSV.Field] {
        zip(columns, cells).map { column, cell in column.kind == .text ? .text(cell) : .value(cell) }
    }

    private func object(_ cells: [String?]) -> JSONObject {
        var object = JSONObject()
        for (column, cell) in zip(columns, cells) {
            switch column.kind {
            case .integer: object.append(column.name, cell.map(RawJSON.init))
            case .number: object.append(column.name, cell.flatMap { Double($0) })
            case .boolean: object.append(column.name, cell.map { $0 == "true" })
            case .text where column.isJSON: object.append(column.name, cell.map(RawJSON.init))
            case .time, .text: object.append(column.name, cell)
            }
        }
        return object
    }

    private var tableColumns: [quakes.Column<[String?]>] {
        let url = columns.firstIndex { $0.name == "url" }
        let comparesEvents = columns.contains { Self.differences.contains($0.name) }
        return columns.enumerated().map { index, column in
            let shape = Self.shape(of: column)
            return quakes.Column(
                column.kind == .time ? "\(column.name) (UTC)" : column.name,
                [.integer, .number].contains(column.kind) ? .right : .left,
                minimumWidth: shape.minimumWidth,
                priority: Self.priority(column.name, at: index, comparesEvents: comparesEvents),
                flexible: column.kind == .text, breaking: shape.breaking
            ) { cells in
                cells[index].map { Self.text($0, column) } ?? ""
            } style: { cells in
                cells[index].flatMap { Self.style($0, column) }
            } link: { cells in
                column.name == "code" ? TextLink(url.flatMap { cells[$0] }) : nil
            }
        }
    }

    private static func shape(of column: Report.Column) -> (minimumWidth: Int, breaking: TableColumn.Breaking)
    {
        switch column.name {
        case "place", "region": (20, .beforeTail)
        case "source": (26, .middle)
        case "code_1", "code_2": (10, .title)
        default: (column.kind == .text ? 12 : 0, .title)
        }
    }

    /// The columns that matter most when two events are compared.
    private static let differences: Set = [
        "time_difference_s", "depth_difference_km", "magnitude_difference",
    ]

    /// If there is too little room, the last columns are dropped first, with some exceptions. A place is kept longer than its
    /// coordinates, which tell people less. The method behind a magnitude is dropped early, because few people need it. A
    /// comparison of events keeps the differences.
    private static func priority(_ column: String, at index: Int, comparesEvents: Bool) -> Int {
        switch column {
        case _ where index == 0 || differences.contains(column): 0
        case "distance_km" where comparesEvents: 0
        case "place": comparesEvents ? index + 100 : 1
        case "magnitude_type", "latitude", "longitude", "network", "mean_magnitude", "a_value": index + 100
        default: index + 1
        }
    }

    private static func text(_ cell: String, _ column: Report.Column) -> String {
        let midnight = " 00:00:00"
        return switch column.kind {
        // A day or a month is shown as a date, without the time of its start.
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
}

extension Report {
    /// The warning that a fit is poor, and what to do about it; nil if all fits are good. The figures of a poor fit look as exact
    /// as those of a good one.
    ///
    /// - Parameter rows: the rows that were shown.
    func warning(of rows: [[String?]]) -> String? {
        func cell(_ name: String, _ row: [String?]) -> String? {
            columns.firstIndex { $0.name == name }.flatMap { row[$0] }
        }
        let poor = rows.filter { cell("is_good_fit", $0) == "false" }
        guard let first = poor.first else { return nil }
        let advice =
            "the catalogue lacks some earthquakes of the fitted magnitudes, or it mixes several catalogues: choose a region"
        if poor.count > 1 || !isFunction {
            return "\(poor.count) of the fits are poor (see is_good_fit): \(advice)"
        }
        let from = cell("completeness", first) ?? "?"
        let goodness =
            cell("goodness_percent", first).flatMap { Double($0) }.map { "\(Int($0.rounded())) %" } ?? "?"
        let better = cell("good_from", first).map { ", or give completeness=\($0)" } ?? ""
        return "the fit is poor from M \(from) on (goodness \(goodness)): \(advice)\(better)"
    }
}
