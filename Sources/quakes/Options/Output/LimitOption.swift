import ArgumentParser

struct LimitOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Show at most this many rows; 0 shows all. (default: 20 for a table at a terminal, otherwise all)",
            valueName: "n"))
    var limit: Int?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative, but is \(limit)") }
    }

    func rows(isTable: Bool) -> RowLimit {
        if limit == nil, isTable, StandardOutput.isTerminal { return RowLimit(rows: 20, isDefault: true) }
        return RowLimit(rows: limit == 0 ? nil : limit)
    }
}

/// How many rows are shown, and whether this limit is the default.
struct RowLimit: Sendable {
    /// nil if all rows are shown.
    var rows: Int?
    var isDefault = false

    /// How many rows to read: one more than are shown, to find out whether there are more.
    var reading: Int? { rows.map { $0 == .max ? $0 : $0 + 1 } }

    func admits(_ count: Int) -> Bool { rows.map { count <= $0 } ?? true }

    /// Says that there are more rows, unless the user chose the limit.
    ///
    /// - Parameter what: such as "the newest" or "the first".
    func tellOfMore(_ what: String) {
        guard isDefault, let rows else { return }
        StandardError.say("these are \(what) \(rows); --limit N shows more, --limit 0 shows all")
    }
}
