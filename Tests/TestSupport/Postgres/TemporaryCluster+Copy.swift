import Glibc
import LocalPostgres

extension TemporaryCluster {
    /// Creates and starts a hot standby of `primary`, which must be running. The standby is made from a base backup, and
    /// receives later changes by streaming replication over the primary's socket.
    ///
    /// The primary needs no preparation: PostgreSQL's defaults and initdb's `trust` allow replication. The standby has the
    /// primary's configuration, followed by `settings`.
    ///
    /// - Throws: `LocalPostgresError` or CancellationError. Then nothing is left behind.
    package static func startStandby(
        of primary: LocalCluster, settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        try await copy(of: primary, settings: settings).prepared { try await $0.start() }
    }

    /// Copies this cluster, which must be stopped, and starts the copy. The copy has this cluster's configuration, followed by
    /// `settings`. A copy takes a fraction of the time of a new cluster.
    package func startCopy(settings: [String: String] = [:]) async throws -> TemporaryCluster {
        try await Self.guarded(in: Self.makeFolder()).prepared {
            try await $0.copyFiles(of: cluster, settings: settings)
            try await $0.start()
        }
    }

    /// Takes a base backup of `primary`, which must be running. Once the returned cluster is started, it follows the primary.
    package static func copy(
        of primary: LocalCluster, settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        try await guarded(in: makeFolder()).prepared { try await $0.copy(primary, settings: settings) }
    }

    /// Starts this base backup, recovers it from the archived log to the moment in `settings`, and makes it a separate primary.
    package func recover(settings: [String: String]) async throws {
        let account = try ServerAccount.current()
        try FileSystem.append(
            Self.lines(settings.merging(["recovery_target_action": "promote"]) { $1 }),
            to: "\(cluster.data)/quakes.conf", for: account)
        // Removes the file that makes the copy a standby.
        unlink("\(cluster.data)/standby.signal")
        try FileSystem.append("", to: "\(cluster.data)/recovery.signal", for: account)
        try await cluster.start()
    }
}

extension LocalCluster {
    /// Fills `data` with a base backup of `primary`. Once this cluster is started, it follows `primary`. A failure leaves a
    /// partial copy.
    fileprivate func copy(_ primary: LocalCluster, settings: [String: String]) async throws {
        try await fill(
            with: "pg_basebackup", at: try await primary.program("pg_basebackup"),
            [
                "--pgdata", data, "--host", primary.socketDirectory, "--port", "\(ServerSocket.port)",
                "--username", Self.role, "--no-password", "--write-recovery-conf", "--wal-method", "stream",
                "--checkpoint", "fast", "--no-sync",
            ], settings: settings)
    }

    /// Fills `data` with the files of another cluster, which must be stopped. A failure leaves a partial copy.
    fileprivate func copyFiles(of stopped: LocalCluster, settings: [String: String]) async throws {
        try await fill(with: "cp", at: "/bin/cp", ["-a", "\(stopped.data)/.", data], settings: settings)
    }

    private func fill(
        with name: String, at path: String, _ arguments: [String], settings: [String: String]
    ) async throws {
        let account = try ServerAccount.current()
        // The watchdog waits for this lock, so it never removes a folder that is still being written.
        try await HomeLock.holding(lock, waitingUpTo: Self.serverTimeLimit) { lock in
            try FileSystem.createPrivateDirectory(data, for: account)
            let outcome = try await ServerProgram(path, arguments, as: account).run(holding: lock)
            guard outcome.succeeded else {
                throw LocalPostgresError.creationFailed(home: home, program: name, output: outcome.output)
            }
            // If a setting occurs twice, the last one counts.
            try FileSystem.append(
                TemporaryCluster.lines(settings), to: "\(data)/quakes.conf", for: account)
        }
    }
}
