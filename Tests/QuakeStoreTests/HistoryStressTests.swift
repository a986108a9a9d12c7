import PostgreSQL
import TestSupport
import Testing

/// Eight writers that collide, and two readers: one by token, one by the highest change it has seen.
///
/// `QUAKES_STRESS_SECONDS=60 swift test --filter HistoryStress` runs it longer.
@Suite("History under stress", .endsHanging)
struct HistoryStressTests {
    let server = TestServer.shared

    @Test(
        "A reader by token misses nothing, doubles nothing, and always holds a state that was; a reader by number loses changes",
        arguments: 1...5 as ClosedRange<UInt64>)
    func writersAndReaders(seed: UInt64) async throws {
        try await server.withDatabase { database in
            let writers = try await NoteWriters(database, seed: seed)
            async let token = readByToken(database, beside: writers)
            async let number = readByNumber(database, beside: writers)
            try await writers.write(8, seconds: 3)
            writers.areDone.withLock { $0 = true }
            let (byToken, byNumber) = try await (token, number)

            let all = try await database.query("select token, ordinal from history.changes(0, 'note')")
                .map { try Place($0) }
            #expect(all.count > 50)
            #expect(byToken == all)
            let lost = Set(all).subtracting(byNumber)
            print("seed \(seed): \(all.count) changes; the reader by number lost \(lost.count)")
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

    private func readByToken(_ database: TestDatabase, beside writers: NoteWriters) async throws -> [Place] {
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
    private func readByNumber(
        _ database: TestDatabase, beside writers: NoteWriters
    ) async throws -> Set<Place> {
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
