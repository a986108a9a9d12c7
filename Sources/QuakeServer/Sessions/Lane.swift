/// What a session is needed for. What is costly never stands in front of what is short, and neither in front of what the
/// process itself asks for.
enum Lane {
    /// What the process asks for by itself, once for all clients: the catalogue's state, the metrics. It is a matter of
    /// milliseconds.
    case own
    /// What is answered by an index, or by a stretch of one.
    case short
    /// What is known to be long before it starts: a past, deletions, a snapshot, a long way through the history or the table.
    case costly
}

/// How many of the open sessions the lanes use at a time.
struct LaneUse {
    private var used: [Lane: Int] = [:]

    /// Whose turn is first. Under a flood of short questions, costly ones go on, too: one at a time.
    var order: [Lane] { used[.costly, default: 0] == 0 ? [.own, .costly, .short] : [.own, .short, .costly] }

    /// Whether one more may be used.
    ///
    /// - Parameter open: how many sessions are open.
    func admits(_ lane: Lane, of open: Int) -> Bool {
        let costly = used[.costly, default: 0]
        // Of three, one is left to the process itself.
        let others = open - (open > 2 ? 1 : 0)
        return switch lane {
        case .own: true
        case .short: used[.short, default: 0] + costly < others
        case .costly: costly < max(1, open / 2) && used[.short, default: 0] + costly < others
        }
    }

    mutating func begin(_ lane: Lane) { used[lane, default: 0] += 1 }
    mutating func end(_ lane: Lane) { used[lane, default: 0] -= 1 }
}
