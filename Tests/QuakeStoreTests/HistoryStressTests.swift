import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

/// Eight writers that collide, and two readers: one by token, one by the highest change it has seen.
///
/// `QUAKES_STRESS_SECONDS=60 swift test --filter HistoryStress` runs it longer.
@Suite("History under stress", .timeLimit(.minutes(10)))
struct HistoryStressTests {
    let server = TestServer.shared
    private static var duration: Duration {
        .seconds(ProcessInfo.processInfo.environment["QUAKES_STRESS_SECONDS"].flatMap { Int($0) } ?? 4)
    }

    @Test(
        "A reader by token misses nothing, doubles nothing, and always holds a state that was; a reader by number loses changes"
    )
    func writersAndReaders() async throws {
        try await server.withDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute(
                    script: """
                        create table note (key text primary key, number double precision);
                        select history.track('note', 'key')
                        """, to: "prepare the test")
            }
            let deadline = ContinuousClock.now + Self.duration
            let writers = Writers()
            let (byToken, byNumber) = try await withThrowingTaskGroup(of: Void.self) { group in
                async let token = readByToken(database, beside: writers)
                async let number = readByNumber(database, beside: writers)
                for writer in 0..<8 {
                    group.addTask { try await write(database, writer, until: deadline) }
                }
                try await group.waitForAll()
                writers.areDone.withLock { $0 = true }
                return try await (token, number)
            }

            let all = try await database.query("select token, ordinal from history.changes(0, 'note')")
                .map { try Place($0) }
            #expect(all.count > 50)
            #expect(byToken == all)
            let lost = Set(all).subtracting(byNumber)
            print("\(all.count) changes; the reader by number lost \(lost.count)")
            #expect(!lost.isEmpty)
        }
    }

    private struct Place: Hashable {
        let token: Int
        let ordinal: Int

        init(_ row: Row) throws {
            token = try row.decode("token")
            ordinal = try row.decode("ordinal")
        }
    }

    /// What the readers have to know of the writers: when they can stop.
    private final class Writers: Sendable {
        let areDone = Mutex(false)
    }

    // MARK: Writers

    /// Two are SERIALIZABLE, two have hostile settings; all hold transactions open, use savepoints and roll back at random.
    private func write(
        _ database: TestDatabase, _ writer: Int, until deadline: ContinuousClock.Instant
    ) async throws {
        var random = SeededGenerator(UInt64(writer))
        let hostile = "-csearch_path=pg_temp -cTimeZone=Asia/Kathmandu -cextra_float_digits=-12"
        let database = writer < 2 ? database.with(hostile) : database
        try await database.withConnection { connection in
            while ContinuousClock.now < deadline {
                do {
                    try await connection.transaction(
                        writer.isMultiple(of: 4) ? .serializable : .readCommitted, to: "write"
                    ) {
                        for _ in 0...random.next(below: 3) { try await step(connection, &random) }
                        if random.next(below: 6) == 0 { throw RolledBack() }
                    }
                } catch is RolledBack {
                    continue
                } catch let error as PostgresError where error.isRetryable {
                    continue
                }
            }
        }
    }

    private struct RolledBack: Error {}

    private func step(_ connection: Connection, _ random: inout SeededGenerator) async throws {
        let key = "k\(random.next(below: 40))"
        switch random.next(below: 6) {
        case 0: try await connection.execute("delete from public.note where key = \(key)", to: "delete")
        case 1:
            try await connection.execute(
                script: "savepoint s; delete from public.note where key = '\(key)'; rollback to s", to: "try")
        case 2: try await Task.sleep(for: .milliseconds(random.next(below: 20)))
        default:
            try await connection.execute(
                """
                insert into public.note values (\(key), random())
                on conflict (key) do update set number = excluded.number
                """, to: "write")
        }
    }

    // MARK: Readers

    private func readByToken(_ database: TestDatabase, beside writers: Writers) async throws -> [Place] {
        var (token, seen, view) = (0, [Place](), [String: String]())
        try await database.withConnection { connection in
            var isLast = false
            while !isLast {
                isLast = writers.areDone.withLock { $0 }
                try await connection.transaction(.repeatableReadOnly, to: "read") {
                    let changes = try await connection.query(
                        "select token, ordinal, key, row from history.changes(\(token), 'note')", to: "read")
                    for change in changes {
                        try seen.append(Place(change))
                        // The last change of a key carries its row.
                        try view[change.decode("key")] = change.decodeIfPresent("row")
                    }
                    token = try await connection.query("select history.current_token() as token", to: "read")[
                        0
                    ]
                    .decode("token")
                    let rows = try await connection.query(
                        "select key, to_jsonb(note) as row from note", to: "read")
                    let table: [String: String] = try Dictionary(
                        uniqueKeysWithValues: rows.map { try ($0.decode("key"), $0.decode("row")) })
                    #expect(view == table)
                }
            }
        }
        return seen
    }

    /// What readers do where changes have only a number of their own.
    private func readByNumber(_ database: TestDatabase, beside writers: Writers) async throws -> Set<Place> {
        var (last, seen) = (0, Set<Place>())
        try await database.withConnection { connection in
            var isLast = false
            while !isLast {
                isLast = writers.areDone.withLock { $0 }
                let changes = try await connection.query(
                    """
                    select t.id, t.token, c.ordinal
                    from history.transaction t join history.change c on c.transaction = t.id
                    where t.id > \(last) order by t.id
                    """, to: "read")
                for change in changes { try seen.insert(Place(change)) }
                if let change = changes.last { last = try change.decode("id") }
            }
        }
        return seen
    }
}
