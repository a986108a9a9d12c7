import Foundation
import Subprocess
import TestSupport
import Testing

/// Runs the programs in Examples/ as a reader of the documentation would.
@Suite("Examples")
struct ExampleTests {
    let server = TestServer.shared

    @Test(
        "Examples/follow.sql reads all rows at first, then only changed ones, and all rows again after pruning"
    )
    func psql() async throws {
        try await withFolder { folder in
            try await server.withDatabase { database in
                try await database.insert("q0a")
                let psql = try await server.cluster().program("psql")
                try Data().write(to: folder.appending(path: "position.sql"))
                func pass() async throws -> String {
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
            }
        }
    }

    @Test(
        "Examples/follow.py keeps up with inserts and deletes", .enabled(if: hasPsycopg, "needs psycopg 3.2"))
    func python() async throws {
        try await server.withDatabase { database in
            try await database.insert("q0a")
            let result = try await Subprocess.run(
                .name("python3"), arguments: [Self.path("follow.py"), database.url], input: .none,
                output: .sequence, error: .discarded
            ) { execution in
                var lines = execution.standardOutput.strings().makeAsyncIterator()
                #expect(try await lines.next()?.hasPrefix("1 earthquakes at token 1") == true)
                try await database.insert("q0b")
                #expect(try await lines.next()?.hasPrefix("2 earthquakes at token 2") == true)
                try await database.query("delete from quake where code = 'q0a'")
                #expect(try await lines.next()?.hasPrefix("1 earthquakes at token 3") == true)
                try execution.send(signal: .terminate)
            }
            #expect(!result.terminationStatus.isSuccess)
        }
    }

    private static func path(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Examples/\(name)")
            .standardizedFileURL.path
    }

    private static let hasPsycopg: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c", "import psycopg; psycopg.Connection.notifies.__kwdefaults__['timeout']",
        ]
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
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
