import Dispatch
import Glibc
import Synchronization

/// Writes one line for each request, with a JSON object.
///
/// Requests never wait for the log. Lines are dropped and counted when too many lines wait for a pipe that is not read, or when
/// the disk is full.
public final class AccessLog: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "access log")
    private let state = Mutex((waiting: 0, dropped: 0, isBroken: false))

    private let limit: Int

    /// - Parameter limit: how many lines may wait.
    public init(to descriptor: Int32, limit: Int = 10_000) {
        (self.descriptor, self.limit) = (descriptor, limit)
    }

    var dropped: Int { state.withLock { $0.dropped } }

    func write(_ request: LoggedRequest) {
        let isTaken = state.withLock { state in
            guard state.waiting < limit, !state.isBroken else {
                state.dropped += 1
                return false
            }
            state.waiting += 1
            return true
        }
        guard isTaken else { return }
        queue.async { [self] in
            let line = Array("\(request.json)\n".utf8)
            let error = state.withLock { $0.isBroken } ? EPIPE : write(line)
            state.withLock { state in
                state.waiting -= 1
                if error != 0 { state.dropped += 1 }
                // After these errors, nothing more is written, because the descriptor may soon belong to another file. After
                // other errors, writing continues: a full disk may have room again.
                if error == EPIPE || error == EBADF { state.isBroken = true }
            }
        }
    }

    /// - Returns: the system's error number; 0 if the line was written.
    private func write(_ line: [UInt8]) -> Int32 {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return 0
    }

    /// Waits until all lines are written, but at most one second.
    func finish() {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + 1)
    }
}
