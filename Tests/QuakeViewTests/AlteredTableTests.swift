import Feed
import GRDB
import QuakeStore
import QuakeView
import TestSupport
import Testing

@Suite("A view of an altered table")
struct AlteredTableTests {
    /// Statements that change rows without recording a change in the history.
    private static let alterations = [
        "alter table quake drop column checked_by; alter table quake add column checked_by text default 'bert'",
        "alter table quake alter column checked_by type text using upper(checked_by)",
        "alter table quake alter column risk type text using 'class ' || risk",
        "alter table quake alter column risk type numeric using risk * 2",
        "alter type mood rename value 'calm' to 'quiet'",
    ]

    private static let columns = """
        create type mood as enum ('calm', 'restless');
        alter table quake add column risk numeric default 1.5, add column feeling mood default 'calm',
                          add column checked_by text default 'anna'
        """

    @Test("A running view gets the altered rows", arguments: alterations)
    func running(_ alteration: String) async throws {
        try await withView { database, path in
            try await database.importSample(5)
            try await database.execute(Self.columns)
            let (view, log) = (try SQLiteView(path), RecordedLog())
            let follower = Follower(try database.options(), view: view, name: nil, logger: log.logger)
            let following = Task { try await follower.run() }
            defer { following.cancel() }
            try await waitUntil { try await FileState.position(path) == database.positionText() }

            try await database.execute(alteration)
            try await database.query("update quake set felt = 7 where code = (select min(code) from quake)")

            try await waitUntil { try await FileState.position(path) == database.positionText() }
            try await database.expectSame(path)
            #expect(log.lines.filter { $0.contains("the table was altered") }.count == 1)
        }
    }

    @Test(
        "A stopped view gets the altered rows with its next pass, even without other changes",
        arguments: alterations)
    func stopped(_ alteration: String) async throws {
        try await withView { database, path in
            try await database.importSample(5)
            try await database.execute(Self.columns)
            _ = try await database.catchUp(SQLiteView(path))
            try await database.execute(alteration)
            let log = RecordedLog()
            _ = try await database.catchUp(SQLiteView(path), log: log)
            try await database.expectSame(path)
            #expect(log.lines.filter { $0.contains("the table was altered") }.count == 1)
        }
    }

    private static let movements = [
        "vacuum full quake", "cluster quake using quake_time", "reindex table quake",
        "grant select (felt) on quake to public", "alter table quake alter felt set statistics 100",
        "comment on column quake.felt is 'reports'",
    ]

    @Test("A statement that changes no value causes no snapshot")
    func moved() async throws {
        try await withView { database, path in
            try await database.importSample(50)
            let (view, log) = (try SQLiteView(path), RecordedLog())
            let follower = Follower(try database.options(), view: view, name: nil, logger: log.logger)
            let following = Task { try await follower.run() }
            defer { following.cancel() }
            try await waitUntil { try await FileState.position(path) == database.positionText() }
            for (number, command) in Self.movements.enumerated() {
                try await database.execute(command)
                // Each round sets another value, because setting the same value is not a change.
                try await database.query("update quake set felt = \(7000 + number) where code like 'q1%'")
                try await waitUntil { try await FileState.position(path) == database.positionText() }
                try await database.expectSame(path, "\(command)")
                #expect(log.lines.filter { $0.contains("fresh snapshot") }.isEmpty, "\(command)")
            }
        }
    }

    /// Types, each with two values that jsonb considers equal.
    private static let equalPairs: [(type: String, before: String, after: String?)] = [
        ("json", #"{"a":1}"#, #"{ "a": 1 }"#), ("numeric", "1.0", "1.00"), ("jsonb", "null", nil),
        ("float8", "-0", "0"), ("int[]", "{1}", "[0:0]={1}"), ("numeric[]", "{1.0}", "{1.00}"),
    ]

    @Test("A value that jsonb considers equal to the previous one is still a change, and reaches the view")
    func equalValues() async throws {
        try await withView { database, firstPath in
            try await database.importSample(3)
            try await forEachCase(of: Array(Self.equalPairs.enumerated())) { number, values in
                let (column, path) = ("value_\(number)", "\(firstPath)\(number)")
                try await database.execute(
                    """
                    alter table quake add column \(column) \(values.type);
                    update quake set \(column) = '\(values.before)'
                    """)
                let view = try SQLiteView(path)
                try await database.catchUp(view)
                let new = values.after.map { "'\($0)'" } ?? "null"

                try await database.execute(
                    "update quake set \(column) = \(new) where code = (select min(code) from quake)")
                try await database.execute("update quake set \(column) = \(new)")
                try await database.execute("update quake set \(column) = \(new)")
                try await database.catchUp(view)

                try await database.expectSame(path, "\(values.type)")
                let changes = try await database.query(
                    """
                    select array_agg(changes order by token)::text as text
                    from (select token, changes from history.transaction order by token desc limit 3) as last
                    """)
                #expect(try changes[0].decode("text") == "{3,1,2}", "\(values.type)")
            }
        }
    }

    @Test("Numbers and booleans of domains are numbers in the file, and decimal numbers are exact texts")
    func domains() async throws {
        try await withView { database, path in
            try await database.importSample(1)
            try await database.execute(
                """
                create domain grade as integer check (value > 0);
                create domain is_felt as boolean;
                create domain risk as numeric(20, 3);
                alter table quake add grade grade default 3, add is_felt is_felt default true,
                    add risk risk default 12345678901234567.125
                """)
            try await database.catchUp(SQLiteView(path))
            let types = try await DatabaseQueue(path: path).read { db in
                try Row.fetchOne(
                    db,
                    sql: """
                        select typeof(grade) || ' ' || typeof(is_felt) || ' ' || typeof(risk) || ' ' || risk as types
                        from quake where grade < 4 and is_felt
                        """)?["types"] as String?
            }
            #expect(types == "integer integer text 12345678901234567.125")
            try await database.expectSame(path)
        }
    }

    @Test("Rows of an inheriting table are not in the view, in the first snapshot or later")
    func inherited() async throws {
        try await withView { database, path in
            try await database.importSample(3)
            let view = try SQLiteView(path)
            for code in ["early", "late"] {
                try await database.execute(
                    """
                    create table if not exists copied () inherits (quake);
                    insert into copied select * from only quake limit 1;
                    update copied set code = '\(code)' where code in (select code from only quake)
                    """)
                try await database.catchUp(view)
                let count = try await DatabaseQueue(path: path).read {
                    try Int.fetchOne($0, sql: "select count(*) from quake")
                }
                #expect(count == 3)
                try await database.query("update only quake set felt = 1")
            }
        }
    }

    @Test("Copies of rows in an inheriting table do not stop an import, and are not deleted with the rows")
    func inheritedCopies() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures(["a", "b"].map { SmallFeed.feature($0) })
            try await database.execute(
                """
                create table copied () inherits (quake);
                insert into copied select * from only quake;
                update copied set code = 'q0c' where code = 'q0b'
                """)
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "3")])
            try await database.withConnection { connection in
                try await Deletion.delete(["q0a"], reason: nil, on: connection)
                await #expect(throws: Failure.self) {
                    try await Deletion.delete(["q0c"], reason: nil, on: connection)
                }
            }
            let rows = try await database.query(
                """
                select (select string_agg(code, ' ') from only quake) as own,
                       (select string_agg(code || magnitude, ' ' order by code) from copied) as copies,
                       (select string_agg(key || ' ' || operation, ', ' order by transaction, ordinal)
                        from history.change where operation <> 'insert') as changes
                """)[0]
            #expect(try rows.decode("own") == "q0b")
            #expect(try rows.decode("copies") == "q0a1.5 q0c1.5")
            #expect(try rows.decode("changes") == "q0a update, q0a delete")
        }
    }

    @Test("A view of an earlier version, whose file has no table shape, is rebuilt")
    func earlierVersion() async throws {
        try await withView { database, path in
            try await database.importSample(3)
            _ = try await database.catchUp(SQLiteView(path))
            try await DatabaseQueue(path: path).writeWithoutTransaction {
                try $0.execute(sql: "alter table position drop column shape; pragma user_version = 1")
            }
            let log = RecordedLog()
            _ = try await database.catchUp(SQLiteView(path), log: log)
            try await database.expectSame(path)
            #expect(
                log.lines.filter { $0.contains("fresh snapshot") || $0.contains("taking a snapshot") }.count
                    == 1)
        }
    }
}
