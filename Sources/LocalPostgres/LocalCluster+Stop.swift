import Glibc

extension LocalCluster {
    /// How to stop. Source: PostgreSQL, Server Setup and Operation, "Shutting Down the Server".
    public enum StopMode: String, Sendable, CaseIterable {
        /// Waits until every client has disconnected.
        case smart
        /// Rolls back open transactions and disconnects the clients.
        case fast
        /// Aborts. The next start recovers from the log, as after a crash. Nothing committed is lost.
        case immediate

        fileprivate var signal: Int32 {
            switch self {
            case .smart: SIGTERM
            case .fast: SIGINT
            case .immediate: SIGQUIT
            }
        }
    }

    /// Stops the server and returns once it is gone. Returns false when none was running.
    ///
    /// A cancelled call ends at once, but a server that was asked to stop goes on stopping.
    ///
    /// - Throws: `LocalPostgresError.stopTimedOut` when the server is still running after 60 s.
    @discardableResult
    public func stop(_ mode: StopMode = .fast) async throws -> Bool {
        try checkOwner(ServerAccount.current())
        guard try Postmaster.running(in: data, socket: socket) != nil else { return false }
        return try await HomeLock.holding(lock, waitingUpTo: Self.serverTimeLimit * 2) { _ in
            guard let postmaster = try Postmaster.running(in: data, socket: socket) else { return false }
            guard kill(postmaster.pid, mode.signal) == 0 || errno == ESRCH else {
                throw LocalPostgresError.fileSystem(
                    operation: "signal process \(postmaster.pid), the server of", path: data, code: errno)
            }
            let gone = try await poll(upTo: Self.serverTimeLimit) {
                try Postmaster.running(in: data, socket: socket)?.pid != postmaster.pid
            }
            guard gone else {
                throw LocalPostgresError.stopTimedOut(
                    home: home, mode: mode, pid: postmaster.pid, after: Self.serverTimeLimit)
            }
            return true
        }
    }
}
