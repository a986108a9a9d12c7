/// The columns of a table that are shown, and the width of every column.
struct TableLayout {
    var shown: [Int]
    var widths: [Int]

    func fits(into width: Int) -> Bool { total(widths) <= width }

    /// Makes the table fit. First, empty columns are dropped until the table fits. If that is not enough, other columns are
    /// dropped by their priority until the table would fit with its flexible columns at their minimum. Then the flexible columns
    /// are narrowed. If no more columns can be dropped, all columns are narrowed as far as necessary.
    ///
    /// - Parameter empty: the columns in which all cells are empty.
    mutating func fit(into width: Int, _ columns: [TableColumn], empty: Set<Int>) {
        while total(widths) > width,
            let dropped = shown.lastIndex(where: { empty.contains($0) && columns[$0].priority > 0 })
        {
            shown.remove(at: dropped)
        }
        // A flexible column needs room only for its minimum and its title.
        let least = widths.indices.map { index in
            guard columns[index].flexible else { return widths[index] }
            return min(widths[index], max(columns[index].minimumWidth, columns[index].leastTitleWidth))
        }
        while total(least) > width, let dropped = expendable(columns) { shown.remove(at: dropped) }
        narrow(to: width, leaving: least)
        narrowAll(to: width, columns)
    }

    /// The layout of one line at a terminal: a cell that can't be shortened, such as a number, takes room from the line's
    /// flexible cells.
    func making(roomFor cells: [TableCell], in width: Int, _ columns: [TableColumn]) -> TableLayout {
        let wide = shown.filter { !columns[$0].flexible && terminalWidth(of: cells[$0].text) > widths[$0] }
        guard !wide.isEmpty else { return self }
        var layout = self
        for index in wide { layout.widths[index] = terminalWidth(of: cells[index].text) }
        layout.narrowAll(to: width, columns)
        return layout
    }

    private mutating func narrowAll(to width: Int, _ columns: [TableColumn]) {
        narrow(to: width, leaving: zip(columns, widths).map { column, width in column.flexible ? 1 : width })
        narrow(to: width, leaving: widths.map { _ in 1 })
    }

    /// The widest column is narrowed first, so that short cells beside a long one stay whole.
    private mutating func narrow(to width: Int, leaving least: [Int]) {
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
