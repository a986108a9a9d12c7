import Dispatch
import Feed
import Synchronization

/// Writes one line for each request, with a JSON object.
///
/// Requests never wait for the log. Lines are dropped and counted when too many lines wait for a pipe that is not read, or when
/// the disk is full.
public final class AccessLog: Sendable {
    private let lines: LogLines
    private let queue = DispatchQueue(label: "access log")
    private let state = Mutex((waiting: 0, dropped: 0))

    private let limit: Int

    /// - Parameter limit: how many lines may wait.
    public init(to descriptor: Int32, limit: Int = 10_000) {
        (lines, self.limit) = (LogLines(to: descriptor), limit)
    }

    var dropped: Int { state.withLock { $0.dropped } }

    func write(_ request: LoggedRequest) {
        let isTaken = state.withLock { state in
            guard state.waiting < limit else {
                state.dropped += 1
                return false
            }
            state.waiting += 1
            return true
        }
        guard isTaken else { return }
        queue.async { [self] in
            let isWritten =
                switch lines.write("\(request.json)\n") {
                case .written, .writtenAgain: true
                case .lost, .lostAgain: false
                }
            state.withLock { state in
                state.waiting -= 1
                if !isWritten { state.dropped += 1 }
            }
        }
    }

    /// Waits until all lines are written, but at most one second.
    func finish() {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + 1)
    }
}
