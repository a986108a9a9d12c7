import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("A query's values")
struct QueryTests {
    @Test("Values are bound, never spliced into the statement")
    func bound() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let name = "Robert'); drop table student; --"
                try await connection.execute(
                    script: "create temporary table student (name text)", to: "create")
                try await connection.execute("insert into student values (\(name))", to: "insert")
                let row = try await connection.query(
                    "select name from student where name = \(name)", to: "read")[0]
                #expect(try row.decode("name") == name)
            }
        }
        let query: Query = "select \(1), \("x"), \(unescaped: "now()")"
        #expect(query.text == "select $1, $2, now()")
    }

    @Test(
        "Text comes back unchanged",
        arguments: [
            "", "NULL", "\\", "'", "\"", "$1", "a\u{301}\u{1F30B}\r\n\t", "\u{301}",
            String(repeating: "ß", count: 4_000_000),
        ])
    func text(_ text: String) async throws {
        #expect(try await roundTrip(text, "text").utf8.elementsEqual(text.utf8))
    }

    @Test("Integers come back unchanged", arguments: [0, -1, 1, Int.max, Int.min])
    func integer(_ value: Int) async throws {
        #expect(try await roundTrip(value, "bigint") == value)
        #expect(try await roundTrip(Int64(value), "bigint") == Int64(value))
    }

    @Test(
        "Doubles come back unchanged; any NaN comes back as a NaN",
        arguments: [
            0, -0.0, 0.1, 1 / 3, .infinity, -.infinity, .nan, .signalingNaN, .greatestFiniteMagnitude,
            .leastNonzeroMagnitude, -123.456,
        ] as [Double])
    func double(_ value: Double) async throws {
        let back = try await roundTrip(value, "double precision")
        #expect(back == value && back.sign == value.sign || back.isNaN && value.isNaN)
    }

    @Test("Booleans come back unchanged", arguments: [true, false])
    func boolean(_ value: Bool) async throws {
        #expect(try await roundTrip(value, "boolean") == value)
    }

    @Test("Bytes come back unchanged", arguments: [[], [0], [0, 1, 0], Array(0...255)] as [[UInt8]])
    func bytes(_ value: [UInt8]) async throws {
        let digits = value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try await TestServer.shared.withSharedDatabase { database in
            let row = try await database.query("select decode(\(digits), 'hex') as value")[0]
            #expect(try row.decode("value") == value)
        }
    }

    @Test("nil of every type becomes null")
    func null() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            let row = try await database.query(
                """
                select num_nulls(\(nil as String?), \(nil as Int?), \(nil as Int64?), \(nil as Double?),
                                 \(nil as Bool?), \(nil as [String]?)) as nulls
                """)[0]
            #expect(try row.decode("nulls") == 6)
        }
    }

    /// In libpq's text format, a text ends at the first NUL, so the server would store only "Eureka".
    @Test("The server refuses text with a NUL character instead of cutting it off")
    func nulInText() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute(script: "create temporary table place (name text)", to: "create")
                let error = try await postgresError {
                    try await connection.execute(
                        "insert into place values (\("Eureka\0, CA"))", to: "insert a place")
                }
                #expect(error.sqlState == "22021")
                #expect(error.isRefusedValue)
                #expect("\(error)".hasPrefix("cannot insert a place: invalid byte sequence for encoding"))
                #expect(try await connection.query("select from place", to: "count").isEmpty)
            }
        }
    }

    @Test("A NUL character in a statement or a script is an error, and nothing is run")
    func nulInStatement() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for body in [
                    {
                        try await connection.execute(
                            script: "create temporary table half ();\0 garbage", to: "run a script")
                    },
                    {
                        _ = try await connection.query(
                            "create temporary table half ()\(unescaped: "\0")", to: "run a script")
                    },
                ] as [() async throws -> Void] {
                    let error = try await postgresError(#_sourceLocation, body)
                    #expect("\(error)" == "cannot run a script: the statement contains a NUL character")
                }
                #expect(
                    try await connection.query("select to_regclass('half') as half", to: "look")[0]
                        .decodeIfPresent("half", as: String.self) == nil)
            }
        }
    }

    @Test(
        "A statement with more values than the protocol allows is an error, and the connection stays usable")
    func tooManyValues() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                var interpolation = Query.StringInterpolation(literalCapacity: 0, interpolationCount: 65_536)
                interpolation.appendLiteral("select ")
                for _ in 0..<65_536 { interpolation.appendInterpolation(1) }
                let query = Query(stringInterpolation: interpolation)
                let error = try await postgresError { try await connection.query(query, to: "bind") }
                #expect("\(error)".contains("65535"))
                #expect(!error.connectionLost)
                try await connection.expectUsable()
            }
        }
    }

    @Test("execute returns how many rows were affected")
    func counts() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let created = try await connection.execute(
                    "create temporary table n as select generate_series(1, 7) i", to: "fill")
                let deleted = try await connection.execute("delete from n where i > \(4)", to: "delete")
                let none = try await connection.execute("drop table n", to: "drop")
                #expect([created, deleted, none] == [7, 3, 0])
            }
        }
    }

    private func roundTrip<Value: Bindable & RowDecodable>(_ value: Value, _ type: String) async throws
        -> Value
    {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.query("select \(value)::\(unescaped: type) as value")[0].decode("value")
        }
    }
}
