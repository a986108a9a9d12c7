import Feed
import Foundation
import GRDB
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import QuakeView

@Suite("Following into a SQLite file")
struct SQLiteViewTests {
    @Test("Every value arrives unchanged, in the first snapshot and after every kind of change")
    func values() async throws {
        try await withView { database, path in
            try await database.importSample(300)
            try await database.importFeatures([
                SmallFeed.feature("null", magnitude: "null"),
                SmallFeed.feature("more", more: "\"new\":{\"deep\":[1,null,\"é🌋\"]},\"ids\":\",x,y,\""),
            ])
            try await database.query(Self.extremes)
            let (view, log) = (try SQLiteView(path), RecordedLog())

            try await database.catchUp(view, log: log)
            try await database.expectSame(path)
            for change in Self.changes {
                try await database.query(change)
                try await database.catchUp(view, log: log)
                try await database.expectSame(path)
            }
            for change in Self.changes.reversed() { try await database.query(change) }
            try await database.catchUp(view, log: log)
            try await database.expectSame(path)

            #expect(log.lines.filter { $0.contains("snapshot") }.count == 1)
        }
    }

    /// Rows with values that feeds almost never contain.
    private static let extremes: Query = """
        insert into quake (code, net, net_code, place, title, time, updated, felt, sig, tsunami, magnitude, longitude,
                           latitude, depth, ids, sources, types, extra)
        values ('', '', '', '', E'tab\\tquote" \\\\ \\u0001 \\U0001F30B', '1889-03-11 12:00:00.0015+00',
                '0001-01-01 00:00:00.999999+00', -2147483648, 2147483647, false, 1e-307, '-0', 0.1, 6400,
                '{}', '{"","NULL","a,b","\\"q\\""}', '{null_}', '{"a": {}}'),
               ('é', 'e', '́', 'null', '0', '1969-12-31 23:59:59.999999+00', '9999-12-31+00', 0, -1, true,
                12, 359.99999999999994, 5e-324, -6400, '{NULL_}', '{🌋}', '{"{}","{a,b}"}',
                '{"n": 1e400, "m": 0.10, "s": "\\u001f"}'),
               ('e\u{301}', 'e', 'x', E'\\r\\n', '''', '1970-01-01+00', '9999-12-31 23:59:59.999999+00', 1, 1,
                null, 3, -180, 90, null, null, null, null, null)
        """

    private static let changes: [Query] = [
        "update quake set magnitude = magnitude / 3, place = null, ids = ids || ids, felt = null",
        "update quake set code = code || '-new' where code like 'q1%'",
        "delete from quake where code like 'q2%' or code = ''",
        "update quake set code = '' where code = 'q0null'",
        """
        insert into quake (code, net, net_code, time, updated, longitude, latitude)
        select before ->> 'code', 'again', '', now(), now(), 1, 2
        from history.change where operation = 'delete' and key like 'q2%'
        on conflict do nothing
        """,
        """
        with moved as (delete from quake where code like 'q3%' returning *)
        insert into quake (code, net, net_code, time, updated, longitude, latitude)
        select code || '-moved', net, net_code, time, updated, longitude, latitude from moved
        on conflict do nothing
        """,
        "update quake set sig = 1 where code like 'q4%'",
    ]

    @Test(
        "Changes are read through the indexes, even if the planner would prefer another plan",
        .enabled("auto_explain is not installed") {
            try await TestServer.shared.hasLibrary("auto_explain")
        })
    func plan() async throws {
        try await withView { database, path in
            try await database.importSample(300)
            let (view, log) = (try SQLiteView(path), RecordedLog())
            try await database.catchUp(view)
            // So far, each transaction has changed all 300 rows, so the planner would prefer a sequential scan.
            try await database.query("analyze")
            try await database.query(
                "update quake set felt = 7 where code = (select code from quake limit 1)")

            let explained = database.with(
                """
                -csession_preload_libraries=auto_explain -cauto_explain.log_min_duration=0 \
                -cauto_explain.log_nested_statements=on -cclient_min_messages=log
                """)
            try await explained.catchUp(view, log: log)
            try await Connection.with(try explained.options(), logger: log.logger) { connection in
                _ = try await connection.query("select from history.changes(0, 'quake')", to: "read")
            }

            let plans = log.lines.filter { $0.contains("plan:") }
            let keys = try #require(plans.first(where: { $0.contains("select distinct") }))
            #expect(keys.contains("Index Cond: ((token > "))
            #expect(keys.contains("Index Cond: (transaction = "))
            let rows = try #require(plans.first(where: { $0.contains("history.changed_keys") }))
            #expect(rows.contains("Index Cond: (code = changed.key)"))
            for table in ["transaction", "change", "quake"] {
                #expect(!plans.contains { $0.contains("Seq Scan on \(table)") })
            }
            #expect(!plans.contains { $0.contains("HashAggregate") || $0.contains("Hash Join") })
        }
    }

    @Test("After a few notifications, the server parses and plans nothing for a pass")
    func planned() async throws {
        try await withView { database, path in
            // Fresh statistics would make the server plan again.
            for table in ["quake", "history.change", "history.transaction"] {
                try await database.execute("alter table \(table) set (autovacuum_enabled = false)")
            }
            try await database.importSample(300)
            let (view, log) = (try SQLiteView(path), RecordedLog())
            let told = database.with(
                "-clog_parser_stats=on -clog_planner_stats=on -cclient_min_messages=log")
            let follower = Follower(
                try told.options(), view: view, name: nil, poll: PollInterval(listening: .seconds(3600)),
                logger: log.logger)
            let following = Task { try await follower.run() }
            defer { following.cancel() }
            func work() -> Int { log.lines.count { $0.contains("STATISTICS") } }
            func follow() async throws {
                try await database.query(
                    "update quake set felt = coalesce(felt, 0) + 1 where code like 'q1%'")
                let position = try await database.positionText()
                try await waitUntil { try FileState.position(path) == position }
            }

            try await waitUntil { try FileState.position(path) != nil }
            // The server plans a query five times before it keeps a plan.
            for _ in 1...6 { try await follow() }
            let before = work()
            for _ in 1...3 { try await follow() }
            #expect(before > 0)
            #expect(work() == before)
            try await database.expectSame(path)
        }
    }

    @Test("SQLite's log may grow to about 16 MB, and the exact limit differs between views")
    func logSize() async throws {
        try await withFolder { folder in
            let sizes = try (1...20).map { number in
                let view = try SQLiteView(folder.appending(path: "\(number).sqlite").path)
                return try view.queue.read { try Int.fetchOne($0, sql: "pragma wal_autocheckpoint") }
            }
            #expect(sizes.allSatisfy { (3000...5000).contains($0 ?? 0) })
            #expect(Set(sizes).count > 1)
        }
    }

    @Test("A history without an identity, as after a partial restore, leaves the view unchanged")
    func noStore() async throws {
        try await withView { database, path in
            try await database.importFeatures([SmallFeed.feature("a")])
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let before = try FileState(path)

            try await database.query("delete from history.store")
            await #expect(throws: PostgresError.self) { try await database.catchUp(view) }

            #expect(try FileState(path) == before)
        }
    }

    // MARK: Readers

    /// reader: begin ─ reads 1 ──────────────── reads 1 ─ commit ─ reads 2
    /// view:                    pass to 2 commits
    @Test(
        "A reader's transaction keeps its rows and position; the next transaction sees the new ones"
    )
    func isolation() async throws {
        try await withView { database, path in
            try await database.importSample(100)
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let reader = try DatabaseQueue(path: path, configuration: .reader)
            let before = try await reader.writeWithoutTransaction { db in
                try db.execute(sql: "begin")
                return try FileState(db)
            }

            try await database.query("update quake set magnitude = 9")
            try await database.query("delete from quake where code like 'q1%'")
            try await database.catchUp(view)

            #expect(try await reader.writeWithoutTransaction { try FileState($0) } == before)
            let after = try await reader.writeWithoutTransaction { db in
                try db.execute(sql: "commit")
                return try FileState(db)
            }
            #expect(try await after.table == database.tableText())
            #expect(try await after.position == database.positionText())
        }
    }

    @Test("A reader never sees rows together with the position of other rows")
    func together() async throws {
        try await withView { database, path in
            // The transaction with token n sets every significance to n.
            try await database.importFeatures((0..<50).map { SmallFeed.feature("\($0)", more: "\"sig\":1") })
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let reader = try DatabaseQueue(path: path, configuration: .reader)
            let follower = Follower(try database.options(), view: view, name: nil, logger: .quiet)
            let following = Task { try await follower.run() }
            defer { following.cancel() }
            let writing = Task {
                for token in 2...40 { try await database.query("update quake set sig = \(token)") }
            }

            var seen: Set<Double> = []
            while !seen.contains(40) {
                let state = try reader.read { db in
                    try GRDB.Row.fetchOne(
                        db,
                        sql: """
                            select min(sig) as low, max(sig) as high, count(*) as count,
                                   (select token from position) as token from quake
                            """)
                }
                let values: [Double] = ["low", "high", "token"].map { state?[$0] ?? 0 }
                #expect(Set(values).count == 1 && state?["count"] == 50, "\(values)")
                seen.insert(values[0])
                // Reading blocks a thread of the pool, and the follower also needs a thread.
                try await Task.sleep(for: .milliseconds(1))
            }
            try await writing.value
            following.cancel()
            await #expect(throws: CancellationError.self) { try await following.value }
        }
    }

    @Test(
        "A fresh snapshot brings a change of the table's columns into the file while readers keep the file open",
        arguments: [
            "alter table quake add column revision integer default 7",
            "alter table quake add column \"odd \"\"name\" text default 'x'",
            // No report uses these columns, so the database's views do not prevent the change.
            "alter table quake drop column tz",
            "alter table quake rename column tz to offset_minutes",
            "alter table quake alter column tz type double precision",
        ])
    func columns(_ change: String) async throws {
        try await withView { database, path in
            try await database.importSample(50)
            let (view, log) = (try SQLiteView(path), RecordedLog())
            try await database.catchUp(view)
            let reader = try DatabaseQueue(path: path, configuration: .reader)
            _ = try await reader.read { try FileState($0) }

            try await database.query("\(unescaped: change)")
            try await database.catchUp(view, log: log)

            #expect(log.lines.contains { $0.hasPrefix("notice: the table was altered") })
            let table = try await reader.read { try FileState($0) }.table
            #expect(try await database.tableText().difference(from: table) == nil)
            try await database.query("delete from quake where code like 'q1%'")
            try await database.catchUp(view)
            try await database.expectSame(path)
            #expect(log.lines.filter { $0.contains("fresh snapshot") }.count == 1)
        }
    }

    // MARK: Passes that fail

    /// Breakages of the first pass, and of a later one.
    private static let breakages: [(breakage: Breakage, isFirst: Bool)] = [
        (.backendDies, false), (.serverFails, false), (.cancelled, false),
        (.backendDies, true), (.serverFails, true), (.cancelled, true),
    ]

    @Test("A pass that breaks in the middle leaves the file unchanged, and the next one succeeds")
    func brokenPass() async throws {
        try await withView { database, firstPath in
            try await database.importSample(3000)
            try await database.addColumnThatCanBreak()
            try await forEachCase(of: Array(Self.breakages.enumerated())) { number, one in
                let name: Comment = "\(one.breakage), first: \(one.isFirst)"
                let path = "\(firstPath)\(number)"
                // Removes the free space of earlier cases, so that the changed row is the table's last one. The command also
                // waits until no pass of an earlier case reads the table.
                try await database.execute("vacuum full quake")
                let view = try SQLiteView(path)
                if !one.isFirst {
                    try await database.catchUp(view)
                    try await database.query("update quake set magnitude = -magnitude")
                }
                let before = one.isFirst ? nil : try FileState(path)

                try await database.breakLastRow(one.breakage)
                let passing = Task { try await database.catchUp(view) }
                try await database.help(one.breakage, passing)
                await #expect(throws: (any Error).self, name) { try await passing.value }

                if let before {
                    #expect(try FileState(path) == before, name)
                } else {
                    #expect(try await view.position() == nil, name)
                    #expect(throws: Failure.self, name) {
                        try ViewFile(path).forEach(QuakeSelection()) { _ in }
                    }
                }
                try await database.query("update quake set fragile = null")
                try await database.catchUp(view)
                try await database.expectSame(path, name)
            }
        }
    }

    @Test(
        "A full disk is reported and leaves the rows unchanged; once there is space, the next pass succeeds",
        arguments: [false, true])
    func fullDisk(isSnapshot: Bool) async throws {
        try await withView { database, path in
            try await database.importSample(200)
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let before = try FileState(path)
            try await database.importSample(2000)
            if isSnapshot { try await database.query("select history.prune('0')") }

            try await view.limitPages(to: 100)
            let error = await #expect(throws: Failure.self) { try await database.catchUp(view) }

            #expect(error == Failure(.file, "\(path): database or disk is full"))
            #expect(try FileState(path) == before)
            try await view.limitPages(to: 1_000_000)
            try await database.catchUp(view)
            try await database.expectSame(path)
        }
    }

    @Test("A view survives if its follower is killed during a checkpoint")
    func killedInCheckpoint() async throws {
        try await withView { database, path in
            try await database.importSample(100)
            var view: SQLiteView? = try SQLiteView(path)
            try await database.catchUp(try #require(view))
            let log = try Data(contentsOf: URL(filePath: path + "-wal"))
            view = nil
            let file = try Data(contentsOf: URL(filePath: path))

            // The checkpoint has written only the first page, which has the number of pages.
            try file.prefix(4096).write(to: URL(filePath: path))
            try log.write(to: URL(filePath: path + "-wal"))
            try FileManager.default.removeItem(atPath: path + "-shm")

            try await database.query("update quake set magnitude = 9 where code like 'q1%'")
            try await database.catchUp(SQLiteView(path))
            try await database.expectSame(path)
            #expect(file.count > 4096 && log.count > file.count)
        }
    }

    // MARK: The file format

    @Test("A view with another file format is rebuilt")
    func otherForm() async throws {
        try await withView { database, path in
            try await database.importSample(50)
            try await database.catchUp(SQLiteView(path))
            try await DatabaseQueue(path: path).write { db in
                try db.execute(
                    sql: """
                        pragma user_version = 7;
                        drop table quake; create table quake (code text, other integer); insert into quake values ('x', 1);
                        drop table position; create table position (token text)
                        """)
            }

            try await database.catchUp(SQLiteView(path))

            try await database.expectSame(path)
            let version = try await DatabaseQueue(path: path).read {
                try Int.fetchOne($0, sql: "pragma user_version")
            }
            #expect(version == SQLiteView.version)
        }
    }

    // MARK: User-defined columns

    @Test("Columns whose names differ only in case, or have quotes, are followed like others")
    func names() async throws {
        try await withView { database, path in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            try await database.execute(
                """
                alter table quake add "Place" text default 'Bern', add "PLACE" text default 'Basel', add place_2 text default 'Biel',
                    add "Code" text default 'C', add "a""b" text default 'q', add "a""\u{301}b" text default 'r',
                    add rowid integer default 5
                """)
            try await database.catchUp(view)
            try await database.execute(
                #"update quake set "Place" = 'Thun', "a""\#u{301}b" = 's' where code = 'q0a'"#)
            try await database.catchUp(view)

            let rows = try await DatabaseQueue(path: path, configuration: .reader).read { db in
                try Row.fetchAll(
                    db,
                    sql: #"""
                        select place, "Place_3", "PLACE_4", place_2, "Code_2", "a""b", "a""\#u{301}b", rowid
                        from quake order by code
                        """#
                ).map { row in row.databaseValues.map { "\($0.storage.value ?? "")" } }
            }
            #expect(
                rows == [
                    ["somewhere", "Thun", "Basel", "Biel", "C", "q", "s", "5"],
                    ["somewhere", "Bern", "Basel", "Biel", "C", "q", "r", "5"],
                ])
            // A second pass finds the expected table.
            let log = RecordedLog()
            try await database.catchUp(view, log: log)
            #expect(!log.lines.contains { $0.contains("snapshot") })
            var places: [String] = []
            _ = try ViewFile(path).forEach(QuakeSelection()) { places.append($0[.place].text ?? "") }
            #expect(places == ["somewhere", "somewhere"])
        }
    }

    @Test("Infinity in a user-defined timestamp column arrives as infinity")
    func infinity() async throws {
        try await withView { database, path in
            try await database.importFeatures(["a", "b", "c", "d"].map { SmallFeed.feature($0) })
            try await database.execute(
                """
                alter table quake add checked timestamptz;
                update quake set checked = case code when 'q0a' then 'infinity' when 'q0b' then '-infinity'
                    when 'q0c' then '294276-12-31 23:59:59.999999+00' end::timestamptz
                """)
            try await database.catchUp(SQLiteView(path))
            let values = try await DatabaseQueue(path: path, configuration: .reader).read { db in
                try String?.fetchAll(db, sql: "select checked from quake order by code")
            }
            #expect(values == ["infinity", "-infinity", "294276-12-31T23:59:59.999Z", nil])
        }
    }

    // MARK: Indexes

    @Test("Events are listed by time from an index, in a fresh file and after changes of any kind")
    func timeIndex() async throws {
        try await withView { database, path in
            try await database.importSample(300)
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            for change in [
                "update quake set magnitude = 1 where code like 'q1%'",
                "update quake set time = time - interval '1 day', magnitude = 2 where code like 'q2%'",
                "update quake set time = time + interval '1 second' where code like 'q3%'",
                "delete from quake where code like 'q4%'",
            ] {
                try await database.query(Query(stringLiteral: change))
                try await database.catchUp(view)
            }
            try await database.expectSame(path)
            try await DatabaseQueue(path: path, configuration: .reader).read { db in
                let plan = try Row.fetchAll(
                    db, sql: "explain query plan select * from quake order by time desc, code")
                #expect(plan.map { $0["detail"] } == ["SCAN quake USING INDEX quake_time"])
                #expect(try String.fetchAll(db, sql: "pragma integrity_check") == ["ok"])
                let listed = try String.fetchAll(db, sql: "select code from quake order by time desc, code")
                let sorted = try String.fetchAll(db, sql: "select code from quake order by +time desc, +code")
                #expect(listed == sorted)
            }
        }
    }

    @Test("A revision that keeps the time writes less to the file than one that changes the time")
    func unchangedTime() async throws {
        try await withView { database, path in
            try await database.importSample(3000)
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            func written(by change: Query) async throws -> Int {
                try await view.queue.writeWithoutTransaction {
                    try $0.execute(sql: "pragma wal_checkpoint(truncate)")
                }
                try await database.query(change)
                try await database.catchUp(view)
                let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
                return try #require(size)
            }
            let revised = try await written(by: "update quake set felt = 7")
            let moved = try await written(by: "update quake set felt = 8, time = time + interval '1 second'")
            try await database.expectSame(path)
            #expect(revised < moved)
        }
    }
}
