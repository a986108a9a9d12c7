import Feed
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// Counts the rows and index entries that the server reads. These counts show how the cost of a query grows with the history,
/// independently of the machine's speed.
@Suite("The cost of queries on a long history")
struct HistoryCostTests {
    let server = TestServer.shared

    @Test("Reading the history of one event reads only that event's changes, and each only a few times")
    func oneEvent() async throws {
        try await server.withLongHistory { database in
            for (isTable, limit) in [(false, nil), (true, nil), (true, 20)] {
                var selection = ChangeSelection()
                selection.code = "hot"
                selection.describesEvents = isTable
                selection.limit = limit
                let read = try await database.entriesRead { connection in
                    try await UnknownCodes.check("hot", on: connection)
                    let told = Mutex(0)
                    try await selection.forEach(on: connection) { _ in told.withLock { $0 += 1 } }
                    #expect(told.withLock { $0 } == limit ?? 301)
                }
                #expect(read < 3000, "\(selection)")
            }
            let story = try await database.entriesRead { connection in
                let lines = Mutex(0)
                _ = try await connection.transaction(.repeatableReadOnly, to: "read a story") {
                    try await EventHistory.forEachLine(of: "hot", on: connection) { _ in
                        lines.withLock { $0 += 1 }
                    }
                }
                #expect(lines.withLock { $0 } == 302)
            }
            #expect(story < 3000)
            let unknown = try await database.entriesRead { connection in
                await #expect(throws: Failure.self) {
                    try await UnknownCodes.check("no", on: connection)
                }
            }
            #expect(unknown < 10)
        }
    }

    @Test("A listing reads the changes of an event once per page, not once per change")
    func listing() async throws {
        try await server.withLongHistory { database in
            var selection = ChangeSelection()
            // After token 2, one revision in ten is a revision of the event `hot`.
            selection.after = 2
            let read = try await database.entriesRead { connection in
                try await selection.forEach(on: connection) { _ in }
            }
            #expect(read < 60_000)
        }
    }

    @Test("Finding one event of the past, or whether one event was deleted, reads only that event's changes")
    func past() async throws {
        try await server.withLongHistory { database in
            let moment = try await database.query(
                "select (extract(epoch from committed_at) * 1000000)::bigint as at from history.transaction where token = 9"
            )
            let past = PastMoment.time(CommitTime(microseconds: try moment[0].decode("at")))
            for moment in [PastMoment.token(9), past] {
                var selection = QuakeSelection()
                selection.asOf = moment
                selection.values[.code] = ["e7"]
                let read = try await database.entriesRead { connection in
                    let found = Mutex<[Quake]>([])
                    try await selection.forEach(on: connection) { quake in
                        found.withLock { $0.append(quake) }
                    }
                    #expect(found.withLock { $0 }.map(\.code) == ["e7"])
                }
                #expect(read < 200, "\(selection)")

                selection.values[.code] = ["gone1"]
                let gone = try await database.entriesRead { connection in
                    let (count, newCode, isDeleted) = try await selection.read(on: connection) {
                        try await ($0.count(), $0.newCode(of: "gone1"), $0.isDeleted("gone1"))
                    }
                    #expect(count == 1 && newCode == nil && !isDeleted)
                }
                #expect(gone < 200, "\(selection)")
            }
            let now = try await database.entriesRead { connection in
                let (newCode, isDeleted) = try await QuakeSelection().read(on: connection) {
                    try await ($0.newCode(of: "gone2"), $0.isDeleted("gone2"))
                }
                #expect(newCode == "e2" && isDeleted)
            }
            #expect(now < 200)
        }
    }

    @Test(
        "Finding the earthquakes of one day of the past, merged, reads only that day's rows and the later changes"
    )
    func pastDay() async throws {
        try await server.withLongHistory { database in
            try await database.query("update quake set time = '2026-01-01' where code in ('e7', 'e8')")
            try await database.query(
                "insert into earthquake (code, preferred, magnitude_from, agencies) values ('e7', 'e7', 'e9', 2)"
            )
            try await database.query(
                """
                insert into earthquake_member (code, earthquake, partner, seconds, km, cost, rule, is_doubtful)
                select code, 'e7', 'e7', 0, 0, 0, 'pair', false from unnest('{e7,e9}'::text[]) as code
                """)
            let token: Int = try await database.query("select history.current_token() as token")[0].decode(
                "token")
            try await database.query("delete from quake where code = 'e7'")
            var selection = QuakeSelection()
            selection.asOf = .token(token)
            selection.isMerged = true
            (selection.since, selection.until) = (Instant("2026-01-01"), Instant("2026-01-02"))
            let read = try await database.entriesRead { [selection] connection in
                let found = Mutex<[String]>([])
                try await selection.forEachGrouped(on: connection) { quake, group in
                    found.withLock { $0.append("\(quake.code) \(group.members)") }
                }
                #expect(found.withLock { $0 } == [#"e7 ["e7", "e9"]"#, #"e8 ["e8"]"#])
            }
            #expect(read < 200)
        }
    }

    @Test("Reading the lag of readers costs little, even if they are far behind")
    func lag() async throws {
        try await server.withLongHistory { database in
            try await database.query(
                "select history.report('reader ' || n, n) from generate_series(1, 10) as n")
            let read = try await database.entriesRead { connection in
                let readers = try await HistoryStatus.read(on: connection).readers
                #expect(readers.map(\.tokensBehind).max() == 3002)
                #expect(readers.allSatisfy { $0.behind > .zero })
            }
            #expect(read < 100)
        }
    }
}

extension TestServer {
    /// Runs `body` with a history of 20,000 inserts, 1,000 events that were deleted as superseded, and 3,000 transactions that
    /// each revise one event. One in ten of these transactions revises the event `hot`. The planner has no statistics about these
    /// rows.
    fileprivate func withLongHistory(_ body: (TestDatabase) async throws -> Void) async throws {
        let fill = { @Sendable (database: TestDatabase) in
            for table in ["quake", "history.change", "history.transaction"] {
                try await database.execute("alter table \(table) set (autovacuum_enabled = false)")
            }
            try await database.execute(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                select code, 'q0', 'x', 'epoch', 'epoch', 0, 0
                from (select 'hot' union all select 'e' || n from generate_series(1, 20000) as n) as new (code)
                """)
            try await database.execute(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                select 'gone' || n, 'q0', 'x', 'epoch', 'epoch', 0, 0 from generate_series(1, 1000) as n
                """)
            try await database.execute(
                """
                do $$
                begin
                    for n in 1..3000 loop
                        update quake set felt = n where code = case n % 10 when 0 then 'hot' else 'e' || n end;
                        commit;
                    end loop;
                end
                $$
                """)
            try await database.execute(
                """
                begin; set local history.reason = 'superseded by e2'; delete from quake where code like 'gone%'; commit
                """)
        }
        try await withDatabase(like: "long_history", filledBy: fill, body)
    }
}

extension TestDatabase {
    /// How many table rows and index entries the server reads while `body` runs.
    func entriesRead(_ body: (Connection) async throws -> Void) async throws -> Int {
        func count() async throws -> Int {
            // A session reports its counts when it ends.
            try await waitUntil { try await otherSessions().isEmpty }
            return try await query(
                """
                select ((select sum(seq_tup_read) from pg_stat_user_tables)
                        + (select sum(idx_tup_read) from pg_stat_user_indexes))::bigint as count
                """)[0].decode("count")
        }
        let before = try await count()
        try await withConnection(body)
        return try await count() - before
    }
}
