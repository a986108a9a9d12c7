import Foundation
import PostgreSQL
import SampleFeed
import TestSupport

/// Writers that collide on a small tracked table `note`.
///
/// Some are SERIALIZABLE, and some have hostile settings or forge the setting that the history uses. All of them hold
/// transactions open, use savepoints and roll back at random.
final class NoteWriters: Sendable {
    /// Tells the readers to read once more and then stop.
    let areDone = Done()

    private let database: TestDatabase
    private let seed: UInt64

    /// Creates the table.
    init(_ database: TestDatabase, seed: UInt64 = 0) async throws {
        self.database = database
        self.seed = seed
        try await database.withConnection { connection in
            try await connection.execute(
                script: """
                    create table note (key text primary key, number double precision);
                    select history.track('note', 'key', 'note_changes')
                    """, to: "prepare the test")
        }
    }

    /// Lets `count` writers write concurrently until there are 300 transactions.
    func write(_ count: Int) async throws {
        try await database.writeSideBySide(count) { writer, isDone in
            try await self.write(writer, until: isDone)
        } until: {
            try await self.database.query("select history.current_token() >= 300 as enough")[0]
                .decode("enough")
        }
    }

    private func write(_ writer: Int, until isDone: Done) async throws {
        var random = SplitMix64(seed: seed << 8 + UInt64(writer))
        let database =
            switch writer {
            case 0, 1:
                database.with("-csearch_path=pg_temp -cTimeZone=Asia/Kathmandu -cextra_float_digits=-12")
            case 2: database.with(#"-chistory.transaction=1\ 2\ (0,1)\ 3"#)
            default: database
            }
        try await database.writeAtRandom(
            writer.isMultiple(of: 4) ? .serializable : .readCommitted, upTo: 3, until: isDone, &random, step
        )
    }

    private func step(_ connection: Connection, _ random: inout SplitMix64) async throws {
        let key = "k\(random.below(40))"
        switch random.below(6) {
        case 0: try await connection.execute("delete from public.note where key = \(key)", to: "delete")
        case 1:
            try await connection.execute(
                script: "savepoint s; delete from public.note where key = '\(key)'; rollback to s", to: "try")
        case 2: try await Task.sleep(for: .milliseconds(random.below(20)))
        default:
            try await connection.execute(
                """
                insert into public.note values (\(key), random())
                on conflict (key) do update set number = excluded.number
                """, to: "write")
        }
    }
}

extension TestDatabase {
    /// Lets `count` writers work concurrently until `isEnough` returns true, and at least for the number of seconds in
    /// QUAKES_STRESS_SECONDS, if it is set.
    func writeSideBySide(
        _ count: Int,
        _ write: @escaping @Sendable (_ writer: Int, _ isDone: Done) async throws -> Void,
        until isEnough: () async throws -> Bool
    ) async throws {
        let seconds = ProcessInfo.processInfo.environment["QUAKES_STRESS_SECONDS"].flatMap { Int($0) } ?? 0
        let end = ContinuousClock.now + .seconds(seconds)
        let isDone = Done()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<count {
                group.addTask { try await write(writer, isDone) }
            }
            try await waitUntil { try await isEnough() && ContinuousClock.now >= end }
            isDone.set()
            try await group.waitForAll()
        }
    }

    /// Runs transactions of one to `steps` steps, one after the other, until `isDone` is set. One transaction in six is rolled
    /// back. A transaction that collides with another writer fails with a retryable error or with the SQLSTATE `collision`, and
    /// is not retried.
    func writeAtRandom(
        _ isolation: Connection.Isolation, upTo steps: Int, until isDone: Done,
        _ random: inout SplitMix64, collision: String? = nil,
        _ step: (Connection, inout SplitMix64) async throws -> Void
    ) async throws {
        try await withConnection { connection in
            while !isDone.isSet {
                do {
                    try await connection.transaction(isolation, to: "write") {
                        for _ in 0...random.below(steps) { try await step(connection, &random) }
                        if random.below(6) == 0 { throw RolledBack() }
                    }
                } catch is RolledBack {
                    continue
                } catch let error as PostgresError where error.isRetryable || error.sqlState == collision {
                    continue
                }
            }
        }
    }
}

private struct RolledBack: Error {}
