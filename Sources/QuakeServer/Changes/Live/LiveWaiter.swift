import Synchronization

/// Somebody who waits for what is new, for some time.
final class LiveWaiter: Sendable {
    private let state = Mutex<(isOver: Bool, continuation: CheckedContinuation<Void, Never>?)>((false, nil))

    /// Whether it waits no more, because its time is up or the client is gone.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Begins to wait.
    ///
    /// - Returns: false if it is over.
    func begin(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        state.withLock { state in
            if !state.isOver { state.continuation = continuation }
            return !state.isOver
        }
    }

    func wake() { state.withLock { $0.continuation.take() }?.resume() }

    func end() {
        state.withLock { $0.isOver = true }
        wake()
    }
}
