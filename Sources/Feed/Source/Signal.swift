/// Wakes one waiting task at a time. If no task is waiting when `wake()` is called, the next wait ends at once.
package struct Signal: Sendable {
    private let calls = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    package init() {}

    package func wake() { calls.continuation.yield() }

    /// Waits until `wake()` is called or the task is cancelled.
    package func wait() async {
        for await _ in calls.stream { return }
    }
}
