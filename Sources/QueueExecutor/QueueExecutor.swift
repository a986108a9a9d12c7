import Dispatch

/// Runs an actor's jobs on a separate serial dispatch queue.
///
/// Calls of libpq and libcurl block, and so does reading from a pipe. Swift's cooperative pool has only as many threads as the
/// machine has cores: a few slow calls would stop every other task of the process. With one queue per actor, any number of actors
/// can block at the same time.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    package init(label: String) {
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
