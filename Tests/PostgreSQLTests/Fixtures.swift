import Glibc
import PostgreSQL
import TestSupport
import Testing

/// The server process of a connection.
func backend(of connection: Connection) async throws -> pid_t {
    pid_t(
        try await connection.query("select pg_backend_pid() as pid", to: "ask for the pid")[0].decode("pid")
            as Int)
}

/// Whether the backend with this process id waits for a lock.
func isWaitingForLock(_ pid: pid_t, in database: TestDatabase) async throws -> Bool {
    let rows = try await database.query(
        "select wait_event_type is not distinct from 'Lock' as waits from pg_stat_activity where pid = \(Int(pid))"
    )
    return try rows.first?.decode("waits") ?? false
}

/// The resident memory of this process, in MiB.
func residentMemory() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 200)
    fgets(&line, 200, file)
    let pages = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        .split(separator: " ")
    return (pages.count > 1 ? Int(pages[1]) ?? 0 : 0) * sysconf(Int32(_SC_PAGESIZE)) / 1_048_576
}

extension Connection {
    /// Proves that the connection works and is not inside a transaction: a new transaction can begin, and a statement gives its
    /// result.
    func expectUsable(_ location: SourceLocation = #_sourceLocation) async throws {
        let outside = try await transaction(to: "prove that no transaction is open") { true }
        let one: Int = try query("select 1 as one", to: "prove that the connection is usable")[0]
            .decode("one")
        #expect(outside && one == 1, sourceLocation: location)
    }
}

/// The `PostgresError` that `body` throws. The test fails if it throws none.
func postgresError(
    _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async throws -> PostgresError {
    var thrown: PostgresError?
    do {
        try await body()
    } catch let error as PostgresError {
        thrown = error
    }
    return try #require(thrown, "nothing was thrown", sourceLocation: location)
}
