import Synchronization

/// How far the server is on its way to its end.
final class Ending: Sendable {
    enum Phase {
        case serving
        /// Load balancers are told to send nobody any more. Who comes all the same is served.
        case draining
        /// Nobody is accepted. Answers under way go on for a while.
        case closing
    }

    private let current = Mutex(Phase.serving)

    var phase: Phase {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
