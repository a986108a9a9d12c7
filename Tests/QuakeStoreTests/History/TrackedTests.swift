import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

/// Covers which tables are tracked, and who may track them.
@Suite("Tracked tables")
struct TrackedTests {
    let server = TestServer.shared

    @Test("Forged history triggers on a login's own table add nothing to the changes that readers get")
    func forgedTrigger() async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).importFeatures([SmallFeed.feature("a")])
            let forger = roles.loginName(.report)
            try await roles.database.execute("create schema forged authorization \(forger)")
            try await roles.login(.report).execute(
                """
                create table forged.quake (code text primary key, title text);
                insert into forged.quake values ('a', 'forged');
                create function forged.record() returns trigger language plpgsql as 'begin return null; end';
                create trigger history_insert after insert on forged.quake
                for each statement execute function forged.record('quake', 'code', 'quake_changes');
                create trigger history_key before update of code on forged.quake
                for each statement when (false) execute function forged.record('quake', 'code', 'quake_changes')
                """)
            // The real triggers are created again, so the forged ones are older.
            try await roles.login(.owner).execute(
                """
                drop trigger history_begin on quake; drop trigger history_insert on quake;
                drop trigger history_update on quake; drop trigger history_delete on quake;
                drop trigger history_truncate on quake; drop trigger history_key on quake;
                select history.track('quake', 'code', 'quake_changes')
                """)

            let rows = try await roles.login(.reader).query(
                "select \"row\" ->> 'title' as title, \"row\" ? 'magnitude' as is_whole from history.changes(0, 'quake')"
            )

            #expect(try rows.map { try $0.decodeIfPresent("title", as: String.self) } != ["forged"])
            #expect(try rows.map { try $0.decode("is_whole", as: Bool.self) } == [true])
        }
    }

    @Test(
        "A role can't attach the history's functions to its own table",
        arguments: [
            """
            create trigger history_insert after insert on mine.note referencing new table as new_rows
            for each statement execute function history.record('quake', 'quake_changes')
            """,
            "create trigger commit after insert on mine.note for each row execute function history.commit()",
        ])
    func attached(_ statement: String) async throws {
        try await server.withRole { role, database in
            try await database.execute(
                """
                create schema mine authorization \(role); grant usage on schema history to \(role);
                set role \(role); create table mine.note (key text primary key)
                """)
            await #expect {
                try await database.execute("set role \(role); \(statement)")
            } throws: { ($0 as? PostgresError)?.sqlState == "42501" }
        }
    }

    @Test(
        "A table of another owner can't be tracked, and a tracked table that gets another owner is no longer tracked"
    )
    func owner() async throws {
        try await server.withRole { role, database in
            try await database.execute(
                "create table note (key text primary key); alter table note owner to \(role)")
            await #expect {
                try await database.execute("select history.track('note', 'key', 'note_changes')")
            } throws: { ($0 as? PostgresError)?.message.contains("does not belong to") == true }

            try await database.execute(
                """
                alter table note owner to current_user; select history.track('note', 'key', 'note_changes');
                insert into note values ('a')
                """)
            #expect(try await database.changes() == ["1.1 a insert -"])
            try await database.execute("alter table note owner to \(role)")

            // A refused write is better than an unrecorded one.
            await #expect {
                try await database.execute("set role \(role); insert into note values ('b')")
            } throws: { ($0 as? PostgresError)?.message.contains("but is not tracked") == true }
            await #expect {
                try await database.changes()
            } throws: { ($0 as? PostgresError)?.message == "note is not tracked" }
            await #expect {
                try await database.query("select history.changed_keys(0, 'public.note')")
            } throws: { ($0 as? PostgresError)?.message == "public.note is not tracked" }
        }
    }

    /// The owner of a type may create a cast to json, which would run with the rights of the history's owner.
    @Test(
        "A table with another owner's type can't be tracked, however deep in a column the type is",
        arguments: ["mood", "mood[]", "tempers", "pair", "span", "span_multirange", "numbers"])
    func typeOwner(_ type: String) async throws {
        try await server.withRole { role, database in
            try await database.execute(
                """
                create type mood as enum ('calm'); alter type mood owner to \(role);
                create domain tempers as mood[]; create type pair as (mood mood); create type span as range (subtype = mood);
                create domain numbers as int[]; alter domain numbers owner to \(role);
                create table note (key text primary key, value \(type))
                """)
            await #expect {
                try await database.execute("select history.track('note', 'key', 'note_changes')")
            } throws: {
                ($0 as? PostgresError)?.message.contains(
                    "its type public.\(type == "numbers" ? type : "mood") does not belong to") == true
            }
            try await database.execute(
                "alter type mood owner to current_user; alter domain numbers owner to current_user; select history.track('note', 'key', 'any')"
            )
        }
    }

    @Test("A table in a schema that the history's owner may not use can't be tracked")
    func schema() async throws {
        try await server.withRoles { roles in
            let owner = roles.roles.name(.owner)
            try await roles.database.execute(
                """
                create schema closed; create table closed.note (key text primary key);
                alter table closed.note owner to \(owner)
                """)
            await #expect {
                try await roles.database.execute("select history.track('closed.note', 'key', 'any')")
            } throws: {
                ($0 as? PostgresError)?.message
                    == "closed.note can't be tracked: \(owner) may not use its schema"
            }
        }
    }

    @Test("A table is tracked once")
    func twice() async throws {
        try await server.withNotes { database in
            await #expect {
                try await database.execute("select history.track('note', 'key', 'other')")
            } throws: { ($0 as? PostgresError)?.message == "public.note is already tracked" }
        }
    }

    @Test(
        "A row that jsonb can't represent is refused, alone, among others, or when its table is tracked",
        arguments: ["json", "json[]", "payload"])
    func unrepresentable(_ type: String) async throws {
        try await server.withDatabase { database in
            let bad = type == "json[]" ? #"array['{"x": "\u0000"}']::json[]"# : #"'{"x": "\u0000"}'"#
            try await database.execute(
                "create domain payload as json; create table note (key text primary key, sent \(type))")
            try await database.execute("insert into note values ('a', \(bad))")
            let track = "select history.track('note', 'key', 'note_changes')"
            for statement in [
                track, "insert into note values ('b', \(bad))",
                "insert into note values ('b', \(bad)), ('c', null)",
            ] {
                await #expect {
                    try await database.execute(statement)
                } throws: { ($0 as? PostgresError)?.sqlState == "22P05" }
                if statement == track { try await database.execute("delete from note; \(track)") }
            }
            try await database.execute("insert into note values ('d', null), ('e', null)")
            #expect(try await database.changes() == ["1.1 d insert -", "1.2 e insert -"])
        }
    }

    @Test("Keys are compared by their bytes, even if the column ignores case")
    func ignoredCase() async throws {
        try await server.withDatabase(icuLocale: "und") { database in
            try await database.execute(
                """
                create collation by_letters (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
                create table note (key text collate by_letters primary key, number int);
                select history.track('note', 'key', 'note_changes')
                """)
            for statement in [
                "insert into note values ('a', 1), ('b', 2)", "update note set key = 'A' where key = 'a'",
                "update note set number = 3", "delete from note where key = 'b'",
                "begin; insert into note values ('c', 4); update note set key = 'C' where key = 'c'; commit",
            ] {
                try await database.execute(statement)
            }
            #expect(
                try await database.changes() == [
                    "1.1 a insert -", "1.2 b insert -", #"2.1 a delete {"key": "a", "number": 1}"#,
                    "2.2 A insert -",
                    #"3.1 b update {"number": 2}"#, #"3.2 A update {"number": 1}"#,
                    #"4.1 b delete {"key": "b", "number": 3}"#, "5.1 c insert -",
                    #"5.2 c delete {"key": "c", "number": 4}"#, "5.3 C insert -",
                ])
            let rows = try await database.query(
                "select key, \"row\" ->> 'key' as found from history.changes(0, 'note') where \"row\" is not null"
            )
            #expect(try rows.map { try $0.decode("key", as: String.self) } == ["A", "C"])
            #expect(try rows.map { try $0.decode("found", as: String.self) } == ["A", "C"])
        }
    }

    @Test("Two tables never share a name in the history, even after one was renamed")
    func sameName() async throws {
        try await server.withNotes { database in
            try await database.execute(
                "insert into note values ('a', 1, null); alter table note rename to remark; update remark set number = 2"
            )
            #expect(try await database.changes() == ["1.1 a insert -", #"1.2 a update {"number": 1}"#])
            try await database.execute("create table note (key text primary key)")

            await #expect {
                try await database.execute("select history.track('note', 'key', 'any')")
            } throws: { ($0 as? PostgresError)?.message.contains("another table is tracked as note") == true }
        }
    }

    @Test("The key of a tracked table may be renamed, but not dropped")
    func renamedKey() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, null), ('b', 2, null)")
            try await database.execute("alter table note rename column key to name")

            try await database.execute("insert into note values ('c', 3, null)")
            try await database.execute("update note set number = 4 where name = 'a'")
            try await database.execute("update note set name = 'd' where name = 'c'")
            try await database.execute("delete from note where name = 'b'")

            #expect(
                try await database.changes().dropFirst(2) == [
                    "2.1 c insert -", #"3.1 a update {"number": 1}"#,
                    #"4.1 c delete {"name": "c", "text": null, "number": 3}"#, "4.2 d insert -",
                    #"5.1 b delete {"name": "b", "text": null, "number": 2}"#,
                ])
            let rows = try await database.query(
                "select \"row\" ->> 'name' as name from history.changes(2, 'note') where \"row\" is not null")
            #expect(try rows.map { try $0.decode("name", as: String.self) } == ["a", "d"])
            await #expect {
                try await database.execute("alter table note drop column name")
            } throws: { ($0 as? PostgresError)?.sqlState == "2BP01" }
        }
    }

    @Test("The name of a tracked table may contain backslashes, quotes, dots and umlauts")
    func oddNames() async throws {
        try await server.withDatabase { database in
            for name in [#"back\000slash"#, "Ümläut", "quo'te", #"dou"ble"#, "do.t"] {
                let table = "\"\(name.replacing("\"", with: "\"\""))\""
                try await database.execute(
                    """
                    create table \(table) ("the \\000 key" text primary key);
                    select history.track('\(table.replacing("'", with: "''"))', 'the \\000 key', 'any');
                    insert into \(table) values ('a')
                    """)
                let token = try await database.token()
                #expect(try await database.changes(of: name) == ["\(token).1 a insert -"], "\(name)")
            }
        }
    }
}

extension TestServer {
    /// Runs `body` with a database and a role that owns nothing.
    fileprivate func withRole(_ body: (_ role: String, _ database: TestDatabase) async throws -> Void)
        async throws
    {
        let role = "r\(UUID().uuidString.lowercased().prefix(8))"
        try await withDatabase { database in
            try await database.execute("create role \(role)")
            do {
                try await body(role, database)
            } catch {
                try await database.execute("drop owned by \(role) cascade; drop role \(role)")
                throw error
            }
            try await database.execute("drop owned by \(role) cascade; drop role \(role)")
        }
    }
}
