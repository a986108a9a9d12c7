import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Prepared queries")
struct PreparedTests {
    @Test("Values of every type arrive unchanged, including nulls and empty texts")
    func types() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for value in ["é🌋", "", nil] as [String?] {
                    try await connection.forEachRow(
                        preparing: """
                            select \(value), \(Int.min), 7::smallint, \(-0.0), 1.5::real, \(true), null::text
                            """, to: "ask"
                    ) { row in
                        let text = try row.nextBytes().map { String(decoding: $0, as: UTF8.self) }
                        let integers = (try row.nextInteger(), try row.nextInteger())
                        let (zero, real) = (try row.nextDouble(), try row.nextDouble())
                        let (flag, none) = (try row.nextBool(), try row.nextBytes())
                        #expect(text == value)
                        #expect(integers == (Int64.min, 7))
                        #expect(zero == 0 && zero?.sign == .minus && real == 1.5 && flag == true)
                        #expect(none == nil)
                        #expect(throws: RowError.self) { try row.nextBytes() }
                    }
                }
            }
        }
    }

    @Test(
        "A query text is parsed once, and planned only for its first five runs; other texts are prepared separately"
    )
    func once() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for number in 1...8 {
                    try await connection.expect([Int64(number)], of: "select \(number)")
                }
                try await connection.expect(plans: "select $1, 5 custom, 3 generic")
                try await connection.expect([3], of: "select \(1) + \(2)")
                try await connection.expect(
                    plans: "select $1, 5 custom, 3 generic; select $1 + $2, 1 custom, 0 generic")
            }
        }
    }

    @Test(
        "The 64 most recently used texts stay prepared, and a text in constant use is prepared only once"
    )
    func many() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for number in 0..<200 {
                    let added = number % 2 == 0 ? 0 : number
                    try await connection.expect(
                        [Int64(number + added)], of: "select \(number) + \(unescaped: "\(added)")")
                }
                try await connection.expect([1], of: "select 1 where \(true)")
                try await connection.expect([2], of: "select 2 where \("text") = 'text'")
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
        "A cancelled query leaves the connection usable, and a terminated query leaves it closed"
    )
    func cancelled() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.withConnection { connection in
                let sleeping = Task { try await connection.expect([1], of: "select 1 from pg_sleep(1000)") }
                try await waitUntil { try await database.isAsleep() }
                sleeping.cancel()
                await #expect(throws: CancellationError.self) { try await sleeping.value }
                try await connection.expectUsable()
                let cut = Task { try await connection.expect([1], of: "select 1 from pg_sleep(1000)") }
                try await waitUntil { try await database.isAsleep() }
                try await database.query(
                    "select pg_terminate_backend(pid) from (\(TestDatabase.asleep)) as asleep")
                let error = try await postgresError { try await cut.value }
                #expect(error.connectionLost)
                #expect(await connection.isClosed)
            }
        }
    }

    @Test("A query whose columns have changed is refused once, and is then prepared again")
    func changedShape() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.query("create table n as select 1 as i")
            try await database.withConnection { connection in
                try await connection.expect([1], of: "select i from n")
                try await database.query("alter table n alter column i type bigint")
                let error = try await postgresError { try await connection.expect([], of: "select i from n") }
                #expect(error.hasChangedShape)
                try await connection.expect([1], of: "select i from n")
            }
        }
    }

    @Test("A query that fails, in the server or in the body, leaves the connection usable")
    func failures() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let refused = try await postgresError {
                    try await connection.expect([], of: "select nothing")
                }
                #expect(refused.sqlState == "42703")
                let failed = try await postgresError {
                    try await connection.expect([1], of: "select 1 / (2 - i) from generate_series(1, 3) as i")
                }
                #expect(failed.sqlState == "22012")
                await #expect(throws: Stop.self) {
                    try await connection.forEachRow(
                        preparing: "select generate_series(1, 1000000000), pg_sleep(0.001)::text",
                        to: "stream"
                    ) { _ in throw Stop() }
                }
                try await connection.expect([4], of: "select 4")
                try await connection.expectUsable()
            }
        }
    }
}

extension TestDatabase {
    /// Selects only this database, because other tests' sessions on the same server also sleep.
    fileprivate static let asleep: Query =
        "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"

    fileprivate func isAsleep() async throws -> Bool { try await !query(Self.asleep).isEmpty }
}

extension Connection {
    /// Runs a prepared query, and compares the first column of its rows.
    fileprivate func expect(
        _ numbers: [Int64], of query: Query, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = Mutex<[Int64?]>([])
        try forEachRow(preparing: query, to: "read numbers") { row in
            let number = try row.nextInteger()
            found.withLock { $0.append(number) }
        }
        let all = found.withLock { $0 }
        #expect(all == numbers, sourceLocation: sourceLocation)
    }

    /// Checks which queries the session has prepared, and how many runs of each had a custom plan or a generic plan.
    fileprivate func expect(plans: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let found: String? = try query(
            """
            select string_agg(
                statement || ', ' || custom_plans || ' custom, ' || generic_plans || ' generic', '; '
                order by statement) as plans
            from pg_prepared_statements
            """, to: "look at what is prepared")[0].decodeIfPresent("plans")
        #expect(found == plans, sourceLocation: sourceLocation)
    }
}
