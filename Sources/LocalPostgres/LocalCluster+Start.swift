import Glibc

/// The programs that create and start a server, the user that they run as, and the lock that they hold.
struct ServerTools: Sendable {
    let binaries: PostgresBinaries
    let account: ServerAccount
    let lock: HomeLock
}

extension LocalCluster {
    /// The result of `start`.
    public enum Start: Sendable {
        /// The server was already accepting connections, or another process had just started it.
        case alreadyRunning
        /// The cluster existed, but its server was not running.
        case started
        /// There was no cluster. Now there is one, with an empty database `quakes`, and its server is running.
        case created
    }

    /// Makes sure that the server accepts connections when this returns. Creates the cluster if necessary.
    ///
    /// Any number of processes may start the same cluster at once: one does the work, and the others wait for it. Afterwards the
    /// server is independent. It keeps running after the caller and the caller's terminal have ended, and gets no signals from
    /// them. It keeps none of the caller's files or pipes open.
    ///
    /// A creation that is cancelled, fails or is killed leaves no cluster that a later start would use. If the server has already
    /// been launched when the call is cancelled, the server is left running and intact, and the call throws CancellationError.
    ///
    /// - Throws: `LocalPostgresError`, or CancellationError.
    @discardableResult
    public func start() async throws -> Start {
        let account = try ServerAccount.current()
        try checkOwner(account)
        if try accepts() { return .alreadyRunning }
        // If the caller is root, the home directory belongs to root, and only the files that the server writes belong to the
        // server's user.
        try FileSystem.createDirectories(
            home, mode: account.isAnother ? 0o711 : 0o700, parents: account.isAnother ? 0o755 : 0o700)
        return try await HomeLock.holding(lock, waitingUpTo: Self.serverTimeLimit * 2) { lock in
            if try await othersHaveStarted() { return .alreadyRunning }
            try Task.checkCancellation()
            let exists = try FileSystem.entry(data) != nil
            let binaries = try await PostgresBinaries.find(majorVersion: majorVersion())
            let tools = ServerTools(binaries: binaries, account: account, lock: lock)
            if !exists { try await create(with: tools) }
            try Postmaster.removeStaleFiles(in: data, socket: socket)
            try await launch(with: tools)
            return exists ? .started : .created
        }
    }

    private func accepts() throws(LocalPostgresError) -> Bool {
        try Postmaster.recorded(in: data)?.isReady == true && socket.accepts()
    }

    private func othersHaveStarted() async throws -> Bool {
        var running: Postmaster?
        _ = try await poll(upTo: Self.serverTimeLimit) {
            running = try Postmaster.running(in: data, socket: socket)
            return running?.isReady ?? true
        }
        guard let running else { return false }
        guard try accepts() else {
            throw LocalPostgresError(
                """
                Cannot reach the server of \(data): process \(running.pid) serves it, but not on the \
                socket in \(socketDirectory). Stop it (kill -INT \(running.pid)), then start again.
                """)
        }
        return true
    }

    private func launch(with tools: ServerTools) async throws {
        try FileSystem.createPrivateDirectory(socketDirectory, for: tools.account)
        try FileSystem.append("", to: log, for: tools.account)
        let logged = FileSystem.size(of: log)
        // If a server's main process was killed, its other processes take a moment to end. Until then PostgreSQL refuses to
        // start, to protect the data.
        let deadline = ContinuousClock.now + .seconds(10)
        var outcome = try await runServer(with: tools)
        while !outcome.succeeded, ContinuousClock.now < deadline,
            try FileSystem.read(log, from: logged)?.contains("pre-existing shared memory block") == true
        {
            try await Task.sleep(for: .milliseconds(200))
            outcome = try await runServer(with: tools)
        }
        guard outcome.succeeded, try accepts() else {
            let lines = (try FileSystem.read(log, from: logged) ?? "").split(separator: "\n")
            let newest = lines.suffix(20).joined(separator: "\n")
            throw LocalPostgresError(
                """
                Cannot start the PostgreSQL cluster in \(home):\(LocalPostgresError.block(outcome.output))
                Last lines of \(log):\(LocalPostgresError.block(newest)) \
                Fix the cause named above, then start again.
                """)
        }
        try Task.checkCancellation()
    }

    private func runServer(with tools: ServerTools) async throws -> ServerProgram.Outcome {
        // The address is on the command line, because that overrides every configuration file, and `trust` is safe only at this
        // address. pg_ctl passes these options to a shell, so their paths are quoted here. The path of the log is relative, and
        // PGDATA is in the environment, because pg_ctl would not quote these paths.
        let options =
            "-D \(Self.shellQuoted(data)) -k \(Self.shellQuoted(socketDirectory)) -h ''"
            + " -p \(ServerSocket.port)"
        let seconds = Self.serverTimeLimit.components.seconds
        var pgCtl = ServerProgram(
            "\(tools.binaries.directory)/pg_ctl",
            ["start", "-s", "-w", "-t", "\(seconds)", "-l", "log", "-o", options], as: tools.account)
        pgCtl.workingDirectory = home
        pgCtl.environment = ["PGDATA": data]
        // pg_ctl must not be interrupted: if it were killed, the server would still start, but this process would not notice.
        return try await uncancelled { [pgCtl] in try await pgCtl.run(holding: tools.lock) }
    }

    private static func shellQuoted(_ text: String) -> String {
        let parts = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.map { String($0) }.joined(separator: #"'\''"#) + "'"
    }
}
