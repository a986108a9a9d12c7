import Feed
import Synchronization

/// The time limit that `--timeout` sets for a run.
final class Deadline: Sendable {
    private let limit: Duration
    private let hasPassed = Atomic(false)

    private init(_ limit: Duration) { self.limit = limit }

    /// The error to report once the time limit has passed; nil before.
    var failure: Failure? {
        hasPassed.load(ordering: .acquiring) ? timedOut : nil
    }

    private var timedOut: Failure {
        Failure(.unavailable, "the run took longer than --timeout \(limit.formatted)")
    }

    /// Runs `body`, and cancels it when the time limit has passed. `body` can then report the deadline's `failure`, which is nil
    /// after a cancellation for another reason.
    ///
    /// - Parameter limit: the time limit. Without one, `body` gets no deadline.
    /// - Throws: `Failure` when `body` ends because of the limit; any other error of `body`.
    static func run<Result: Sendable>(
        within limit: Duration?, _ body: @escaping @Sendable (Deadline?) async throws -> Result
    ) async throws -> Result {
        guard let limit else { return try await body(nil) }
        let deadline = Deadline(limit)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body(deadline) }
            group.addTask {
                try await Task.sleep(for: limit)
                deadline.hasPassed.store(true, ordering: .releasing)
                return nil
            }
            defer { group.cancelAll() }
            do {
                while let next = try await group.next() {
                    // A result counts even if `body` returns it after the time limit.
                    if let result = next { return result }
                    group.cancelAll()
                }
            } catch is CancellationError where !Task.isCancelled && deadline.failure != nil {}
            throw deadline.timedOut
        }
    }
}
