import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The log while the database is unavailable")
struct OutageLogTests {
    @Test(
        "Repeated attempts to connect do not log the same line twice",
        arguments: [
            (["serve", "--listen", "127.0.0.1:0"], 24), (["follow", "--format", "ndjson"], 6),
            (["import", "nofile", "--every", "1s"], 6),
        ])
    func saidOnce(arguments: [String], attempts: Int) async throws {
        let port = try ClosingPort()
        let nowhere = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        let outcome = try await QuakesCommand(["DATABASE_URL": port.url]).run(arguments, writingTo: nowhere) {
            process in
            try await waitUntil { port.attempts >= attempts }
            kill(process, SIGTERM)
        }
        // The lines without their times.
        let lines = outcome.errors.split(separator: "\n").map { $0.trimmingPrefix(#/\d\S+Z /#) }
        #expect(lines.contains { $0.contains("server closed the connection") }, "\(outcome.errors)")
        #expect(Set(lines).count == lines.count && lines.count <= 5, "\(outcome.errors)")
    }

    @Test("A server whose login lacks the reader role prints what to grant, and ends")
    func rights() async throws {
        try await TestServer.shared.withRoles { roles in
            let quakes = QuakesCommand(["DATABASE_URL": roles.login(.report).url])
            let outcome = try await quakes.run("serve", "--listen", "127.0.0.1:0")
            #expect(outcome.status == 69)
            let lines = outcome.errors.split(separator: "\n")
            let remedy = "grant \(roles.roles.name(.reader)) to \(roles.loginName(.report))"
            #expect(lines.count == 1 && lines[0].hasSuffix(remedy), "\(outcome.errors)")
        }
    }
}
