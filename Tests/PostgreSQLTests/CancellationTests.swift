import Dispatch
import Glibc
import Logging
import PostgreSQL
import SampleFeed
import Synchronization
import TestSupport
import Testing

@Suite("Cancellation")
struct CancellationTests {
    @Test("A cancelled statement ends on the server, and the connection stays usable")
    func sleeping() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let pid = try await backend(of: connection)
                let sleeping = Task { try await connection.query("select pg_sleep(600)", to: "sleep") }
                try await waitUntil { try await isActive(pid, in: database) }
                sleeping.cancel()
                // Without the cancellation, the task would return a result instead.
                await #expect(throws: CancellationError.self) { try await sleeping.value }
                #expect(try await !isActive(pid, in: database))
                try await connection.expectUsable()
            }
        }
    }

    @Test("A cancelled statement that waits for a lock also ends on the server")
    func waitingForLock() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.query("create table n (i int)")
            try await database.withConnection { holder in
                try await holder.transaction(to: "hold") {
                    try await holder.execute(script: "lock table n", to: "lock")
                    try await database.withConnection { connection in
                        let pid = try await backend(of: connection)
                        let waiting = Task {
                            try await connection.transaction(to: "wait") {
                                try await connection.execute("insert into n values (1)", to: "insert")
                            }
                        }
                        try await waitUntil { try await isWaitingForLock(pid, in: database) }
                        waiting.cancel()
                        await #expect(throws: CancellationError.self) { try await waiting.value }
                        try await connection.expectUsable()
                    }
                }
            }
        }
    }

    @Test("A task that is already cancelled starts no statement")
    func cancelledBefore() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let late = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await connection.execute(script: "create temporary table late ()", to: "come late")
                }
                await #expect(throws: CancellationError.self) { try await late.value }
                let row = try await connection.query(
                    "select to_regclass('late') is null as absent", to: "look")[0]
                #expect(try row.decode("absent") == true)
            }
        }
    }

    /// statement 1: sent ─ cancelled ─────── ends by itself, returns
    /// cancellation:              is sent ─────────────────────────────── arrives
    /// statement 2:                                             must wait ─ sent ─ its result
    @Test("A late cancellation never hits the next statement")
    func lateCancellation() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                var random = seededRandom()
                for round in 0..<200 {
                    let statement = Double.random(in: 0...0.003, using: &random)
                    let pause = Int.random(in: 0...3_000, using: &random)
                    let first = Task {
                        try await connection.query("select pg_sleep(\(statement))", to: "sleep").count
                    }
                    try await Task.sleep(for: .microseconds(pause))
                    first.cancel()
                    do {
                        #expect(try await first.value == 1)
                    } catch {
                        #expect(error is CancellationError, "round \(round)")
                    }
                    let second = try await connection.query(
                        "select pg_sleep(0.001), \(round) as round", to: "go on")
                    #expect(try second[0].decode("round") == round)
                }
            }
        }
    }

    /// statement: row 1 ── row 2 ─────────────── ends by itself
    /// body:      throws ─ cancellation is sent ───────── arrives
    /// next:                                     must wait ─ sent ─ its result
    @Test("If a body throws, the cancellation that ends its stream never hits the next statement")
    func lateCancellationOfStream() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for _ in 0..<100 {
                    await #expect(throws: Stop.self) {
                        try await connection.forEachRow(of: "select generate_series(1, 3)", to: "stream") {
                            _ in
                            throw Stop()
                        }
                    }
                    try await connection.query("select pg_sleep(0.001)", to: "go on")
                }
            }
        }
    }

    @Test("Cancellation of the task ends an endless stream, even if the rows are read slowly")
    func endlessStream() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            let many = "select generate_series(1, 1000000000000)"
            try await database.withConnection { connection in
                for takes in [copying, selecting] {
                    let (begun, teller) = AsyncStream.makeStream(of: Void.self)
                    let taking = Task {
                        try await takes(connection, many) {
                            teller.yield()
                            usleep(1000)
                        }
                    }
                    for await _ in begun { break }
                    taking.cancel()
                    await #expect(throws: CancellationError.self) { try await taking.value }
                    try await connection.expectUsable()
                }
            }
        }
    }

    private typealias Taking =
        @Sendable (Connection, String, @escaping @Sendable () -> Void) async throws ->
        Void
    private let copying: Taking = { connection, query, body in
        try await connection.copy(rowsOf: "\(unescaped: query)", to: "stream") { _ in body() }
    }
    private let selecting: Taking = { connection, query, body in
        try await connection.forEachRow(of: "\(unescaped: query)", to: "stream") { _ in body() }
    }

    /// Runs in its own process, because it uses all threads for computing.
    @Test("A cancellation is sent even while all threads of the process are busy")
    func busyThreads() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            _ = await #expect(processExitsWith: .success) { [url = database.url as String] in
                try await TestDatabase(url: url).withConnection { connection in
                    await connection.run { connection in
                        let work = EndlessWork()
                        defer { work.end() }
                        #expect(throws: Stop.self) {
                            let many: Query = "select generate_series(1, 1000000000000)"
                            try connection.forEachRow(of: many, to: "stream") { _ in throw Stop() }
                        }
                        let isClosed = connection.isClosed
                        #expect(!isClosed)
                    }
                }
            }
        }
    }

    @Test("shieldingFromCancellation lets a cancelled task finish its work")
    func shieldingFromCancellation() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute(script: "create temporary table n (i int)", to: "create")
                let ending = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await connection.shieldingFromCancellation(within: .seconds(5)) {
                        try await connection.transaction(to: "record the end") {
                            try await connection.execute("insert into n values (1)", to: "insert")
                        }
                    }
                    try await connection.query("select 1", to: "go on as if nothing had happened")
                }
                await #expect(throws: CancellationError.self) { try await ending.value }
                let rows = try await connection.query("select i from n", to: "look")
                #expect(rows.count == 1)
            }
        }
    }

    @Test("A rollback inside shieldingFromCancellation leaves the rest of the body protected")
    func rollbackDespiteCancellation() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let ending = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await connection.shieldingFromCancellation(within: .seconds(5)) {
                        await #expect(throws: Stop.self) {
                            try await connection.transaction(to: "fail") { throw Stop() }
                        }
                        return try await connection.query("select 1", to: "go on").count
                    }
                }
                let rows = try await ending.value
                #expect(rows == 1)
            }
        }
    }

    private func isActive(_ pid: Int32, in database: TestDatabase) async throws -> Bool {
        let rows = try await database.query(
            """
            select state = 'active' and query like '%pg_sleep%' as active
            from pg_stat_activity where pid = \(Int(pid))
            """)
        return try rows.first?.decode("active") ?? false
    }
}

/// Keeps more threads busy than the global queue has.
private final class EndlessWork: Sendable {
    private let isDone = Atomic(false)

    init() {
        for _ in 0..<256 {
            DispatchQueue.global().async {
                while !self.isDone.load(ordering: .relaxed) { sched_yield() }
            }
        }
    }

    func end() { isDone.store(true, ordering: .relaxed) }
}
