import PostgreSQL
import TestSupport
import Testing

@Suite("Exchanges")
struct ExchangeTests {
    private let server = TestServer.shared

    @Test(
        "All queries of an exchange see one state, with the settings and after the lock that it has, and nothing can be written"
    )
    func oneState() async throws {
        try await server.withEmptyDatabase { database in
            try await database.query("create table n as select 1 as i")
            try await database.withConnection { connection in
                let found = try await connection.numbers(
                    [
                        "select txid_current_if_assigned() is null, i from n where i = \(1)",
                        "select current_setting('transaction_read_only') = 'on', setting::int from pg_settings where name = 'statement_timeout'",
                        "select current_setting('transaction_isolation') = 'repeatable read', count(*)::int from pg_locks where relation = 'n'::regclass and pid = pg_backend_pid()",
                    ], holding: "n", timeout: 1234)
                #expect(found == [[1], [1234], [1]])
                let refused = try await postgresError {
                    _ = try await connection.numbers(["select true, i from n for update"])
                }
                #expect(refused.sqlState == "25006")
                try await connection.expectUsable()
            }
        }
    }

    @Test("Each text is parsed once; of very many, those that were used last stay prepared")
    func shapes() async throws {
        try await server.withEmptyDatabase { database in
            try await database.withConnection { connection in
                for number in 0..<200 {
                    let column = number % 2 == 0 ? 0 : number
                    let found = try await connection.numbers(
                        ["select true, \(number) + \(unescaped: "\(column)")"])
                    #expect(found == [[number + column]])
                }
                // The same text with values of other types is another query.
                #expect(try await connection.numbers(["select \(true), 1"]) == [[1]])
                #expect(try await connection.numbers(["select \("text") = 'text', 2"]) == [[2]])
                let row = try await connection.query(
                    """
                    select count(*) as all,
                           max(generic_plans + custom_plans) filter (where statement like '% + 0') as most
                    from pg_prepared_statements
                    """, to: "look at what is prepared")[0]
                #expect(try row.decode("all") == 64)
                #expect(try row.decode("most") == 100)
            }
        }
    }

    @Test(
        "A query that fails, in the server or in the body, ends the exchange and leaves the connection usable"
    )
    func failures() async throws {
        try await server.withEmptyDatabase { database in
            try await database.query("create table n as select 1 as i")
            try await database.withConnection { connection in
                for (query, state) in [("1 / 0", "22012"), ("nothing", "42703"), ("pg_sleep(100)", "57014")]
                    as [(String, String)]
                {
                    let error = try await postgresError {
                        _ = try await connection.numbers(
                            ["select true, 1", "select true, \(unescaped: query)", "select true, 2"],
                            timeout: 50)
                    }
                    #expect(error.sqlState == state)
                    try await connection.expectUsable()
                }
                struct Stop: Error {}
                await #expect(throws: Stop.self) {
                    try await connection.exchange(["select 1", "select 2"], to: "stop") { _, _ in throw Stop()
                    }
                }
                #expect(try await connection.numbers(["select true, i from n"]) == [[1]])
                try await database.query("alter table n alter column i type bigint")
                let altered = try await postgresError {
                    _ = try await connection.numbers(["select true, i from n"])
                }
                #expect(altered.hasChangedShape)
                #expect(try await connection.numbers(["select true, i from n"]) == [[1]])
                let open = try await postgresError {
                    try await connection.transaction(to: "nest") {
                        _ = try await connection.numbers(["select true, 1"])
                    }
                }
                #expect(open.message == "a transaction is already open on this connection")
            }
        }
    }

    @Test("Cancelled, or cut off, it says so; a cancelled one leaves the connection usable")
    func cancelled() async throws {
        try await server.withEmptyDatabase { database in
            try await database.withConnection { connection in
                let sleeping = Task {
                    try await connection.numbers(["select true, 1 from pg_sleep(1000)", "select true, 2"])
                }
                try await waitUntil { try await database.isAsleep() }
                sleeping.cancel()
                await #expect(throws: CancellationError.self) { try await sleeping.value }
                try await connection.expectUsable()
                let cut = Task {
                    try await connection.numbers(["select true, 1 from pg_sleep(1000)", "select true, 2"])
                }
                try await waitUntil { try await database.isAsleep() }
                try await database.query(
                    "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(1000)%' and pid <> pg_backend_pid()"
                )
                let error = try await postgresError { _ = try await cut.value }
                #expect(error.connectionLost)
                #expect(await connection.isClosed)
            }
        }
    }
}

extension TestDatabase {
    fileprivate func isAsleep() async throws -> Bool {
        try await !query("select 1 as one from pg_stat_activity where wait_event = 'PgSleep'").isEmpty
    }
}

extension Connection {
    /// The second column of each query's rows, whose first one is true.
    fileprivate func numbers(
        _ queries: [Query], holding table: String? = nil, timeout: Int = 0
    ) throws -> [[Int]] {
        var found = queries.map { _ in [Int]() }
        try exchange(queries, with: ["statement_timeout": "\(timeout)"], holding: table, to: "read numbers") {
            #expect(try $1.nextBool() == true)
            found[$0].append(Int(try $1.nextInteger() ?? -1))
        }
        return found
    }
}
