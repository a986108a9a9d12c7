import Glibc
import TestSupport
import Testing

@testable import LocalPostgres

@Suite("The server is independent of its starter")
struct IndependenceTests {
    /// As in `quakes import … | cat`, the test reads the standard output of the starter to its end. If the server had inherited
    /// that pipe, the test would wait for ever.
    @Test("The server outlives its starter, and a pipe from the starter still ends")
    func pipeEnds() async throws {
        try await withRunningCluster { (cluster) async throws in
            try await cluster.stop()
            let result = await #expect(
                processExitsWith: .success,
                observing: [\.standardOutputContent, \.standardErrorContent]
            ) { [home = cluster.home as String] in
                let start = try await LocalCluster(home: home).start()
                print("start: \(start)")
            }
            let printed = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
            #expect(printed.contains("start: started"), "\(printed)")
            #expect(try await cluster.start() == .alreadyRunning)
            #expect(try await cluster.query("SELECT 1") == "1")
        }
    }

    @Test("No descriptor of the starter is open in the server, not even one without close-on-exec")
    func descriptors() async throws {
        try await withRunningCluster { cluster in
            try await cluster.stop()
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            try await cluster.start()
            close(ends[1])
            // Another test may start a program at this moment, which also holds the pipe for a moment. So wait until the pipe
            // ends.
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            var byte: UInt8 = 0
            try await waitUntil { read(ends[0], &byte, 1) == 0 }
            close(ends[0])

            let pid = try await cluster.pid()
            #expect(target(of: "/proc/\(pid)/fd/0") == "/dev/null")
            #expect(target(of: "/proc/\(pid)/fd/1") == cluster.log)
            #expect(target(of: "/proc/\(pid)/fd/2") == cluster.log)
            #expect(descriptorTargets(of: pid).allSatisfy { $0 != cluster.lock })
        }
    }

    @Test("The server has its own session, so Ctrl-C and a closed terminal do not reach it")
    func session() async throws {
        try await withRunningCluster { cluster in
            let pid = try await cluster.pid()
            #expect(getsid(pid) == pid)
            #expect(getpgid(pid) == pid)
        }
    }

    @Test("The caller's PostgreSQL variables reach neither the server nor the URL")
    func environment() async throws {
        try await withCluster { cluster in
            await #expect(processExitsWith: .success) { [home = cluster.home as String] in
                for (name, value) in ["PGDATA": "/nowhere", "PGPORT": "1", "PGOPTIONS": "-c nonsense=1"] {
                    setenv(name, value, 1)
                }
                let cluster = LocalCluster(home: home, configuration: TemporaryCluster.configuration)
                let start = try await cluster.start()
                #expect(start == .created)
            }
            // Variables that libpq reads from the environment must not change the destination of the URL.
            let outcome = try await ServerProgram(
                "/usr/bin/env",
                [
                    "PGPORT=1", "PGHOST=/nowhere", "PGUSER=nobody", "PGDATABASE=nothing",
                    try await cluster.program("psql"), "-XAtc", "SELECT 1", cluster.url(),
                ]
            ).run()
            #expect(outcome.output == "1\n")
        }
    }

    @Test("As root, the server runs as postgres, which owns its files; root still owns the home")
    func serverAccount() async throws {
        try await withCluster { cluster in
            try await cluster.start()
            let account = try ServerAccount.current()
            let pid = try await cluster.pid()
            #expect(owner(of: "/proc/\(pid)") == account.userID)
            #expect(account.userID != 0)
            if geteuid() == 0 { #expect(account.userID == getpwnam("postgres")?.pointee.pw_uid) }
            #expect(owner(of: cluster.data) == account.userID && mode(of: cluster.data) == 0o700)
            #expect(owner(of: cluster.log) == account.userID && mode(of: cluster.log) == 0o600)
            #expect(mode(of: cluster.socketDirectory) == 0o700)
            #expect(owner(of: cluster.home) == geteuid())
        }
    }

    private func target(of link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes {
            readlink(link, $0.assumingMemoryBound(to: CChar.self).baseAddress!, $0.count)
        }
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    private func descriptorTargets(of pid: pid_t) -> [String] {
        (0..<1024).compactMap { target(of: "/proc/\(pid)/fd/\($0)") }
    }
}
