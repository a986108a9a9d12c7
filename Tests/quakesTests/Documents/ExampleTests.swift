import Foundation
import Glibc
import QuakeStore
import Subprocess
import Synchronization
import TestSupport
import Testing

/// Runs the programs in Examples/ as a reader of the documentation would.
@Suite("Examples")
struct ExampleTests {
    let server = TestServer.shared

    @Test(
        "Examples/follow.sql reads all rows on the first run, then only changed rows, and all rows again after pruning"
    )
    func psql() async throws {
        try await withFolder { folder in
            try await server.withDatabase { database in
                try await database.insert("q0a")
                let psql = try await server.cluster().program("psql")
                try Data().write(to: folder.appending(path: "position.sql"))
                @Sendable func pass() async throws -> String {
                    let result = try await Subprocess.run(
                        .path(.init(psql)),
                        arguments: ["-qX", "-d", database.url, "-f", Self.path("follow.sql")],
                        workingDirectory: .init(folder.path), output: .string(limit: 1 << 20),
                        error: .string(limit: 1 << 16))
                    #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
                    return result.standardOutput
                }

                let first = try await pass()
                #expect(first.contains("starting over") && first.contains("q0a"))
                #expect(try await pass().contains("(0 rows)"))
                try await database.insert("q0b")
                let second = try await pass()
                #expect(second.contains("q0b") && !second.contains("q0a"))
                try await database.insert("q0c")
                try await database.query("select history.prune('0')")
                #expect(try await pass().contains("starting over"))
                #expect(try await pass().contains("(0 rows)"))
                let altered = try await database.altering { try await pass() }
                #expect(altered.contains("starting over") && altered.contains("q0a"))
            }
        }
    }

    @Test(
        "Examples/follow.py keeps all rows while the table is being rewritten, and then continues from the new table",
        .enabled(if: interpreter != nil, "needs psycopg"))
    func pythonBesideAlter() async throws {
        try await server.withDatabase { database in
            try await database.insert("q0a")
            let result = try await follow(database) { execution in
                var lines = execution.standardOutput.strings().makeAsyncIterator()
                #expect(try await lines.next()?.hasPrefix("1 earthquakes at token 1") == true)
                // The notification makes the program read, while the table is locked.
                try await database.withConnection { connection in
                    try await connection.execute(
                        script: "begin; \(Alteration.rewriting.statement)", to: "alter the table")
                    try await database.query("notify quake_changes")
                    try await waitUntil { try await database.blockedSessions() > 0 }
                    try await connection.execute(script: "commit", to: "alter the table")
                }
                #expect(try await lines.next()?.hasPrefix("1 earthquakes at token 1") == true)
                try execution.send(signal: .terminate)
            }
            #expect(result.status == .exited(0))
            #expect(result.errors == "")
        }
    }

    @Test(
        "Examples/follow.py keeps up with inserts and deletes, and ends cleanly on SIGTERM",
        .enabled(if: interpreter != nil, "needs psycopg"))
    func python() async throws {
        try await server.withDatabase { database in
            try await database.insert("q0a")
            let result = try await follow(database) { execution in
                var lines = execution.standardOutput.strings().makeAsyncIterator()
                // The program also reads after a while without changes, and then prints the same line again. Such lines are
                // skipped.
                func next(_ line: String) async throws -> String? {
                    var before = line
                    while let next = try await lines.next() {
                        if next != before { return next }
                        before = next
                    }
                    return nil
                }
                let one = try await lines.next() ?? ""
                #expect(one.hasPrefix("1 earthquakes at token 1"))
                try await database.insert("q0b")
                let two = try await next(one) ?? ""
                #expect(two.hasPrefix("2 earthquakes at token 2"))
                try await database.query("delete from quake where code = 'q0a'")
                #expect(try await next(two)?.hasPrefix("1 earthquakes at token 3") == true)
                try execution.send(signal: .terminate)
            }
            #expect(result.status == .exited(0))
            #expect(result.errors == "")
        }
    }

    @Test(
        "Examples/follow.py reconnects after restarts of the server, catches up, and ends cleanly on SIGINT",
        .enabled(if: interpreter != nil, "needs psycopg"))
    func pythonAfterRestarts() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        try await database.insert("q0a")
        let result = try await follow(database) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            #expect(try await lines.next()?.hasPrefix("1 earthquakes at token 1") == true)
            for (restart, code) in ["q0b", "q0c"].enumerated() {
                _ = try await server.cluster.stop()
                _ = try await server.cluster.start()
                try await database.insert(code)
                // If the program reconnected before the insert, it has printed one more line.
                let all = "\(restart + 2) earthquakes at "
                while let line = try await lines.next(), !line.hasPrefix(all) {}
            }
            try execution.send(signal: .interrupt)
            // The program may print more lines with the same count, but no others.
            while let line = try await lines.next() { #expect(line.hasPrefix("3 earthquakes at ")) }
        }
        #expect(result.status == .exited(0))
        #expect(result.errors.contains("connecting again") && !result.errors.contains("Traceback"))
    }

    @Test(
        "Examples/follow.py reports an unreachable server without a traceback, and exits with 1",
        .enabled(if: interpreter != nil, "needs psycopg"))
    func pythonWithoutServer() async throws {
        let result = try await Subprocess.run(
            try Self.python,
            arguments: [Self.path("follow.py"), "host=/nonexistent user=nobody"],
            output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
        #expect(result.terminationStatus == .exited(1))
        #expect(result.standardError.hasPrefix("follow.py: ") && !result.standardError.contains("Traceback"))
    }

    @Test(
        "Examples/follow.mjs follows a server over HTTP, reconnects after its restart, and ends cleanly on SIGTERM",
        .enabled(if: isThere("node"), "needs Node.js"))
    func javaScript() async throws {
        try await followsOverHTTP(.name("node"), [Self.path("follow.mjs")])
    }

    @Test(
        "Examples/follow.go follows a server over HTTP, reconnects after its restart, and ends cleanly on SIGTERM",
        .enabled(if: isThere("go"), "needs Go"))
    func go() async throws {
        try await withFolder { folder in
            let program = folder.appending(path: "follow").path
            let built = try await Subprocess.run(
                .name("go"), arguments: ["build", "-o", program, Self.path("follow.go")],
                environment: .inherit.updating(["GOCACHE": folder.appending(path: "cache").path]),
                output: .discarded, error: .string(limit: 1 << 16))
            #expect(built.terminationStatus.isSuccess, "\(built.standardError)")
            try await followsOverHTTP(.path(.init(program)), [])
        }
    }

    /// server   serves            ends            serves on the same port
    /// table               changes       changes
    /// reader   follows                  waits                             catches up
    private func followsOverHTTP(_ program: Executable, _ arguments: [String]) async throws {
        try await server.withDatabase { database in
            let socket = try LoopbackSocket.bound(queue: nil)
            let port = socket.port
            socket.close()
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            @Sendable func isServed() -> Bool {
                LoopbackSocket.health(at: port).contains("\"status\":\"ok\"")
            }
            func serving(_ body: @Sendable () async throws -> Void) async throws {
                let status = try await quakes.run(["serve", "--listen", "127.0.0.1:\(port)"]) { process in
                    try await waitUntil { isServed() }
                    try await body()
                    kill(process, SIGTERM)
                }
                #expect(status == 0)
            }
            let reader = LineReader()
            let reading = Task {
                try await waitUntil { isServed() }
                return try await reader.run(program, arguments + ["http://127.0.0.1:\(port)"])
            }
            try await database.insert("q0a")
            try await serving {
                #expect(await reader.hears("1 earthquakes at token 1"))
                try await database.insert("q0b")
                #expect(await reader.hears("2 earthquakes at token 2"))
                try await database.query("delete from quake where code = 'q0a'")
                #expect(await reader.hears("1 earthquakes at token 3"))
            }
            try await database.insert("q0c")
            try await serving {
                #expect(await reader.hears("2 earthquakes at token 4"))
                reader.end()
            }
            let (status, errors) = try await reading.value
            #expect(status == .exited(0), "\(errors)")
            #expect(errors.contains("; connecting again\n"))
        }
    }

    private static func isThere(_ program: String) -> Bool {
        ["/usr/local/bin", "/usr/bin"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }

    /// Runs Examples/follow.py while `body` runs.
    private func follow(
        _ database: TestDatabase,
        _ body: (Execution<NoInput, SequenceOutput, StringOutput<UTF8>>) async throws -> Void
    ) async throws -> (status: TerminationStatus, errors: String) {
        let result = try await Subprocess.run(
            try Self.python, arguments: [Self.path("follow.py"), database.url],
            input: .none,
            output: .sequence, error: .string(limit: 1 << 16), body: body)
        return (result.terminationStatus, result.standardError)
    }

    private static func path(_ name: String) -> String {
        projectFile("Examples/\(name)").path
    }

    private static var python: Executable {
        get throws {
            let interpreter = try #require(interpreter)
            return interpreter.hasPrefix("/") ? .path(.init(interpreter)) : .name(interpreter)
        }
    }

    /// A Python with psycopg: the first one in PATH, or the system's.
    private static let interpreter: String? = ["python3", "/usr/bin/python3"].first { python in
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [python, "-c", "import psycopg"]
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// Runs a program, and lets the test wait for lines of its output.
private final class LineReader: Sendable {
    private let process = Mutex<pid_t>(0)
    private let (lines, teller) = AsyncStream.makeStream(of: String.self)

    func run(
        _ program: Executable, _ arguments: [String]
    ) async throws -> (status: TerminationStatus, errors: String) {
        let result = try await Subprocess.run(
            program, arguments: .init(arguments), input: .none, output: .sequence,
            error: .string(limit: 1 << 16)
        ) { execution in
            process.withLock { $0 = execution.processIdentifier.value }
            for try await line in execution.standardOutput.strings() {
                teller.yield(line.trimmingCharacters(in: .newlines))
            }
            teller.finish()
        }
        return (result.terminationStatus, result.standardError)
    }

    /// Waits until the program prints `line`. Returns false if the output ends without that line.
    func hears(_ line: String) async -> Bool {
        for await next in lines where next == line { return true }
        return false
    }

    func end() { kill(process.withLock { $0 }, SIGTERM) }
}

extension TestDatabase {
    fileprivate func insert(_ code: String) async throws {
        try await query(
            """
            insert into quake (code, net, net_code, time, updated, longitude, latitude)
            values (\(code), 'q0', \(code), now(), now(), 0, 0)
            """)
    }
}
