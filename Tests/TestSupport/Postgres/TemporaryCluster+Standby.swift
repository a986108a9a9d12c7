import Glibc
import LocalPostgres

extension TemporaryCluster {
    /// Creates and starts a hot standby of `primary`, which must be running, from a base backup: it follows
    /// by streaming replication over the primary's socket.
    ///
    /// The primary needs nothing prepared: PostgreSQL's defaults and initdb's `trust` let it replicate. The
    /// standby has its configuration; `settings` come behind that.
    ///
    /// - Throws: `LocalPostgresError`, or CancellationError; nothing stays behind then either.
    package static func startStandby(
        of primary: LocalCluster, settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        try await copy(of: primary, settings: settings).prepared { try await $0.start() }
    }

    /// Takes a base backup of `primary`, which must be running: a cluster that follows it once it is started.
    package static func copy(
        of primary: LocalCluster, settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        try await guarded(in: makeFolder()).prepared { try await $0.copy(primary, settings: settings) }
    }

    /// Starts a base backup that recovers to a moment, from the log that was archived as `settings` say, and then is a primary of
    /// its own.
    package func recover(settings: [String: String]) async throws {
        let account = try ServerAccount.current()
        try FileSystem.append(
            Self.lines(settings.merging(["recovery_target_action": "promote"]) { $1 }),
            to: "\(cluster.data)/quakes.conf", for: account)
        // What makes a standby of it.
        unlink("\(cluster.data)/standby.signal")
        try FileSystem.append("", to: "\(cluster.data)/recovery.signal", for: account)
        try await cluster.start()
    }
}

extension LocalCluster {
    /// Fills `data` with a base backup that, once started, follows `primary`. A failure leaves a part of it.
    fileprivate func copy(_ primary: LocalCluster, settings: [String: String]) async throws {
        let account = try ServerAccount.current()
        let arguments = [
            "--pgdata", data, "--host", primary.socketDirectory, "--port", "\(ServerSocket.port)",
            "--username", Self.role, "--no-password", "--write-recovery-conf", "--wal-method", "stream",
            "--checkpoint", "fast", "--no-sync",
        ]
        let backup = try await ServerProgram(primary.program("pg_basebackup"), arguments, as: account)
        // The watchdog waits for the lock, so it never removes what is still being written.
        try await HomeLock.holding(lock, waitingUpTo: Self.serverTimeLimit) { lock in
            try FileSystem.createPrivateDirectory(data, for: account)
            let outcome = try await backup.run(holding: lock)
            guard outcome.succeeded else {
                throw LocalPostgresError.creationFailed(
                    home: home, program: "pg_basebackup", output: outcome.output)
            }
            // Of a setting that stands there twice, the last one counts.
            try FileSystem.append(
                TemporaryCluster.lines(settings), to: "\(data)/quakes.conf", for: account)
        }
    }
}
