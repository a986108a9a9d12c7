import Dispatch

/// Runs an actor's jobs on a separate serial dispatch queue.
///
/// libpq's calls block, and Swift's cooperative pool has only as many threads as the machine has cores: a few slow
/// statements would stop every other task of the process. With one queue per connection, any number of connections can
/// block side by side.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
