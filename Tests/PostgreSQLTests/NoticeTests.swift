import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("Notices of the server")
struct NoticeTests {
    @Test("Notices are logged at their level, in one line, and without their details")
    func logged() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            let log = RecordedLog()
            try await Connection.with(try database.options(), logger: log.logger) { connection in
                try await connection.execute(script: "drop table if exists nowhere", to: "drop")
                try await connection.execute(
                    script: "do $$ begin raise warning e'two\\nlines' using detail = 'sesame'; end $$",
                    to: "warn")
            }
            #expect(
                log.lines == [
                    #"info: server: table "nowhere" does not exist, skipping"#, "warning: server: two lines",
                ])
        }
    }

    /// The notices exceed the socket's buffers, so the client must read them while it sends.
    @Test("A flood of notices does not block a statement that is still being sent")
    func flood() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let flood = String(
                    repeating:
                        "do $$ begin for i in 1..100 loop raise notice '%', repeat('x', 1000); end loop; end $$;",
                    count: 100)
                try await connection.execute(script: flood, to: "flood")
                try await connection.expectUsable()
            }
        }
    }

    /// If the collation of a database has changed, the server sends a warning while the client connects.
    @Test("No notice is written to standard error, not even one that arrives while connecting")
    func notOnStandardError() async throws {
        try await TestServer.shared.withEmptyDatabase { (database) async throws in
            try await database.query(
                "update pg_database set datcollversion = 'long ago' where datname = current_database()")
            let log = RecordedLog()
            try await Connection.with(try database.options(), logger: log.logger) { _ in }
            let result = await #expect(
                processExitsWith: .success, observing: [\.standardErrorContent]
            ) { [url = database.url as String] in
                try await Connection.with(ConnectionOptions(url), logger: .quiet) { connection in
                    try await connection.execute(script: "drop table if exists nowhere", to: "drop")
                }
            }
            #expect(log.lines.contains { $0.hasPrefix("warning: server: database") })
            let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(!output.contains("WARNING:") && !output.contains("NOTICE:"))
        }
    }
}
