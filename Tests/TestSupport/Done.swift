import Synchronization

/// Tells concurrent tasks to stop.
package final class Done: Sendable {
    private let isDone = Mutex(false)

    package init() {}

    package var isSet: Bool { isDone.withLock { $0 } }
    package func set() { isDone.withLock { $0 = true } }
}
