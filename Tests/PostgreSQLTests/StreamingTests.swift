import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Streaming rows")
struct StreamingTests {
    /// The test reads 300 MB. It runs in a separate process, so that the memory of other tests is not measured.
    @Test("A million rows are handed over in constant memory", .measuresMemory)
    func constantMemory() async throws {
        try await TestServer.shared.withSharedDatabase { (database) async throws -> Void in
            await #expect(processExitsWith: .success) { [url = database.url as String] in
                try await TestDatabase(url: url).withConnection { connection in
                    let seen = Mutex((rows: 0, peak: 0))
                    let before = residentMemory()
                    try await connection.forEachRow(
                        of: "select repeat('x', 300) as text from generate_series(1, 1000000)", to: "stream"
                    ) { row in
                        seen.withLock {
                            $0.rows += 1
                            if $0.rows.isMultiple(of: 50_000) { $0.peak = max($0.peak, residentMemory()) }
                        }
                    }
                    let (rows, peak) = seen.withLock { $0 }
                    #expect(rows == 1_000_000)
                    #expect(peak - before < 50, "from \(before) to \(peak) MiB")
                }
            }
        }
    }

    @Test(
        "An error in the body ends the statement on the server immediately, and is thrown",
        arguments: [Stop(), PostgresError(operation: "write elsewhere", message: "no", connectionLost: true)]
            as [any Error & Sendable])
    func throwingBody(_ stop: any Error & Sendable) async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let error = await #expect(throws: (any Error).self) {
                    try await connection.forEachRow(
                        of: "select generate_series(1, 1000000000), pg_sleep(0.001)", to: "stream"
                    ) { _ in throw stop }
                }
                #expect("\(error!)" == "\(stop)")
                try await connection.expectUsable()
            }
        }
    }

    @Test(
        "If a statement fails midway, the body has received the earlier rows, and the connection stays usable"
    )
    func failingServer() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let rows = Atomic(0)
                let error = try await postgresError {
                    try await connection.forEachRow(
                        of: "select 1 / (5000 - i) as x from generate_series(1, 9999) i", to: "divide"
                    ) { _ in rows.add(1, ordering: .relaxed) }
                }
                #expect(error.sqlState == "22012")
                #expect(rows.load(ordering: .relaxed) == 4_999)
                try await connection.expectUsable()
            }
        }
    }

    @Test("A result may have no rows, or rows without columns")
    func emptyResults() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for (query, count) in [
                    ("select 1 as x where false", 0), ("", 0), ("select from generate_series(1, 3)", 3),
                ] as [(Query, Int)] {
                    let rows = try await connection.query(query, to: "ask")
                    #expect(rows.count == count)
                }
            }
        }
    }

    /// Without the error, one side would wait for ever: the server for data, or the client for the end of a COPY.
    @Test("A COPY as a plain statement is an error", arguments: ["copy n from stdin", "copy n to stdout"])
    func strayCopy(_ statement: String) async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute(
                    script: "create temporary table n as select generate_series(1, 10) as i", to: "create")
                let error = try await postgresError {
                    try await connection.execute(script: statement, to: "stray")
                }
                #expect("\(error)" == "cannot stray: the statement is a COPY; use copy(into:)")
                #expect(error.connectionLost)
            }
        }
    }
}

struct Stop: Error {}
