import Feed
import QuakeStore

/// The events of a pass's changes, as they were before all of them and as they are after them: what filters are applied to.
struct ChangedQuakes: Sendable {
    private var images: [(first: Quake?, last: Quake?)] = []
    /// The event of each change, by its place among the images.
    private var changed: [Int32] = []
    /// The events as far as their changes are known.
    private var events: [Event] = []
    private var places: [ExactText: Int32] = [:]

    private struct Event {
        let wasThere: Bool
        var last: Quake?
        /// What was overwritten, the earliest value of each property.
        var overwritten: [(property: Property, value: Quake.Value)] = []

        var first: Quake? {
            guard wasThere else { return nil }
            var first = last ?? Self.blank
            for (property, value) in overwritten { first?[property] = value }
            return first
        }

        /// Throws only for a required property that is null.
        private static let blank = try? Quake { $0.isRequired ? .text("") : .null }
    }

    mutating func append(_ change: PassChange) {
        let key = ExactText(change.key)
        let place = places[key] ?? Int32(events.count)
        if place == events.count {
            places[key] = place
            events.append(Event(wasThere: !change.isInsert))
        }
        changed.append(place)
        events[Int(place)].last = change.row
        for (property, value) in change.before
        where !events[Int(place)].overwritten.contains(where: { $0.property == property }) {
            events[Int(place)].overwritten.append((property, value))
        }
    }

    mutating func finish() {
        images = events.map { ($0.first, $0.last) }
        (events, places) = ([], [:])
    }

    /// About how much memory it takes.
    var size: Int { images.count * 2 * Property.count * MemoryLayout<Quake.Value>.stride + 4 * changed.count }

    func selected(by selection: QuakeSelection) -> SelectedChanges {
        let isSelected = selection.filter
        let decisions = images.map { image -> (ever: Bool, now: Bool) in
            let now = image.last.map(isSelected) ?? false
            return (now || image.first.map(isSelected) ?? false, now)
        }
        return SelectedChanges(changed.map { decisions[Int($0)] })
    }
}

/// Which changes of a pass a filter selects: two bits for each.
struct SelectedChanges: Sendable {
    private var ever: [UInt64] = []
    private var now: [UInt64] = []

    fileprivate init(_ decisions: [(ever: Bool, now: Bool)]) {
        guard decisions.contains(where: \.ever) else { return }
        let count = (decisions.count + 63) / 64
        (ever, now) = ([UInt64](repeating: 0, count: count), [UInt64](repeating: 0, count: count))
        for (index, decision) in decisions.enumerated() {
            if decision.ever { ever[index / 64] |= 1 << (index % 64) }
            if decision.now { now[index / 64] |= 1 << (index % 64) }
        }
    }

    var size: Int { 16 * ever.count }

    /// The first selected change from this one on; nil if there is none.
    func next(from index: Int) -> Int? {
        var word = index / 64
        guard word < ever.count else { return nil }
        var bits = ever[word] & (~0 << (index % 64))
        while bits == 0 {
            word += 1
            guard word < ever.count else { return nil }
            bits = ever[word]
        }
        return 64 * word + bits.trailingZeroBitCount
    }

    /// Whether the filter selects the change's event when the pass ends.
    func isSelected(_ index: Int) -> Bool { now[index / 64] & 1 << (index % 64) != 0 }
}
