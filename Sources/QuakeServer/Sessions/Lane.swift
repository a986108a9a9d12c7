/// The kind of work that needs a database session; each kind has a separate queue. Long and costly requests leave one session to
/// short requests, and all requests leave one to the process's own queries, if there are enough sessions.
enum Lane: CaseIterable {
    /// Queries that the process makes once for all clients: for the catalogue's state and for the metrics. They take
    /// milliseconds.
    case own
    /// Requests that an index lookup or a short index scan answers.
    case short
    /// Requests that may return thousands of events.
    case long
    /// Requests that are known to be slow before they start: a past state, deleted events, a snapshot, or a long stretch of the
    /// history or the table.
    case costly

    /// The slow lanes. A slow lane comes before the short lane only while none of its requests is running.
    fileprivate static let slow = [Lane.costly, .long]
}

struct LaneUse {
    private var used: [Lane: Int] = [:]

    /// The order in which the lanes get the next free session. Even under a flood of short requests, one long request and one
    /// costly request at a time can run.
    var order: [Lane] {
        let starving = Lane.slow.filter { used[$0, default: 0] == 0 }
        return [.own] + starving + [.short] + Lane.slow.filter { !starving.contains($0) }
    }

    /// - Parameter open: how many sessions are open.
    func admits(_ lane: Lane, of open: Int) -> Bool {
        // With three or more sessions, one is reserved for the process itself. If at least two are left, one of them is reserved
        // for short requests.
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
