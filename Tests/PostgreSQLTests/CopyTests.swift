import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("COPY")
struct CopyTests {
    /// The test writes 300 MB. It runs in a separate process, so that the memory of other tests is not measured.
    @Test(
        "A million rows are written in constant memory, because the writer waits for the server",
        .measuresMemory)
    func constantMemory() async throws {
        try await TestServer.shared.withEmptyDatabase { (database) async throws in
            try await database.query("create unlogged table t (i int, text text)")
            await #expect(processExitsWith: .success) { [url = database.url as String] in
                var rows = BinaryRows()
                for number in 0..<10_000 {
                    rows.appendRow(columns: 2, capacity: 320) { row in
                        row.appendInteger(Int32(number))
                        row.appendBytes(repeatElement(UInt8(ascii: "x"), count: 300))
                    }
                }
                try await TestDatabase(url: url).withConnection { [rows] connection in
                    let before = residentMemory()
                    var peak = 0
                    let count = try await connection.copy(into: "t", columns: ["i", "text"], to: "fill") {
                        writer in
                        for _ in 0..<100 {
                            try await writer.write(rows)
                            peak = max(peak, residentMemory())
                        }
                    }
                    #expect(count == 1_000_000)
                    #expect(peak - before < 50, "from \(before) to \(peak) MiB")
                }
            }
            #expect(
                try await database.query("select count(*) as count from t")[0].decode("count") == 1_000_000)
        }
    }

    @Test("Values of every type arrive unchanged, including extremes and nulls")
    func types() async throws {
        let columns =
            "small smallint, plain int, big bigint, time timestamptz, real float8, yes bool, text text, "
            + "raw bytea, tags text[], none text[], extra jsonb"
        try await withTable("create table t (\(columns))") { database, connection in
            let names = [
                "small", "plain", "big", "time", "real", "yes", "text", "raw", "tags", "none", "extra",
            ]
            try await connection.copy(into: "t", columns: names, to: "fill") { writer in
                var rows = BinaryRows()
                rows.appendRow(columns: names.count, capacity: 500) { row in
                    row.appendInteger(Int16.min)
                    row.appendInteger(Int32.max)
                    row.appendInteger(Int64.min)
                    row.appendInteger(Int64(-1))
                    row.appendDouble(-.infinity)
                    row.appendBool(true)
                    row.appendBytes("Zürich \u{1F30B}".utf8)
                    row.appendBytes([0, 255])
                    row.appendTextArray { array in
                        for element in ["", "a,b", "NULL"] { array.appendBytes(element.utf8) }
                        return 3
                    }
                    row.appendTextArray { _ in 0 }
                    row.appendJSONB(#"{"a": [1, null]}"#.utf8)
                }
                rows.appendRow(columns: names.count, capacity: 4 * names.count) { row in
                    for _ in names { row.appendNull() }
                }
                try await writer.write(rows)
            }
            let row = try await database.query(
                "select *, time = '1999-12-31 23:59:59.999999Z' as exact, extra->'a'->>0 as one from t where plain > 0"
            )[0]
            #expect(try row.decode("small", as: Int.self) == Int(Int16.min))
            #expect(try row.decode("plain", as: Int32.self) == .max)
            #expect(try row.decode("big", as: Int64.self) == .min)
            #expect(try row.decode("exact") == true)
            #expect(try row.decode("real", as: Double.self) == -.infinity)
            #expect(try row.decode("yes") == true)
            #expect(try row.decode("text") == "Zürich \u{1F30B}")
            #expect(try row.decode("raw") == [0, 255] as [UInt8])
            #expect(try row.decode("tags", as: [String].self) == ["", "a,b", "NULL"])
            #expect(try row.decode("none", as: [String].self) == [])
            #expect(try row.decode("one") == "1")
            let list = names.joined(separator: ", ")
            let nulls = try await database.query(
                "select num_nulls(\(unescaped: list)) as nulls from t where plain is null")
            #expect(try nulls[0].decode("nulls") == names.count)
            let dimensions = try await database.query(
                "select from t where array_ndims(none) is null and cardinality(none) = 0")
            #expect(dimensions.count == 1)
        }
    }

    @Test("A COPY may get a row in pieces, or get no rows")
    func pieces() async throws {
        try await withTemporaryTable("t (i int)") { connection in
            #expect(try await connection.copy(into: "t", columns: ["i"], to: "fill") { _ in } == 0)
            let count = try await connection.copy(into: "t", columns: ["i"], to: "fill") { writer in
                try await writer.write(numbers(7...7, bytes: 0..<3))
                try await writer.write(BinaryRows())
                try await writer.write(numbers(7...7, bytes: 3..<10))
            }
            #expect(count == 1)
            #expect(try await connection.query("select i from t", to: "look")[0].decode("i") == 7)
        }
    }

    @Test("When the body throws, nothing is stored and the connection stays usable")
    func throwingBody() async throws {
        try await withTable("create table t (i int)") { database, connection in
            await #expect(throws: Stop.self) {
                try await connection.copy(into: "t", columns: ["i"], to: "fill") { writer in
                    try await writer.write(numbers(1...1000))
                    throw Stop()
                }
            }
            #expect(try await database.query("select from t").isEmpty)
            try await connection.expectUsable()
        }
    }

    @Test("A cancelled task's COPY stores nothing and leaves the connection usable")
    func cancelled() async throws {
        try await withTable("create table t (i int)") { database, connection in
            let copying = Task {
                try await connection.copy(into: "t", columns: ["i"], to: "fill") { writer in
                    try await writer.write(numbers(1...1000))
                    withUnsafeCurrentTask { $0?.cancel() }
                    while true { try await writer.write(numbers(1...1000)) }
                }
            }
            await #expect(throws: CancellationError.self) { try await copying.value }
            #expect(try await database.query("select from t").isEmpty)
            try await connection.expectUsable()
        }
    }

    @Test("A cancelled COPY stores nothing, even when its body does not notice the cancellation")
    func cancelledAtEnd() async throws {
        try await withTable("create table t (i int)") { database, connection in
            let copying = Task {
                try await connection.copy(into: "t", columns: ["i"], to: "fill") { writer in
                    try await writer.write(numbers(1...1000))
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            await #expect(throws: CancellationError.self) { try await copying.value }
            #expect(try await database.query("select from t").isEmpty)
            try await connection.expectUsable()
        }
    }

    /// writer: writes, or waits for the socket ── cancelled ─ throws
    /// server: sleeps in a trigger, reads nothing ─────────── is cancelled
    @Test("A COPY that is cancelled while it waits for a slow server stores nothing")
    func cancelledWhileWaiting() async throws {
        try await withTable(
            """
            create table t (i int);
            create function sleep() returns trigger language plpgsql as
                'begin perform pg_sleep(3600); return new; end';
            create trigger sleep before insert on t for each row execute function sleep()
            """
        ) { database, connection in
            let pid = try await backend(of: connection)
            let copying = Task {
                try await connection.copy(into: "t", columns: ["i"], to: "fill") { writer in
                    while true { try await writer.write(numbers(1...10_000)) }
                }
            }
            try await waitUntil {
                try await database.query(
                    "select from pg_stat_activity where pid = \(Int(pid)) and wait_event = 'PgSleep'"
                ).count == 1
            }
            copying.cancel()
            await #expect(throws: CancellationError.self) { try await copying.value }
            #expect(try await database.query("select from t").isEmpty)
            try await connection.expectUsable()
        }
    }

    @Test("A value that the server refuses gives an error with the SQLSTATE and without the value")
    func refusedValue() async throws {
        try await withTable("create table t (text text)") { database, connection in
            let error = try await postgresError {
                try await connection.copy(into: "t", columns: ["text"], to: "fill") { writer in
                    for number in 0..<2_000 {
                        var rows = BinaryRows()
                        rows.appendRow(columns: 1, capacity: 6) {
                            $0.appendBytes(number == 1_000 ? [0xE9, 0x41] : [0x41])
                        }
                        try await writer.write(rows)
                    }
                }
            }
            #expect(error.sqlState == "22021")
            #expect(error.isRefusedValue)
            #expect("\(error)" == "cannot fill: invalid byte sequence for encoding …: … (SQLSTATE 22021)")
            #expect(try await database.query("select from t").isEmpty)
            try await connection.expectUsable()
        }
    }

    @Test("A row with too few or too many columns is an error", arguments: [1, 3])
    func wrongColumnCount(_ count: Int) async throws {
        try await withTemporaryTable("t (i int, j int)") { connection in
            let error = try await postgresError {
                try await connection.copy(into: "t", columns: ["i", "j"], to: "fill") { writer in
                    var rows = BinaryRows()
                    rows.appendRow(columns: count, capacity: 8 * count) { row in
                        for _ in 0..<count { row.appendInteger(Int32(1)) }
                    }
                    try await writer.write(rows)
                }
            }
            #expect(error.sqlState == "22P04")
            #expect("\(error)".contains("row field count is \(count), expected 2"))
            try await connection.expectUsable()
        }
    }

    @Test(
        "A missing table, a missing column and a syntax error are reported before the body runs",
        arguments: [
            ("nowhere", "i", "42P01"), ("t", "nothing", "42703"), ("t t", "i", "42601"),
        ])
    func wrongTarget(_ table: String, column: String, sqlState: String) async throws {
        try await withTemporaryTable("t (i int)") { connection in
            let error = try await postgresError {
                try await connection.copy(into: table, columns: [column], to: "fill") { _ in
                    Issue.record("the body ran")
                }
            }
            #expect(error.sqlState == sqlState)
            try await connection.expectUsable()
        }
    }

    @Test(
        "If a connection is terminated during a COPY, the error gives the server's reason, and nothing is stored"
    )
    func terminated() async throws {
        try await withTable("create table t (i int)") { database, connection in
            let pid = try await backend(of: connection)
            let error = try await postgresError {
                try await connection.copy(into: "t", columns: ["i"], to: "fill") { writer in
                    try await writer.write(numbers(1...1000))
                    try await database.query("select pg_terminate_backend(\(Int(pid))::int, 5000)")
                    for _ in 0..<100 { try await writer.write(numbers(1...10_000)) }
                }
            }
            #expect(error.connectionLost)
            #expect(try await database.query("select from t").isEmpty)
            let later = try await postgresError { try await connection.query("select 1", to: "go on") }
            #expect("\(later)".hasPrefix("cannot go on: the connection is closed: "))
        }
    }

    @Test("A statement inside the body is an error, and ends the COPY")
    func statementInBody() async throws {
        try await withTemporaryTable("t (i int)") { connection in
            let error = try await postgresError {
                try await connection.copy(into: "t", columns: ["i"], to: "fill") { _ in
                    try await connection.query("select 1", to: "ask")
                }
            }
            #expect("\(error)".hasPrefix("cannot ask: another command is already in progress"))
            try await connection.expectUsable()
        }
    }

    @Test("A writer that outlives its COPY can no longer write")
    func escapedWriter() async throws {
        try await withTemporaryTable("t (i int)") { connection in
            var escaped: CopyWriter?
            try await connection.copy(into: "t", columns: ["i"], to: "fill") { escaped = $0 }
            let error = try await postgresError { try await escaped!.write(numbers(1...2)) }
            #expect(!error.connectionLost)
            try await connection.expectUsable()
        }
    }

    /// Runs `body` with a table that only this connection sees.
    private func withTemporaryTable(
        _ definition: String, _ body: (Connection) async throws -> Void
    ) async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute(
                    script: "create temporary table \(definition)", to: "create the table")
                try await body(connection)
            }
        }
    }

    /// Runs `body` with a table that other sessions also see.
    private func withTable(
        _ definition: String, _ body: (TestDatabase, Connection) async throws -> Void
    ) async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute(script: definition, to: "create the table")
                try await body(database, connection)
            }
        }
    }
}

private func numbers(_ range: ClosedRange<Int32>) -> BinaryRows {
    var rows = BinaryRows()
    for number in range {
        rows.appendRow(columns: 1, capacity: 8) { $0.appendInteger(number) }
    }
    return rows
}

/// The bytes in a range of the encoded rows.
private func numbers(_ range: ClosedRange<Int32>, bytes: Range<Int>) -> BinaryRows {
    var part = BinaryRows()
    numbers(range).withBytes { part.append(rows: $0.extracting(bytes)) }
    return part
}
