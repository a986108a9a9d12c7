import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite(
    "Poolers",
    .enabled(if: Pooler.isInstalled, "pgbouncer is not installed: apt-get install pgbouncer"))
struct PoolerTests {
    let server = TestServer.shared

    private static let reason =
        "a pooler there may run each transaction in another session, but this operation needs a single session; connect to the server directly, or set the pooler's pool_mode to session"

    /// Runs `body` with a database, and with the same database through a pooler.
    private func withPooler(
        _ mode: Pooler.Mode, _ settings: [String] = [],
        _ body: (_ database: TestDatabase, _ pooled: TestDatabase) async throws -> Void
    ) async throws {
        try await server.withDatabase { database in
            let pooler = try await Pooler.start(mode, before: try await server.cluster(), settings: settings)
            try await body(database, pooler.database(database))
            withExtendedLifetime(pooler) {}
        }
    }

    @Test("In transaction mode, a command that needs a session ends with 69, says why, and changes nothing")
    func refused() async throws {
        try await withPooler(.transaction) { database, pooled in
            let quakes = QuakesCommand(["DATABASE_URL": pooled.url])
            for arguments in [
                ["import", "-"], ["import", "-", "--dry-run"], ["follow", "--format", "ndjson"],
                ["backfill", "--from", "1d", "--service", "http://127.0.0.1:1/fdsnws/event/1"],
            ] {
                let outcome = try await quakes.run(
                    arguments, input: SmallFeed.document([SmallFeed.feature("a")]))

                #expect(outcome.status == 69, "\(arguments): \(outcome.errors)")
                #expect(outcome.errors.contains(Self.reason), "\(arguments): \(outcome.errors)")
            }
            let row = try await database.query(
                """
                select (select count(*) from quake) as quakes, (select count(*) from import.run) as runs
                """)[0]
            for column in ["quakes", "runs"] { #expect(try row.decode(column) == 0) }
            #expect(try await database.advisoryLocks() == 0)
        }
    }

    /// A pool that uses its sessions in turn, so that the second connection never gets the session of the first one.
    ///
    /// connection: asks for its process: 1             listens: 1          waits, and has no session
    /// second:                              asks: 2                notifies: 2
    @Test("In transaction mode, a pool is recognized even if a connection's first queries share a session")
    func roundRobin() async throws {
        try await withPooler(.transaction, ["server_round_robin = 1"]) { _, pooled in
            // Two concurrent transactions need two sessions.
            try await pooled.withConnection { one in
                try await one.transaction(to: "hold a session") {
                    _ = try await pooled.query("select")
                }
            }
            let processes = [
                try await pooled.query("select pg_backend_pid() as process"),
                try await pooled.query("select pg_backend_pid() as process"),
            ]
            #expect(Set(try processes.map { try $0[0].decode("process", as: Int.self) }).count == 2)
            try await pooled.withConnection { connection in
                _ = await #expect(throws: NoSession.self) { try await connection.requireSession(to: "test") }
            }
        }
    }

    @Test("In session mode, a pool of one session is too small, and the error says so")
    func small() async throws {
        try await withPooler(.session, ["default_pool_size = 1"]) { _, pooled in
            let outcome = try await QuakesCommand(["DATABASE_URL": pooled.url]).run(
                "import", "-", input: SmallFeed.document([]))
            #expect(outcome.status == 69)
            #expect(
                outcome.errors.contains("the pooler needs room for a second session"), "\(outcome.errors)")
        }
    }

    @Test("In session mode, an import, a backfill and a follower work as they do without a pooler")
    func session() async throws {
        let service = TestEventService(count: 30, limit: 20)
        try await withPooler(.session) { database, pooled in
            let quakes = QuakesCommand(["DATABASE_URL": pooled.url])
            let first = try await quakes.run(
                "import", "-", input: SmallFeed.document([SmallFeed.feature("a"), SmallFeed.feature("b")]))
            #expect(first.status == 0 && first.output.contains("2 inserted"), "\(first.errors)")
            try await TestFeedServer.run(answering: service.answer) { http in
                let backfill = try await quakes.run(
                    ["backfill", "--service", http.url("/fdsnws/event/1"), "--pace", "0s"]
                        + ["--per-request", "20"] + service.stretch)
                #expect(backfill.status == 0, "\(backfill.errors)")
            }
            try await withFolder { folder in
                let file = folder.appending(path: "view.sqlite").path
                let status = try await quakes.run(["follow", "--view", file]) { process in
                    try await waitUntil { FileManager.default.fileExists(atPath: file) }
                    try await database.importFeatures([SmallFeed.feature("c")])
                    try await waitUntil {
                        try await quakes.run("list", "--view", file, "--format", "ndjson").output
                            .contains("q0c")
                    }
                    kill(process, SIGTERM)
                }
                #expect(status == 0)
            }
            #expect(try await database.query("select count(*) as count from quake")[0].decode("count") == 33)
            try await waitUntil { try await database.advisoryLocks() == 0 }
        }
    }

    @Test(
        "In transaction mode, other commands give the same output as without a pooler",
        arguments: [
            ["list"], ["list", "--format", "json"], ["list", "--as-of", "1"], ["changes"],
            ["changes", "--format", "ndjson"], ["report"], ["report", "event"], ["report", "import_run"],
            ["rejects"], ["follow", "--format", "ndjson", "--once"], ["migrate", "--dry-run"], ["migrate"],
            ["prune", "--keep", "1d"],
        ])
    func reading(_ arguments: [String]) async throws {
        try await withPooler(.transaction) { database, pooled in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "3")])

            let direct = try await QuakesCommand(["DATABASE_URL": database.url]).run(arguments)
            let throughPool = try await QuakesCommand(["DATABASE_URL": pooled.url]).run(arguments)

            #expect(throughPool.status == 0, "\(throughPool.errors)")
            #expect(throughPool.output == direct.output)
        }
    }

    @Test("In transaction mode, status, delete and the first migration work")
    func writing() async throws {
        try await withPooler(.transaction) { database, pooled in
            let quakes = QuakesCommand(["DATABASE_URL": pooled.url])
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            #expect(try await quakes.run("status", "--max-lag", "1d").status == 0)
            #expect(try await quakes.run("delete", "q0a").status == 0)
            #expect(try await database.query("select code from quake").count == 1)

            try await database.execute(
                "drop schema import, history, report, notify cascade; drop table quake")
            let migrated = try await quakes.run("migrate")
            #expect(migrated.status == 0, "\(migrated.errors)")
            #expect(try await quakes.run("status").status == 0)
        }
    }
}
