import Glibc
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

/// Covers replication, which replays the primary's commits in their order.
///
/// `QUAKES_STRESS_SECONDS=60 swift test --filter StandbyTests` runs the first test for longer.
@Suite("History on a hot standby")
struct StandbyTests {
    @Test("On a hot standby, no token appears after a greater one, and each transaction is complete")
    func prefix() async throws {
        try await withPrimary { server, primary in
            let writers = try await NoteWriters(primary)
            try await withStandby(of: server.cluster) { standby in
                async let reading = read(TestDatabase(url: standby.url()), beside: writers)
                try await writers.write(8)
                try await standby.catchUp()
                writers.areDone.set()
                let seen = try await reading

                #expect(seen == (try await primary.withConnection { try await transactions(after: 0, $0) }))
                #expect(seen.count >= 300)
            }
        }
    }

    ///     writer A (primary)     writer B (primary)     reader (standby)
    ///     first change, id 1
    ///                            first change, id 2
    ///                            commit, token 1
    ///                                                   sees id 2; a reader that reads in the order of ids would now miss id 1
    ///     commit, token 2
    ///                                                   sees id 1, because token 2 follows token 1
    @Test(
        "On a hot standby, a reader that reads by token gets a transaction that began early and was committed late"
    )
    func overtaken() async throws {
        try await withPrimary { server, primary in
            try await primary.query("create table note (key text primary key)")
            try await primary.query("select history.track('note', 'key', 'note_changes')")
            try await withStandby(of: server.cluster) { standby in
                try await TestDatabase(url: standby.url()).withConnection { reader in
                    try await primary.withConnection { early in
                        try await early.execute(script: "begin; insert into note values ('a')", to: "begin")
                        try await primary.query("insert into note values ('b')")
                        try await standby.catchUp()
                        let first = try await transactions(after: 0, reader)
                        try await early.execute(script: "commit", to: "commit")
                        try await standby.catchUp()
                        let second = try await transactions(after: 1, reader)

                        #expect(first == [Transaction(token: 1, id: 2, changes: 1)])
                        #expect(second == [Transaction(token: 2, id: 1, changes: 1)])
                    }
                }
            }
        }
    }

    @Test(
        "A promoted standby accepts the positions that it replayed, and reports a position that it never had as diverged"
    )
    func promoted() async throws {
        try await withPrimary { server, primary in
            try await primary.query("create table note (key text primary key)")
            try await primary.query("select history.track('note', 'key', 'note_changes')")
            try await withStandby(of: server.cluster) { standby in
                let copy = TestDatabase(url: standby.url())
                let kept = try await insert("kept", into: primary)
                try await standby.catchUp()
                #expect(try await check(kept, on: copy) == "ok")
                #expect(try await changedKeys(copy) == ["kept"])
                try await standby.disconnect()
                let lost = try await insert("lost", into: primary)
                try await server.cluster.stop(signal: SIGQUIT)

                try await standby.promote()

                #expect(try await check(kept, on: copy) == "ok")
                #expect(try await check(lost, on: copy) == "diverged")
                let new = try await insert("new", into: copy)
                #expect(try await check(new, on: copy) == "ok")
                #expect(try await check(lost, on: copy) == "diverged")
                #expect(try await changedKeys(copy) == ["kept", "new"])
            }
        }
    }

    /// Runs `body` with a migrated database on a separate server, because a standby copies the whole server.
    private func withPrimary(_ body: (TemporaryServer, TestDatabase) async throws -> Void) async throws {
        // With this setting, the primary sends each commit at once. Otherwise it would send commits in groups, several times a
        // second, and a wrong order within a group would not be noticed.
        let server = try await TemporaryServer.start(settings: ["synchronous_commit": "on"])
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        try await body(server, database)
    }

    // MARK: Reading

    private struct Transaction: Equatable {
        let token: Int
        let id: Int
        let changes: Int
    }

    /// Reads until the writers are done, each time in a new snapshot, and returns the transactions in the order of their arrival.
    private func read(
        _ standby: TestDatabase, beside writers: NoteWriters
    ) async throws -> [Transaction] {
        var seen: [Transaction] = []
        try await standby.withConnection { connection in
            var isLast = false
            while !isLast {
                isLast = writers.areDone.isSet
                try await connection.transaction(.repeatableReadOnly, to: "read") {
                    let last = seen.last?.token ?? 0
                    // If a smaller token appears after a greater one was seen, this count is too large.
                    let passed: Int = try await connection.query(
                        "select count(*) as passed from history.transaction where token <= \(last)",
                        to: "read")[0].decode("passed")
                    try #require(passed == seen.count, "a token below \(last) appeared after \(last)")
                    seen += try await transactions(after: last, connection)
                }
            }
        }
        return seen
    }

    private func transactions(after token: Int, _ connection: Connection) async throws -> [Transaction] {
        try await connection.query(
            """
            select t.token, t.id,
                   (select count(*) from history.change c where c.transaction = t.id) as changes
            from history.transaction t where t.token > \(token) order by t.token
            """, to: "read"
        ).map { row in
            try Transaction(token: row.decode("token"), id: row.decode("id"), changes: row.decode("changes"))
        }
    }

    // MARK: Positions

    private struct Position {
        let store: String
        let token: Int
        let time: String
        let nonce: String
    }

    private func insert(_ key: String, into database: TestDatabase) async throws -> Position {
        try await database.query("insert into note values (\(key))")
        let row = try await database.query(
            "select store::text, token, committed_at::text as time, nonce from history.position()")[0]
        return try Position(
            store: row.decode("store"), token: row.decode("token"), time: row.decode("time"),
            nonce: row.decode("nonce"))
    }

    private func check(_ position: Position, on database: TestDatabase) async throws -> String {
        try await database.query(
            """
            select history.check(\(position.store)::uuid, \(position.token), \(position.time)::timestamptz,
                                 \(position.nonce)) as answer
            """)[0].decode("answer")
    }

    private func changedKeys(_ database: TestDatabase) async throws -> [String] {
        try await database.query("select key from history.changes(0, 'note')").map { try $0.decode("key") }
    }
}
