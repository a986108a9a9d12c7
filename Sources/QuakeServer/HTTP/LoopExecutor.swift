import NIOCore

/// Runs a client's tasks on the loop of its channel, which has the request and takes the response: otherwise each would change
/// threads several times for an answer.
///
/// Whatever takes its time has an executor of its own: a session's thread, or the pool for files.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
