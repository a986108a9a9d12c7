import Synchronization

/// Counts of the server's work since it started.
final class Metrics: Sendable {
    private let counts = Mutex(Counts())

    struct Counts {
        var requests: [Answered: Int] = [:]
        var times: [String: Histogram] = [:]
        var underWay = 0
        var connections = 0
        var rows = 0
        /// The bytes of bodies. The bytes of live changes include the framing of chunks.
        var bytes = 0
        /// Clients that were disconnected because they did not read.
        var slowClients = 0
        /// The number of live clients, and the number of those that have not received all changes yet.
        var liveClients = 0
        var liveClientsBehind = 0
        /// Passes and changes that were sent to live clients. A pass for several clients counts once.
        var livePasses = 0
        var liveChanges = 0

        /// - Parameter status: 0 if the client had left.
        mutating func answer(_ route: String, status: Int) {
            requests[Answered(route: route, status: status), default: 0] += 1
        }

        /// Counts the end of an answer.
        ///
        /// - Parameters:
        ///   - status: 0 if the client went away before the end of the answer.
        ///   - time: how long the answer took; nil for a stream.
        mutating func end(_ route: String, status: Int, after time: Duration?) {
            underWay -= 1
            answer(route, status: status)
            if let time { times[route, default: Histogram()].add(time / .seconds(1)) }
        }
    }

    struct Answered: Hashable {
        let route: String
        let status: Int
    }

    struct Histogram {
        /// The upper bounds of the buckets, in seconds.
        static let bounds: [Double] = [
            0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
        ]

        /// The last bucket has no bound.
        var buckets = [Int](repeating: 0, count: bounds.count + 1)
        var sum = 0.0

        mutating func add(_ seconds: Double) {
            buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
            sum += seconds
        }
    }

    var current: Counts { counts.withLock { $0 } }
    func count(_ body: (inout Counts) -> Void) { counts.withLock { body(&$0) } }
}
