import Feed
import TestSupport
import Testing

@testable import PostgreSQL
@testable import QuakeStore

@Suite("Moments in SQL")
struct MomentTests {
    @Test(
        "A moment, bound or as a literal, comes back unchanged, and the server reads it as the same moment",
        arguments: [
            0, 1, -1, 946_684_799_999, 946_684_800_000, 1_700_000_000_123, -62_135_596_800_000,
            253_402_300_799_999,
        ] as [Int64])
    func unchanged(_ milliseconds: Int64) async throws {
        let instant = Instant(milliseconds: milliseconds)
        let exact = CommitTime(microseconds: Int(milliseconds) * 1000 + 1)
        let query: Query = """
            select value, exact, (\([instant, instant]))[2] as second,
                   to_char(value at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as text
            from (select \(instant) as value, \(exact) as exact) as one
            """
        try await TestServer.shared.withEmptyDatabase { database in
            let literal = try await database.withConnection {
                try await $0.text(of: "select \(instant) as value, \(exact) as exact")
            }
            let bound = try await database.query(query)[0]
            #expect(try bound.decode("second") == instant)
            #expect(try bound.decode("text") == "\(instant)")
            for row in [bound, try await database.query("\(unescaped: literal)")[0]] {
                #expect(try row.decode("value") == instant)
                #expect(try row.decode("exact") == exact)
            }
        }
    }

    @Test("The server refuses a moment outside its range", arguments: [Int64.min, .max, .max / 1000])
    func beyond(_ milliseconds: Int64) async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.query("select \(Instant(milliseconds: milliseconds))")
            }
            #expect(error?.sqlState == "22008")
        }
    }

    @Test("Infinity can't be decoded as a moment")
    func infinite() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            let row = try await database.query(
                "select timestamptz 'infinity' as late, timestamptz '-infinity' as early")[0]
            for name in ["late", "early"] {
                #expect(throws: RowError.self) { try row.decode(name, as: Instant.self) }
                #expect(throws: RowError.self) { try row.decode(name, as: CommitTime.self) }
            }
        }
    }
}
