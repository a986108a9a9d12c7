import Synchronization

/// A client that waits for changes, for a limited time.
final class LiveWaiter: Sendable {
    /// Comes when there may be something new, and at the end.
    let news = Signal()
    private let over = Mutex(false)

    /// Whether it waits no more, because its time is up or the client has left.
    var isOver: Bool { over.withLock { $0 } }

    func end() {
        over.withLock { $0 = true }
        news.wake()
    }
}
