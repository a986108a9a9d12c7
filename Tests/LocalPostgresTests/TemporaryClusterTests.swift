import Glibc
import TestSupport
import Testing

@testable import LocalPostgres

@Suite("A temporary cluster leaves nothing behind")
struct TemporaryClusterTests {
    @Test("After kill -9 of the owner, the server and the folder are removed")
    func killedOwner() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]
        ) {
            let temporary = try await TemporaryCluster.start()
            print("cluster: \(temporary.cluster.home) \(try await temporary.cluster.pid())")
            fflush(nil)
            kill(getpid(), SIGKILL)
        }
        let printed = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        let line = try #require(printed.split(separator: "\n").first { $0.hasPrefix("cluster: ") })
        let home = String(line.split(separator: " ")[1])
        let pid = try #require(pid_t(line.split(separator: " ")[2]))
        #expect(home.contains("/quakes-"))
        try await waitUntil { !exists(home) && !lives(pid) }
    }

    @Test("After kill -9 of the owner during the start, no server appears later")
    func killedDuringStart() async throws {
        let folder = try TemporaryCluster.makeFolder()
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
            let temporary = try await TemporaryCluster.guarded(in: folder)
            try await withThrowingTaskGroup { group in
                group.addTask { _ = try await temporary.cluster.start() }
                try await waitUntil { exists("\(folder)/log") }
                kill(getpid(), SIGKILL)
            }
        }
        let socket = ServerSocket(home: folder)
        try await waitUntil { !exists(folder) }
        #expect(!socket.accepts())
        #expect(!(try await commandLines()).contains("postgres -D \(folder)"))
    }

    @Test("A cancelled start leaves nothing behind")
    func cancelled() async throws {
        let folder = try TemporaryCluster.makeFolder()
        let start = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await TemporaryCluster.start(in: folder)
        }
        await #expect(throws: CancellationError.self) { try await start.value }
        #expect(!exists(folder))
    }

    /// The command lines of all processes, joined.
    private func commandLines() async throws -> String {
        try await ServerProgram(
            "/bin/sh", ["-c", #"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' '"#]
        ).run().output
    }
}
