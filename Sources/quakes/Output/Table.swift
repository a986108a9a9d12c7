/// One column of a table.
struct TableColumn {
    enum Alignment { case left, right }

    let title: String
    var alignment = Alignment.left
    /// In terminal cells. A flexible column is never made narrower than this.
    var minimumWidth = 0
    /// A column with 0 is always shown. If a table does not fit, the columns with the highest number are dropped first.
    var priority = 0
    /// Whether its cells may be shortened, with "…" at the end, when there is too little room.
    var flexible = false
    /// In terminal cells. Longer texts are always shortened: one that somebody made a megabyte long would make every line
    /// as wide.
    var widest = 120
}

/// A plain text table for people: no frame, two spaces between columns, no trailing spaces.
///
/// Cells are safe to print: when they are appended, they are shortened to their column's widest width, and control
/// characters are replaced (`strippingControlCharacters`).
/// Columns line up in terminal cells, even with CJK, combining marks and emoji.
/// All rows are held until `render`, because a column is as wide as its widest cell.
struct Table {
    let columns: [TableColumn]
    private var rows: [[String]] = []

    init(columns: [TableColumn]) {
        self.columns = columns
    }

    /// Appends a row: one cell per column, in their order. Missing cells are left empty; surplus cells are ignored.
    mutating func append(_ cells: [String]) {
        rows.append(
            columns.indices.map { $0 < cells.count ? Self.bounded(cells[$0], to: columns[$0].widest) : "" }
        )
    }

    /// The header and the rows. Each line ends with a newline. Without rows there is only the header.
    ///
    /// - Parameters:
    ///   - width: the terminal's width in cells, or nil for output that is piped: then every column is shown, as wide as
    ///     it needs. To fit, columns are dropped by their priority, and the flexible ones then share
    ///     what is left. Columns of priority 0 stay even if they do not fit: lines are then longer than `width`.
    ///   - style: turns a finished line into a coloured or bold one. It is given the index of the line's row, or nil
    ///     for the header. It must not change what the line shows. nil means no style, as for NO_COLOR and pipes.
    func render(width: Int? = nil, style: ((_ row: Int?, _ line: String) -> String)? = nil) -> String {
        let titles = columns.map { $0.title.uppercased() }
        let natural = columns.indices.map { index in
            rows.reduce(max(columns[index].minimumWidth, terminalWidth(of: titles[index]))) {
                max($0, terminalWidth(of: $1[index]))
            }
        }
        var layout = TableLayout(shown: Array(columns.indices), widths: natural)
        if let width { layout.fit(into: width, columns) }

        var text = ""
        func add(_ cells: [String], row: Int?) {
            let line = self.line(cells, layout)
            text += style?(row, line) ?? line
            text += "\n"
        }
        add(titles, row: nil)
        for (index, cells) in rows.enumerated() { add(cells, row: index) }
        return text
    }

    private func line(_ cells: [String], _ layout: TableLayout) -> String {
        var line = ""
        for index in layout.shown {
            if index != layout.shown.first { line += "  " }
            let cell = Table.shortened(cells[index], to: layout.widths[index])
            let padding = String(repeating: " ", count: layout.widths[index] - terminalWidth(of: cell))
            line += columns[index].alignment == .left ? cell + padding : padding + cell
        }
        while line.last == " " { line.removeLast() }
        return line
    }

    /// The text without control characters, shortened to a width. Looks at no more of a long text than it shows.
    static func bounded(_ text: String, to width: Int) -> String {
        let head = text.prefix(width + 1)
        let isWhole = head.endIndex == text.endIndex
        return shortened(strippingControlCharacters(isWhole ? text : String(head) + "…"), to: width)
    }

    /// The text if it fits, otherwise its beginning followed by "…".
    static func shortened(_ text: String, to width: Int) -> String {
        guard terminalWidth(of: text) > width else { return text }
        guard width > 0 else { return "" }
        var kept = ""
        var left = width - 1
        for character in text {
            left -= terminalWidth(of: character)
            if left < 0 { break }
            kept.append(character)
        }
        while kept.last == " " { kept.removeLast() }
        return kept + "…"
    }
}

/// Which columns are shown, and how wide every column is.
private struct TableLayout {
    var shown: [Int]
    var widths: [Int]

    mutating func fit(into width: Int, _ columns: [TableColumn]) {
        // A flexible column needs room only for its minimum and its title.
        let least = widths.indices.map { index in
            guard columns[index].flexible else { return widths[index] }
            let title = terminalWidth(of: columns[index].title.uppercased())
            return min(widths[index], max(columns[index].minimumWidth, title))
        }
        while total(least) > width, let dropped = expendable(columns) { shown.remove(at: dropped) }

        // The widest column is narrowed first, so that short cells beside a long one stay whole.
        var excess = total(widths) - width
        while excess > 0 {
            let givers = shown.filter { widths[$0] > least[$0] }
            guard let widest = givers.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
            excess -= 1
        }
    }

    private func total(_ widths: [Int]) -> Int {
        shown.reduce(-2) { $0 + widths[$1] + 2 }
    }

    /// The position of the column to drop next: the last of those with the highest priority number.
    private func expendable(_ columns: [TableColumn]) -> Int? {
        shown.indices
            .filter { columns[shown[$0]].priority > 0 }
            .reversed().max { columns[shown[$0]].priority < columns[shown[$1]].priority }
    }
}
