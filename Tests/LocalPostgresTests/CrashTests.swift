import Glibc
import TestSupport
import Testing

@testable import LocalPostgres

@Suite("Recovering after a kill")
struct CrashTests {
    @Test("After kill -9 of the server, the next start recovers the cluster")
    func killedServer() async throws {
        try await withRunningCluster(settings: ["synchronous_commit": "on"]) { cluster in
            _ = try await cluster.query("CREATE TABLE kept AS SELECT 7 AS n")
            let pid = try await cluster.pid()
            kill(pid, SIGKILL)
            try await waitUntil { !lives(pid) && !cluster.socket.accepts() }
            guard case .stopped = try await cluster.status() else {
                Issue.record("a dead server counts as running")
                return
            }
            #expect(try await cluster.stop() == false)
            #expect(try await cluster.start() == .started)
            #expect(try await cluster.query("SELECT n FROM kept") == "7")
        }
    }

    @Test(
        "A server in a directory of another user is not the cluster's server",
        .enabled(if: geteuid() == 0, "Only root can create a directory of another user."))
    func foreignDirectory() throws {
        let folder = try TemporaryCluster.makeFolder()
        defer { unlink(folder) }
        let socket = ServerSocket(home: folder)
        try FileSystem.createDirectories(socket.directory, mode: 0o755, parents: 0o755)
        let listener = try ListeningSocket(socket.path)
        #expect(!socket.accepts())
        let account = try ServerAccount.current()
        #expect(lchown(socket.directory, account.userID, account.groupID) == 0)
        #expect(socket.accepts())
        withExtendedLifetime(listener) {}
        unlink(socket.path)
        rmdir(socket.directory)
    }

    /// After a reboot, or in a container, the process id in postmaster.pid may belong to another process.
    @Test(
        "A stale pid file does not prevent a start, even if its number belongs to another process of the same user"
    )
    func reusedProcessID() async throws {
        try await withRunningCluster { cluster in
            let pid = try await cluster.pid()
            kill(pid, SIGKILL)
            try await waitUntil { !lives(pid) && !cluster.socket.accepts() }

            let sleeper = ServerProgram(
                "/bin/sh", ["-c", "echo $$ >>\"$0\"; exec sleep 100000", "\(cluster.log)"], as: try .current()
            )
            try await withThrowingTaskGroup { group in
                group.addTask { _ = try await sleeper.run() }
                var stranger: pid_t?
                try await waitUntil {
                    stranger = try FileSystem.read(cluster.log)?.split(separator: "\n").last.flatMap {
                        pid_t($0)
                    }
                    return stranger != nil
                }
                try rewriteFirstLine(of: "\(cluster.data)/postmaster.pid", to: "\(stranger!)")
                try rewriteFirstLine(of: "\(cluster.socket.path).lock", to: "\(stranger!)")
                do {
                    unlink(cluster.socket.path)
                    let listener = try ListeningSocket(cluster.socket.path)
                    let error = await #expect(throws: LocalPostgresError.self) { try await cluster.stop() }
                    withExtendedLifetime(listener) {}
                    #expect("\(error!)".contains("listens in \(cluster.socketDirectory):"), "\(error!)")
                }
                #expect(try await cluster.stop() == false)
                #expect(lives(stranger!), "stop() must not signal a stranger")
                #expect(try await cluster.start() == .started)
                #expect(lives(stranger!))
                group.cancelAll()
            }
        }
    }

    /// this process: start ─ initdb … kill -9
    /// initdb:                        … continues to write, holding the lock ─ ends
    /// next start:                    waits for the lock ───────────────────── cleans up ─ creates
    @Test("After kill -9 during the creation, the next start discards everything that is incomplete")
    func killedCreation() async throws {
        try await withCluster { (cluster) async throws in
            await #expect(processExitsWith: .signal(SIGKILL)) { [home = cluster.home as String] in
                try await withThrowingTaskGroup { group in
                    group.addTask { _ = try await LocalCluster(home: home, configuration: stuck).start() }
                    group.addTask {
                        try await waitUntil { try isStuck("\(home)/data.new") }
                        kill(getpid(), SIGKILL)
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await cluster.status() == .absent)
            let orphan = try #require(try singleUser(in: "\(cluster.home)/data.new"))
            #expect(lives(orphan))
            async let next = cluster.start()
            kill(orphan, SIGKILL)
            #expect(try await next == .created)
            #expect(!exists("\(cluster.home)/data.new"))
            #expect(try await cluster.query("SELECT 1") == "1")
        }
    }

    @Test("A cancelled creation leaves nothing behind, and the next one succeeds")
    func cancelledCreation() async throws {
        try await withCluster { (cluster) async throws in
            let start = Task { try await LocalCluster(home: cluster.home, configuration: stuck).start() }
            try await waitUntil { try isStuck("\(cluster.home)/data.new") }
            start.cancel()
            await #expect(throws: CancellationError.self) { try await start.value }
            #expect(!exists("\(cluster.home)/data.new") && !exists(cluster.data))
            #expect(try await cluster.start() == .created)
        }
    }

    private func rewriteFirstLine(of path: String, to line: String) throws {
        let lines = try #require(try FileSystem.read(path)).split(
            separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        #expect(unlink(path) == 0)
        try FileSystem.append("\(line)\n\(lines[1])", to: path, for: .current())
    }
}

/// With this configuration, a creation hangs after initdb has ended: the session that creates the database begins with a long
/// sleep.
private let stuck = TemporaryCluster.configuration + "post_auth_delay = '2000'\n"

/// Whether initdb has ended, and the process that creates the database is running.
private func isStuck(_ data: String) throws -> Bool {
    try exists("\(data)/quakes.conf") && singleUser(in: data) != nil
}

/// The process that creates the database before the server exists. Its process id is negative in the file (PostgreSQL's
/// miscinit.c, CreateLockFile).
private func singleUser(in data: String) throws -> pid_t? {
    try FileSystem.read("\(data)/postmaster.pid")?.split(separator: "\n").first.flatMap { pid_t($0) }.map(abs)
}
