import Glibc

extension LocalCluster {
    /// Stops the server and returns once its process has ended. Returns false if no server was running.
    ///
    /// SIGINT rolls back open transactions and disconnects the clients. SIGTERM waits until every client has disconnected.
    /// SIGQUIT aborts: the next start recovers from the write-ahead log, as after a crash, and committed transactions are not
    /// lost. Source: PostgreSQL, Server Setup and Operation, "Shutting Down the Server".
    ///
    /// A cancelled call ends at once, but a server that has received the signal still stops.
    ///
    /// - Throws: `LocalPostgresError` when the server is still running after 60 s, or if a server listens, but the recorded
    ///   process is not that server. The recorded process may be unrelated, so it gets no signal.
    @discardableResult
    public func stop(signal: Int32 = SIGINT) async throws -> Bool {
        try checkOwner(ServerAccount.current())
        guard try Postmaster.running(in: data, socket: socket) != nil else { return false }
        return try await HomeLock.holding(lock, waitingUpTo: Self.serverTimeLimit * 2) { _ in
            var running: Postmaster?
            // After a kill -9, the server's socket still accepts connections until its last process has ended.
            let isHere = try await poll(upTo: .seconds(10)) {
                running = try Postmaster.running(in: data, socket: socket)
                return running?.runs(in: data) ?? true
            }
            guard let postmaster = running else { return false }
            guard isHere else {
                throw LocalPostgresError(
                    """
                    Cannot stop the server that listens in \(socketDirectory): its process is not visible \
                    here. If it runs in a container, stop it there.
                    """)
            }
            try FileSystem.check(
                kill(postmaster.pid, signal) == 0 || errno == ESRCH,
                "signal process \(postmaster.pid), the server of", data)
            let gone = try await poll(upTo: Self.serverTimeLimit) {
                try Postmaster.running(in: data, socket: socket)?.pid != postmaster.pid
            }
            guard gone else {
                throw LocalPostgresError(
                    """
                    Cannot stop the PostgreSQL cluster in \(home): process \(postmaster.pid) is still \
                    running \(Self.serverTimeLimit.components.seconds) s after a fast stop. Stop it at once \
                    (kill -QUIT \(postmaster.pid)); the next start recovers all committed data.
                    """)
            }
            return true
        }
    }
}
