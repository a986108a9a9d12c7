import Synchronization

/// How far the server is on its way to its end.
final class Ending: Sendable {
    enum Phase {
        case serving
        /// Load balancers are told to stop sending clients. New requests are still served.
        case draining
        /// No new connections are accepted. Answers under way may still take a while.
        case closing
    }

    private let current = Mutex(Phase.serving)

    var phase: Phase {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
