import Feed
import QuakeStore

/// The events of some changes, as they were before all of them and as they are after them.
struct ChangedQuakes {
    /// The event that each line changed.
    let keys: [ExactText]
    private let quakes: [ExactText: (first: Quake?, last: Quake?)]

    /// - Parameter lines: changes as `Pass.forEachLine` hands them over, in token order.
    init(_ lines: some Sequence<ArraySlice<UInt8>>) {
        var events: [ExactText: Event] = [:]
        keys = lines.map { line in
            let change = JSONMembers(line)
            let key = ExactText(change.text("key") ?? "")
            events[key, default: Event(wasThere: change.text("operation") != "insert")].take(change)
            return key
        }
        quakes = events.mapValues { ($0.first, $0.last) }
    }

    /// Whether an event was or is selected, and whether it is.
    func match(_ key: ExactText, _ selection: QuakeSelection) -> (ever: Bool, now: Bool) {
        guard let (first, last) = quakes[key] else { return (false, false) }
        let now = last.map(selection.contains) ?? false
        return (now || first.map(selection.contains) ?? false, now)
    }

    private struct Event {
        let wasThere: Bool
        /// Empty if there is none.
        private var row = JSONMembers()
        /// What was overwritten, the earliest value of each column.
        private var overwritten = JSONMembers()

        init(wasThere: Bool) { self.wasThere = wasThere }

        mutating func take(_ change: JSONMembers) {
            row = change["row"].map(JSONMembers.init) ?? JSONMembers()
            guard let before = change["before"] else { return }
            overwritten = JSONMembers(before).overwritten(by: overwritten)
        }

        var last: Quake? { Quake(row: row) }
        var first: Quake? { wasThere ? Quake(row: row.overwritten(by: overwritten)) : nil }
    }
}
