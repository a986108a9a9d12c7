/// The rows of a component in a canonical order, so that the order of the input does not matter.
struct ComponentRows {
    let solutions: [Solution]
    let located: [Located]
    let codes: [String]
    let agencies: Int
    /// The index of each row, by its code.
    let indices: [String: Int]

    /// - Parameter rows: the rows in any order. If several rows have the same code, only the latest revision counts.
    init(_ rows: [Solution], _ parameters: Parameters) {
        var solutions = rows.sorted { Self.precedes($0, $1) }
        var indices = Self.indices(solutions)
        if indices.count < solutions.count {
            solutions = Self.latest(solutions)
            indices = Self.indices(solutions)
        }
        var agencies: [String: Int] = [:]
        located = solutions.map { row in
            Located(row, agency: agencies.number(of: row.agency), parameters)
        }
        self.solutions = solutions
        self.indices = indices
        self.agencies = agencies.count
        codes = solutions.map(\.code)
    }

    private static func indices(_ solutions: [Solution]) -> [String: Int] {
        var indices = [String: Int](minimumCapacity: solutions.count)
        for (index, row) in solutions.enumerated() { indices[row.code] = index }
        return indices
    }

    /// One row for each code: the latest revision. If several revisions are equally late, the first one is kept.
    private static func latest(_ solutions: [Solution]) -> [Solution] {
        var latest: [String: Int64] = [:]
        for row in solutions { latest[row.code] = max(latest[row.code] ?? .min, row.updated) }
        var kept: Set<String> = []
        return solutions.filter { $0.updated == latest[$0.code] && kept.insert($0.code).inserted }
    }

    private static func precedes(_ a: Solution, _ b: Solution) -> Bool {
        a.time == b.time ? a.code.precedes(b.code) : a.time < b.time
    }
}

extension [String: Int] {
    /// The number of a name. A new name gets the next number.
    mutating func number(of name: String) -> Int {
        if let number = self[name] { return number }
        self[name] = count
        return count - 1
    }
}
