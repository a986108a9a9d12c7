import Synchronization

enum ShutdownPhase {
    case serving
    /// Load balancers are told to stop sending clients. New requests are still served.
    case draining
    /// No new connections are accepted. Answers under way may still take a while.
    case closing
}

/// How far the server's shutdown has come.
final class Shutdown: Sendable {
    private let current = Mutex(ShutdownPhase.serving)

    var phase: ShutdownPhase {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
