import Glibc

/// The lock that lets only one process at a time create, start or stop a cluster: flock(2) on `<home>/lock`.
///
/// The kernel releases the lock when the last process that holds it ends or crashes.
package struct HomeLock: Sendable {
    /// The descriptor is close-on-exec, so another program holds the lock only if the descriptor is passed to it.
    package let descriptor: Int32

    /// Runs `body` while holding the lock. Waits up to `limit` while another process holds the lock.
    ///
    /// - Throws: `LocalPostgresError` if the lock can't be taken, CancellationError while waiting, or the error of `body`.
    package static func holding<Value>(
        _ path: String, waitingUpTo limit: Duration, _ body: (HomeLock) async throws -> Value
    ) async throws -> Value {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try FileSystem.check(descriptor >= 0, "open the lock", path)
        defer { close(descriptor) }
        // Polls, because a blocking flock would occupy a thread of the pool and could not be cancelled.
        let locked = try await poll(upTo: limit) {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            try FileSystem.check(errno == EWOULDBLOCK || errno == EINTR, "lock", path)
            return false
        }
        guard locked else {
            throw LocalPostgresError(
                """
                Cannot lock \(path): another process has been starting or stopping this cluster for \
                \(limit.components.seconds) s. To see which process holds it, run: fuser -v \(path)
                """)
        }
        return try await body(HomeLock(descriptor: descriptor))
    }
}
