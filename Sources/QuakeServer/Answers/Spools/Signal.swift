/// Wakes somebody who waits, one at a time. If it comes while nobody waits, the next wait ends at once.
struct Signal: Sendable {
    private let calls = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func wake() { calls.continuation.yield() }

    /// Waits until somebody wakes it, or the task is cancelled.
    func wait() async {
        for await _ in calls.stream { return }
    }
}
