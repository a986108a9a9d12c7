import Dispatch

/// Runs an actor's jobs on a serial dispatch queue of its own.
///
/// The calls of libpq and libcurl block, and so does reading from a pipe. Swift's cooperative pool has only as many
/// threads as the machine has cores: blocked there, a few slow calls stop every other task of the process. With a queue
/// for each actor, any number of them block side by side.
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
