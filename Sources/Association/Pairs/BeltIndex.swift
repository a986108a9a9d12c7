/// An index of rows by belts of latitude. Rows are added in time order. Adding a row visits the earlier rows that may be near it.
struct BeltIndex {
    private struct Entry {
        let time: Int64
        let row: Int
        /// How many entries to go back to find an entry that may belong to another component.
        var step = 1
    }

    /// The rows of a belt. The entries before the index `first` are too old for all later rows.
    private struct Belt {
        var entries: [Entry] = []
        var first = 0

        mutating func drop(before oldest: Int64) {
            while first < entries.count, entries[first].time < oldest { first += 1 }
            if first > 32, first * 2 > entries.count {
                entries.removeSubrange(..<first)
                first = 0
            }
        }

        /// Calls `body` for the rows, the latest first. If `body` accepts a row's component, the rows of that component directly
        /// before the row are skipped.
        mutating func visit(_ component: (Int) -> Int, _ body: (Int, Int) -> Bool) {
            var place = entries.count - 1
            while place >= first {
                let found = component(entries[place].row)
                guard body(entries[place].row, found) else {
                    place -= 1
                    continue
                }
                place = stepOver(found, from: place, component)
            }
        }

        /// Returns the index before a run of rows of one component. The step is stored, so that the next visit skips the run at
        /// once. A stored step stays valid, because a component never loses rows.
        private mutating func stepOver(_ found: Int, from place: Int, _ component: (Int) -> Int) -> Int {
            var next = place - entries[place].step
            while next >= first, component(entries[next].row) == found { next -= entries[next].step }
            entries[place].step = place - next
            return next
        }
    }

    private var belts: [Int: Belt] = [:]
    private let reach: Int64

    /// - Parameter reach: the largest time between an added row and the earlier rows that are visited, in milliseconds.
    init(reach: Int64) {
        self.reach = reach
    }

    /// Calls `body` for each earlier row within reach in the same belt and its two neighbouring belts, and then adds the row. In
    /// each belt, the latest row is visited first.
    mutating func add(_ row: Int, time: Int64, belt: Int, _ body: (Int) -> Void) {
        add(
            row, time: time, belt: belt, component: { $0 },
            { row, _ in
                body(row)
                return false
            })
    }

    /// Adds a row in the same way, but skips runs of rows whose component `body` has accepted, so that many rows of one component
    /// take little time.
    ///
    /// - Parameters:
    ///   - component: returns the component of a row. Rows that were in the same component once must stay together.
    ///   - body: returns whether it accepts the row's component, which is its second argument.
    mutating func add(
        _ row: Int, time: Int64, belt: Int, component: (Int) -> Int, _ body: (Int, Int) -> Bool
    ) {
        let oldest = time.minus(reach)
        for near in belt - 1...belt + 1 {
            guard let index = belts.index(forKey: near) else { continue }
            belts.values[index].drop(before: oldest)
            belts.values[index].visit(component, body)
        }
        belts[belt, default: Belt()].entries.append(Entry(time: time, row: row))
    }
}

extension Int64 {
    /// The difference, limited to the range of `Int64`.
    func minus(_ other: Int64) -> Int64 {
        let (difference, isOver) = subtractingReportingOverflow(other)
        return isOver ? (other < 0 ? .max : .min) : difference
    }

    func plus(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other < 0 ? .min : .max) : sum
    }
}
