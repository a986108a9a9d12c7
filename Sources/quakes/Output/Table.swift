struct TableColumn {
    enum Alignment { case left, right }

    let title: String
    var alignment = Alignment.left
    /// The minimum width, in terminal cells. Other columns are dropped, if possible, before a flexible column becomes narrower
    /// than this.
    var minimumWidth = 0
    /// A column with priority 0 is always shown. If a table does not fit, the columns with the highest number are dropped first.
    var priority = 0
    /// Whether its cells may be shortened, with "…", when there is too little room.
    var flexible = false
    /// The greatest width, in terminal cells, to which a text can widen its column. Without this limit, one text of a megabyte
    /// would make every line a megabyte wide.
    var widest = 120
    /// How a title or a text is wrapped or shortened if it is too wide for a terminal.
    var breaking = Breaking.none

    enum Breaking {
        case none
        /// The title wraps at its spaces and after its underscores.
        case title
        /// The text wraps at its spaces.
        case text
        /// The text is shortened before its last comma, so that a place keeps its country.
        case beforeTail
        /// The text is shortened in its middle, because addresses differ at their ends.
        case middle
    }

    /// The minimum width at which the title is shown whole, wrapped if the column allows that.
    var leastTitleWidth: Int {
        let words = breaking == .title ? wordsOfTitle : [title.uppercased()]
        return words.reduce(0) { max($0, terminalWidth(of: $1)) }
    }

    /// The words between which the title may wrap. A word keeps the underscore after it, which is part of the column's name.
    fileprivate var wordsOfTitle: [String] {
        title.uppercased().split(separator: " ").flatMap { part in
            part.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
                .enumerated().reduce(into: [String]()) { words, next in
                    if next.offset > 0 { words[words.count - 1] += "_" }
                    words.append(next.element)
                }
        }
    }
}

struct TableCell {
    var text: String
    var style: TextStyle?
    var link: TextLink?

    init(_ text: String, style: TextStyle? = nil, link: TextLink? = nil) {
        (self.text, self.style, self.link) = (text, style, link)
    }
}

/// A plain text table for people: no frame, two spaces between columns, no trailing spaces.
///
/// Rows are written one by one. The first screenful of rows decides how wide the columns are; only those rows are kept in memory.
/// At a terminal, longer cells are shortened, and no line is wider than the terminal. In a file or a pipe, no cell is ever cut: a
/// wider cell makes its line longer.
///
/// Cells are safe to print: control characters are replaced (`strippingControlCharacters`).
/// Columns line up in terminal cells, even with CJK, combining marks and emoji.
struct Table {
    let columns: [TableColumn]
    private let terminal: Terminal
    /// The rows that are kept until the layout is decided.
    private var first: [[TableCell]] = []
    private var layout: TableLayout?

    /// The number of rows from which the layout is decided.
    static let screenful = 50

    init(columns: [TableColumn], at terminal: Terminal) {
        self.columns = columns
        self.terminal = terminal
    }

    /// Adds a row: one cell for each column, in the order of the columns.
    ///
    /// - Returns: the lines that can be written now; empty while the layout is undecided.
    mutating func append(_ cells: [TableCell]) -> String {
        var row = cells
        for index in row.indices { row[index].text = strippingControlCharacters(row[index].text) }
        if let layout { return lines(row, layout) }
        first.append(row)
        return first.count < Self.screenful ? "" : begin()
    }

    /// Returns the lines that are left to write. Without rows, that is only the header.
    mutating func finish() -> String {
        layout == nil ? begin() : ""
    }

    private mutating func begin() -> String {
        var layout = TableLayout(
            shown: Array(columns.indices), widths: widths { terminalWidth(of: $0.title.uppercased()) })
        if let width = terminal.width {
            if !layout.fits(into: width) { layout.widths = widths(\.leastTitleWidth) }
            let empty = columns.indices.filter { index in
                !first.isEmpty && first.allSatisfy { $0[index].text.isEmpty }
            }
            layout.fit(into: width, columns, empty: Set(empty))
        }
        self.layout = layout
        defer { first = [] }
        return header(layout) + first.map { lines($0, layout) }.joined()
    }

    /// The width that each column needs for its title and for the first rows. `title` returns the width of a column's title.
    private func widths(_ title: (TableColumn) -> Int) -> [Int] {
        columns.indices.map { index in
            let title = title(columns[index])
            let widest = max(columns[index].widest, title)
            return first.reduce(max(columns[index].minimumWidth, title)) {
                max($0, min(terminalWidth(of: $1[index].text), widest))
            }
        }
    }

    /// The lines of titles. A title with fewer lines than the others is placed at the bottom.
    private func header(_ layout: TableLayout) -> String {
        let titles = columns.indices.map { index in
            terminal.width != nil && columns[index].breaking == .title
                ? filled(columns[index].wordsOfTitle, to: layout.widths[index])
                : [columns[index].title.uppercased()]
        }
        let height = layout.shown.reduce(1) { max($0, titles[$1].count) }
        return (0..<height).map { row in
            let cells = titles.map { title in
                let part = row - (height - title.count)
                return TableCell(part < 0 ? "" : title[part], style: .dim)
            }
            return line(cells, layout)
        }.joined()
    }

    /// The lines of a row: one line, or more if a text wraps.
    private func lines(_ cells: [TableCell], _ layout: TableLayout) -> String {
        let broken = columns.indices.filter { columns[$0].breaking == .text }
        guard terminal.width != nil, !broken.isEmpty else { return line(cells, layout) }
        var rows = [cells]
        for index in broken {
            let text = quakes.shortened(cells[index].text, to: columns[index].widest)
            let words = text.split(separator: " ").map(String.init)
            for (row, text) in filled(words, to: layout.widths[index]).enumerated() {
                if row == rows.count { rows.append(columns.map { _ in TableCell("") }) }
                rows[row][index].text = text
            }
        }
        return rows.map { line($0, layout) }.joined()
    }

    private func line(_ cells: [TableCell], _ layout: TableLayout) -> String {
        let layout = terminal.width.map { layout.making(roomFor: cells, in: $0, columns) } ?? layout
        var line = ""
        var gap = 0
        for index in layout.shown {
            let cell = cells[index]
            let text = terminal.width == nil ? cell.text : shortened(cell.text, index, layout)
            let padding = max(0, layout.widths[index] - terminalWidth(of: text))
            let isLeft = columns[index].alignment == .left
            if !text.isEmpty {
                line += String(repeating: " ", count: gap + (isLeft ? 0 : padding)) + styled(text, as: cell)
                gap = 0
            } else if !isLeft {
                gap += padding
            }
            gap += (isLeft ? padding : 0) + 2
        }
        return line + "\n"
    }

    private func shortened(_ text: String, _ index: Int, _ layout: TableLayout) -> String {
        let width = layout.widths[index]
        return switch columns[index].breaking {
        case .none, .title, .text: quakes.shortened(text, to: width)
        case .beforeTail: quakes.shortened(text, beforeTailTo: width)
        case .middle: quakes.shortened(text, inMiddleTo: width)
        }
    }

    private func styled(_ text: String, as cell: TableCell) -> String {
        var styled = text
        if terminal.hasStyles, let style = cell.style { styled = style.applied(to: styled) }
        if terminal.hasLinks, let link = cell.link { styled = link.applied(to: styled) }
        return styled
    }
}
