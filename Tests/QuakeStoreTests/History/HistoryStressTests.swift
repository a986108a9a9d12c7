import PostgreSQL
import TestSupport
import Testing

/// Eight writers that collide, and a reader that reads by token.
///
/// `QUAKES_STRESS_SECONDS=60 swift test --filter HistoryStress` runs the test for longer.
@Suite("History under stress")
struct HistoryStressTests {
    let server = TestServer.shared

    @Test(
        "A reader that reads by token misses nothing, reads nothing twice, and always holds a state that existed",
        arguments: rounds(2, of: 5))
    func writersAndReader(number: Int) async throws {
        try await server.withDatabase { database in
            let writers = try await NoteWriters(database, seed: UInt64(number))
            async let reading = readByToken(database, beside: writers)
            try await writers.write(8)
            writers.areDone.set()
            let byToken = try await reading

            let all = try await database.query("select token, ordinal from history.changes(0, 'note')")
                .map { try Place($0) }
            #expect(all.count >= 300)
            #expect(byToken == all)
        }
    }

    private struct Place: Equatable {
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
                isLast = writers.areDone.isSet
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
}
