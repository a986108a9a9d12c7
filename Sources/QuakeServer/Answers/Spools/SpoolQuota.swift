import Synchronization

/// Limits how many bytes of all answers and streams together may wait for clients in temporary files.
///
/// When the quota is used up, the clients of the costliest spool are disconnected. A spool's cost is its bytes times the time
/// since a reader last took bytes.
final class SpoolQuota: Sendable {
    private let limit: Int
    private let metrics: Metrics
    private let state = Mutex(State())

    private struct State {
        var bytes = 0
        /// The spools that have bytes in their files.
        var spools: [ObjectIdentifier: (spool: Spool, bytes: Int)] = [:]
    }

    init(_ limit: Int, _ metrics: Metrics) { (self.limit, self.metrics) = (limit, metrics) }

    var bytes: Int { state.withLock { $0.bytes } }

    /// Counts bytes that a spool is going to write to its file.
    ///
    /// - Throws: `Refusal` 503 if there is no room for the bytes, and no client can be disconnected.
    func take(_ count: Int, for spool: Spool) throws {
        guard count > 0 else { return }
        while true {
            let others: [(spool: Spool, bytes: Int)]? = state.withLock { state in
                guard state.bytes + count > limit else {
                    state.bytes += count
                    state.spools[ObjectIdentifier(spool), default: (spool, 0)].bytes += count
                    return nil
                }
                return Array(state.spools.values)
            }
            guard let others else { return }
            let now = ContinuousClock.now
            let costs = others.compactMap { other in
                other.spool.standstill(now).map {
                    (spool: other.spool, cost: Double(other.bytes) * ($0 / .seconds(1)))
                }
            }
            guard let costliest = costs.max(by: { $0.cost < $1.cost }) else {
                throw Refusal.unavailable("The server has no room for the answer.")
            }
            let dropped = costliest.spool.drop()
            metrics.count { $0.slowClients += dropped }
        }
    }

    func give(_ count: Int, of spool: Spool) {
        guard count > 0 else { return }
        state.withLock { state in
            state.bytes -= count
            let id = ObjectIdentifier(spool)
            state.spools[id]?.bytes -= count
            if state.spools[id]?.bytes == 0 { state.spools[id] = nil }
        }
    }
}
