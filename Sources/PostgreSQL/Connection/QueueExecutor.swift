import Dispatch

/// Runs an actor's jobs on a serial dispatch queue of its own.
///
/// libpq's calls block, and Swift's cooperative pool has only as many threads as the machine has
/// cores: blocked there, a few slow statements stop every other task of the process. One queue for each
/// connection lets any number of connections block side by side.
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
