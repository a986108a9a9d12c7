import Feed
import QuakeStore

/// The events that a pass changes, each as it was before the pass and as it is afterwards. Filters are applied to both versions.
struct ChangedQuakes: Sendable {
    private var images: [(first: Quake?, last: Quake?)] = []
    /// For each change, the index of its event in `images`.
    private var changed: [Int32] = []
    /// The events while changes are still being appended. `finish` turns them into `images`.
    private var events: [Event] = []
    private var places: [ExactText: Int32] = [:]

    private struct Event {
        let wasThere: Bool
        var last: Quake?
        /// The overwritten values: for each changed property, its value before the pass.
        var overwritten: [(property: Property, value: Quake.Value)] = []

        var first: Quake? {
            guard wasThere else { return nil }
            var first = last ?? Self.blank
            for (property, value) in overwritten { first?[property] = value }
            return first
        }

        /// An event without values. It is never nil, because the initializer only throws if a required property is null.
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

    /// The approximate memory use, in bytes.
    var size: Int {
        let versions = 2 * (events.count + images.count)
        return versions * Property.count * MemoryLayout<Quake.Value>.stride + 4 * changed.count
    }

    func selected(by selection: QuakeSelection) -> SelectedChanges {
        let isSelected = selection.filter
        let decisions = images.map { image -> (ever: Bool, now: Bool) in
            let now = image.last.map(isSelected) ?? false
            return (now || image.first.map(isSelected) ?? false, now)
        }
        return SelectedChanges(changed.map { decisions[Int($0)] })
    }
}

/// The changes of a pass that a filter selects. Each change has two bits: whether its event matches before or after the pass, and
/// whether it matches after the pass.
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

    /// The index of the first selected change that is not before `index`; nil if there is none.
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

    /// Whether the filter selects the event of the change at `index`, as the event is after the pass.
    func isSelected(_ index: Int) -> Bool { now[index / 64] & 1 << (index % 64) != 0 }
}
