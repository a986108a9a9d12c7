/// What a session is needed for. What is costly or long never stands in front of what is short, and none of these in front of
/// what the process itself asks for.
enum Lane: CaseIterable {
    /// What the process asks for by itself, once for all clients: the catalogue's state, the metrics. It is a matter of
    /// milliseconds.
    case own
    /// What is answered by an index, or by a stretch of one.
    case short
    /// What may have thousands of events.
    case long
    /// What is known to be long before it starts: a past, deletions, a snapshot, a long way through the history or the table.
    case costly

    /// The lanes that go before short questions only if none of their kind is under way.
    fileprivate static let slow = [Lane.costly, .long]
}

struct LaneUse {
    private var used: [Lane: Int] = [:]

    /// Whose turn is first. Under a flood of short questions, long and costly ones go on, too: one of each at a time.
    var order: [Lane] {
        let starving = Lane.slow.filter { used[$0, default: 0] == 0 }
        return [.own] + starving + [.short] + Lane.slow.filter { !starving.contains($0) }
    }

    /// - Parameter open: how many sessions are open.
    func admits(_ lane: Lane, of open: Int) -> Bool {
        // Of three, one is left to the process itself, and then one to what is short.
        let others = open - (open > 2 ? 1 : 0)
        let slow = Lane.slow.reduce(0) { $0 + used[$1, default: 0] }
        let mayBeSlow = slow < max(1, others - 1)
        let isRoom = used[.short, default: 0] + slow < others
        return switch lane {
        case .own: true
        case .short: isRoom
        case .long: isRoom && mayBeSlow
        case .costly: isRoom && mayBeSlow && used[.costly, default: 0] < max(1, others / 2)
        }
    }

    mutating func begin(_ lane: Lane) { used[lane, default: 0] += 1 }
    mutating func end(_ lane: Lane) { used[lane, default: 0] -= 1 }
}
