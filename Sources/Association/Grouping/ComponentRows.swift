import Feed

/// The rows of a component, sorted by time, then by code, so that the order of the input does not matter.
struct ComponentRows {
    let solutions: [Solution]
    let located: [Located]
    let codes: [ExactText]
    let agencies: Int
    /// The index of each row, by its code.
    let indices: [ExactText: Int]

    /// - Parameter rows: the rows in any order, with distinct codes.
    init(_ rows: [Solution], _ parameters: Parameters) {
        solutions = rows.sorted { Self.precedes($0, $1) }
        codes = solutions.map(\.code)
        var indices = [ExactText: Int](minimumCapacity: codes.count)
        for (index, code) in codes.enumerated() { indices[code] = index }
        self.indices = indices
        var agencies: [String: Int] = [:]
        located = solutions.map { row in
            Located(row, agency: agencies.number(of: row.agency), parameters)
        }
        self.agencies = agencies.count
    }

    private static func precedes(_ a: Solution, _ b: Solution) -> Bool {
        a.time == b.time ? a.code < b.code : a.time < b.time
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
