/// The kind of work for which a database session is needed. Each kind has a separate queue. If there are enough sessions, long
/// and costly requests leave one session to short requests, and the requests of all clients leave one session to the process's
/// own queries.
enum Lane: CaseIterable {
    /// Queries for the catalogue's state and for the metrics, which the process makes once for all clients. They take
    /// milliseconds.
    case own
    /// Requests that the database can answer with an index lookup or a short index scan.
    case short
    /// Requests that may return thousands of events.
    case long
    /// Requests that are known to be slow before they start: a past state, deleted events, a snapshot, or a long stretch of the
    /// history or the table.
    case costly

    /// The slow lanes. Each of them comes before the short lane as long as none of its requests is running.
    fileprivate static let slow = [Lane.costly, .long]
}

struct LaneUse {
    private var used: [Lane: Int] = [:]

    /// The order in which the lanes get the next free session. Even under a flood of short requests, long and costly requests get
    /// their turns.
    var order: [Lane] {
        let starving = Lane.slow.filter { used[$0, default: 0] == 0 }
        return [.own] + starving + [.short] + Lane.slow.filter { !starving.contains($0) }
    }

    /// Whether another request of the lane may get a session now.
    ///
    /// - Parameter open: how many sessions are open.
    func admits(_ lane: Lane, of open: Int) -> Bool {
        // If there are three or more sessions, one is reserved for the process itself. If at least two sessions are left, one of
        // them is reserved for short requests.
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
