import PostgreSQL
import SampleFeed
import TestSupport

/// Writes to a table while it is followed: concurrent imports of feeds in many batches, revisions, deletions and changes of keys.
struct BusyTable: Sendable {
    let database: TestDatabase
    let seed: UInt64
    /// Whether to prune the history occasionally, which makes followers start over.
    var prunes = false

    /// Keeps the table busy while `body` runs. Nothing is written after this returns.
    func whileBusy(_ body: () async throws -> Void) async throws {
        let isDone = Done()
        async let imports: Void = repeatedly(1, until: isDone) { connection, random in
            try await database.importSample(
                random.below(400), seed: UInt64(random.below(4)),
                revised: [0, 0.3, 1].randomElement(using: &random)!,
                batchSize: 50)
        }
        async let changes: Void = repeatedly(2, until: isDone) { connection, random in
            try await connection.transaction(.readCommitted, to: "change rows") {
                for _ in 0...random.below(3) {
                    let statement = Self.statements[random.below(Self.statements.count)]
                    try await connection.execute(script: statement, to: "change rows")
                }
            }
            try await Task.sleep(for: .milliseconds(random.below(20)))
        }
        async let prunings: Void = repeatedly(3, until: isDone) { connection, random in
            try await Task.sleep(for: .milliseconds(random.below(1000)))
            if prunes { try await connection.execute("select history.prune('0')", to: "prune") }
        }
        do {
            try await body()
        } catch {
            isDone.set()
            throw error
        }
        isDone.set()
        _ = try await (imports, changes, prunings)
    }

    private static let statements = [
        "update quake set sig = random() * 1000",
        "delete from quake where code in (select code from quake order by random() limit 30)",
        "update quake set magnitude = random() where code in (select code from quake order by random() limit 10)",
        "update quake set code = left(code, 20) || md5(random()::text) where code in (select code from quake order by random() limit 2)",
        """
        with gone as (delete from quake where code in (select code from quake order by random() limit 5) returning *)
        insert into quake (code, net, net_code, time, updated, longitude, latitude)
        select code, net, 'again', time, updated, longitude, latitude from gone
        """,
        "savepoint s; delete from quake; rollback to s",
    ]

    private func repeatedly(
        _ stream: UInt64, until isDone: Done,
        _ body: (Connection, inout SplitMix64) async throws -> Void
    ) async throws {
        var random = SplitMix64(seed: seed &+ stream)
        try await database.withConnection { connection in
            while !isDone.isSet {
                do {
                    try await body(connection, &random)
                } catch let error as PostgresError where error.isRetryable {
                    continue
                }
            }
        }
    }
}
