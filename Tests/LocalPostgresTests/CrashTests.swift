import Glibc
import Testing

@testable import LocalPostgres

@Suite("Recovering after a kill", .timeLimit(.minutes(3)))
struct CrashTests {
    @Test("After kill -9 of the server, the next start recovers it")
    func killedServer() async throws {
        try await withCluster(settings: ["fsync": "on", "synchronous_commit": "on"]) { cluster in
            try await cluster.start()
            _ = try await cluster.query("CREATE TABLE kept AS SELECT 7 AS n")
            let pid = try await cluster.pid()
            kill(pid, SIGKILL)
            #expect(try await poll(upTo: .seconds(60)) { !lives(pid) })
            guard case .stopped = try await cluster.status() else {
                Issue.record("a dead server counts as running")
                return
            }
            #expect(try await cluster.stop() == false)
            #expect(try await cluster.start() == .started)
            #expect(try await cluster.query("SELECT n FROM kept") == "7")
        }
    }

    /// After a reboot, or in a container, the number in postmaster.pid soon belongs to another process.
    @Test(
        "A stale pid file does not prevent a start, even if its number belongs to another process of the same user"
    )
    func reusedProcessID() async throws {
        try await withCluster { cluster in
            try await cluster.start()
            let pid = try await cluster.pid()
            kill(pid, SIGKILL)
            #expect(try await poll(upTo: .seconds(60)) { !lives(pid) })

            let sleeper = ServerProgram(
                "/bin/sh", ["-c", "echo $$ >>\"$0\"; exec sleep 100", "\(cluster.log)"], as: try .current())
            try await withThrowingTaskGroup { group in
                group.addTask { _ = try await sleeper.run() }
                var stranger: pid_t?
                #expect(
                    try await poll(upTo: .seconds(60)) {
                        stranger = try FileSystem.read(cluster.log)?.split(separator: "\n").last.flatMap {
                            pid_t($0)
                        }
                        return stranger != nil
                    })
                try rewriteFirstLine(of: "\(cluster.data)/postmaster.pid", to: "\(stranger!)")
                try rewriteFirstLine(of: "\(cluster.socket.path).lock", to: "\(stranger!)")
                #expect(try await cluster.stop() == false)
                #expect(lives(stranger!), "stop() must not signal a stranger")
                #expect(try await cluster.start() == .started)
                #expect(lives(stranger!))
                group.cancelAll()
            }
        }
    }

    /// this process: start ─ initdb … kill -9
    /// initdb:                        … writes on, holding the lock ─ ends
    /// next start:                    waits for the lock ────────────── cleans up ─ creates
    @Test("kill -9 in the middle of the creation leaves nothing that the next start trusts")
    func killedCreation() async throws {
        try await withCluster { (cluster) async throws in
            await #expect(processExitsWith: .signal(SIGKILL)) { [home = cluster.home as String] in
                let cluster = LocalCluster(home: home)
                try await withThrowingTaskGroup { group in
                    group.addTask { _ = try await cluster.start() }
                    _ = try await poll(upTo: .seconds(30)) { exists("\(home)/data.new/PG_VERSION") }
                    kill(getpid(), SIGKILL)
                }
            }
            #expect(try await cluster.status() == .absent)
            #expect(try await cluster.start() == .created)
            #expect(!exists("\(cluster.home)/data.new"))
            #expect(try await cluster.query("SELECT 1") == "1")
        }
    }

    @Test("A creation that is cancelled leaves nothing behind, and the next one succeeds")
    func cancelledCreation() async throws {
        try await withCluster { (cluster) async throws in
            let start = Task { try await cluster.start() }
            #expect(try await poll(upTo: .seconds(30)) { exists("\(cluster.home)/data.new/PG_VERSION") })
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
