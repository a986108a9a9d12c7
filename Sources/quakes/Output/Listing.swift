import ArgumentParser
import Feed
import Synchronization

struct Column<Row>: Sendable {
    let layout: TableColumn
    let cell: @Sendable (Row) -> TableCell

    init(
        _ title: String, _ alignment: TableColumn.Alignment = .left, minimumWidth: Int = 0,
        priority: Int = 0, flexible: Bool = false, widest: Int = 120, breaking: TableColumn.Breaking = .none,
        _ text: @escaping @Sendable (Row) -> String,
        style: @escaping @Sendable (Row) -> TextStyle? = { _ in nil },
        link: @escaping @Sendable (Row) -> TextLink? = { _ in nil }
    ) {
        layout = TableColumn(
            title: title, alignment: alignment, minimumWidth: minimumWidth, priority: priority,
            flexible: flexible, widest: widest, breaking: breaking)
        cell = { TableCell(text($0), style: style($0), link: link($0)) }
    }

    private init(_ layout: TableColumn, _ cell: @escaping @Sendable (Row) -> TableCell) {
        (self.layout, self.cell) = (layout, cell)
    }

    /// The same column for rows of another type, each of which contains a row of this type.
    func of<Whole>(_ part: @escaping @Sendable (Whole) -> Row) -> Column<Whole> {
        Column<Whole>(layout) { cell(part($0)) }
    }
}

enum ListingForm<Row>: Sendable {
    case table([Column<Row>])
    /// - Parameter empty: the document to write if there are no rows; nil to write only the head and the tail.
    case document(
        head: String = "", separator: String = "", tail: String = "", empty: String? = nil,
        @Sendable (Row) -> String)

    static func lines(_ object: @escaping @Sendable (Row) -> JSONObject) -> Self {
        .document { object($0).jsonText + "\n" }
    }

    static func array(_ object: @escaping @Sendable (Row) -> JSONObject) -> Self {
        .document(head: "[\n", separator: ",\n", tail: "\n]\n", empty: "[]\n") { object($0).jsonText }
    }

    static func csv(
        _ csv: CSV, _ names: [String], _ fields: @escaping @Sendable (Row) -> [CSV.Field]
    ) -> Self {
        .document(head: csv.line(names.map { .value($0) }) + "\n") { csv.line(fields($0)) + "\n" }
    }
}

enum TextFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}

enum LineFormat: String, ExpressibleByArgument, CaseIterable {
    case table, ndjson

    func form<Row>(
        _ columns: [Column<Row>], _ object: @escaping @Sendable (Row) -> JSONObject
    ) -> ListingForm<Row> {
        switch self {
        case .table: .table(columns)
        case .ndjson: .lines(object)
        }
    }
}

enum TableFormat: String, ExpressibleByArgument, CaseIterable {
    case table, csv, json

    func form<Row>(
        _ columns: [Column<Row>], csv: CSV, _ names: [String],
        _ fields: @escaping @Sendable (Row) -> [CSV.Field], _ object: @escaping @Sendable (Row) -> JSONObject
    ) -> ListingForm<Row> {
        switch self {
        case .table: .table(columns)
        case .csv: .csv(csv, names, fields)
        case .json: .array(object)
        }
    }
}

/// Writes rows to standard output. Rows beyond the limit are only counted.
final class Listing<Row>: Sendable {
    private let form: ListingForm<Row>
    private let limit: RowLimit
    private let state: Mutex<(count: Int, table: Table)>

    init(
        _ form: ListingForm<Row>, limit: RowLimit = RowLimit(),
        at terminal: Terminal = StandardOutput.terminal
    ) {
        (self.form, self.limit) = (form, limit)
        let columns =
            if case .table(let columns) = form { columns.map(\.layout) } else { [] as [TableColumn] }
        state = Mutex((0, Table(columns: columns, at: terminal)))
    }

    func append(_ row: Row) { StandardOutput.write(text(row)) }

    /// Writes the rest of the listing.
    ///
    /// - Parameters:
    ///   - what: names the shown rows in the message that there are more rows, such as "the newest".
    ///   - none: what to say if a table is empty, such as "no rejects"; nil to say nothing.
    func finish(_ what: String, none: String? = nil) {
        StandardOutput.write(rest())
        if let none, case .table = form, state.withLock({ $0.count }) == 0 {
            StandardError.say(none)
        }
        if !limit.admits(state.withLock { $0.count }) { limit.tellOfMore(what) }
    }

    /// Adds a row, and returns the text that can be written now.
    func text(_ row: Row) -> String {
        let cells =
            if case .table(let columns) = form { columns.map { $0.cell(row) } } else { [] as [TableCell] }
        let (count, lines) = state.withLock { state -> (Int, String) in
            state.count += 1
            return (state.count, limit.admits(state.count) && !cells.isEmpty ? state.table.append(cells) : "")
        }
        guard limit.admits(count), case .document(let head, let separator, _, _, let text) = form else {
            return lines
        }
        return (count == 1 ? head : separator) + text(row)
    }

    /// The text that is left to write.
    func rest() -> String {
        state.withLock { state in
            switch form {
            case .table: state.table.finish()
            case .document(let head, _, let tail, let empty, _): state.count > 0 ? tail : empty ?? head + tail
            }
        }
    }
}

extension Array {
    func table(_ columns: [Column<Element>], at terminal: Terminal) -> String {
        let listing = Listing(.table(columns), at: terminal)
        return map(listing.text).joined() + listing.rest()
    }
}
