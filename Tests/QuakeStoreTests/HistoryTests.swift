import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite("History")
struct HistoryTests {
    let server = TestServer.shared

    @Test("Inserts, updates and deletes of any writer are recorded with what they overwrote")
    func recorded() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1, 'x'), ('b', 2, null)")
            try await database.run("update note set number = 3 where key = 'b'")
            try await database.run("delete from note where key = 'a'")

            #expect(
                try await database.changes() == [
                    "1.1 a insert -", "1.2 b insert -", "2.1 b update {\"number\": 2}",
                    "3.1 a delete {\"key\": \"a\", \"text\": \"x\", \"number\": 1}",
                ])
        }
    }

    @Test("An update that changes nothing leaves no change, no token and no notification")
    func nothingChanged() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1, 'x')")

            try await database.run("update note set number = 1")
            try await database.run("delete from note where key = 'nobody'")

            #expect(try await database.changes() == ["1.1 a insert -"])
            #expect(try await database.count("history.transaction") == 1)
            #expect(try await database.token() == 1)
        }
    }

    @Test("A new key is a delete and an insert")
    func keyChanged() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1, 'x')")

            try await database.run("update note set key = 'b'")

            #expect(
                try await database.changes().suffix(2).sorted() == [
                    "2.1 a delete {\"key\": \"a\", \"text\": \"x\", \"number\": 1}", "2.2 b insert -",
                ])
        }
    }

    @Test("A transaction is one token, whatever it rolls back in between")
    func savepoints() async throws {
        try await server.withNotes { database in
            try await database.run(
                """
                begin;
                savepoint one; insert into note values ('gone', 1, null); rollback to one;
                insert into note values ('a', 1, null);
                savepoint two; update note set number = 2; release two;
                savepoint three; delete from note; rollback to three;
                insert into note values ('b', 1, null);
                commit
                """)

            #expect(
                try await database.changes() == [
                    "1.1 a insert -", "1.2 a update {\"number\": 1}", "1.3 b insert -",
                ])
            #expect(try await database.count("history.transaction") == 1)
        }
    }

    @Test(
        "Author, context and reason come from the writer's settings; without one the application is the author"
    )
    func author() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1, null)")
            try await database.run(
                """
                begin;
                set local history.author = 'Inge';
                set local history.context = 'run 7';
                set local history.reason = 'superseded by b';
                delete from note;
                commit
                """)

            let rows = try await database.query(
                "select author, context, reason from history.changes(0, 'note') order by token")
            #expect(try rows.map { try $0.decode("author", as: String.self) } == ["quakes", "Inge"])
            #expect(try rows[1].decode("context") == "run 7")
            #expect(try rows[1].decode("reason") == "superseded by b")
            #expect(try rows[0].decodeIfPresent("reason", as: String.self) == nil)
        }
    }

    @Test("Tokens follow the order of commits, not of first changes")
    func commitOrder() async throws {
        try await server.withNotes { database in
            // early: begins and changes first |
            //                                 | late: changes and commits
            // early: commits                  |
            try await database.withConnection { early in
                try await early.execute(
                    script: "begin; insert into note values ('early', 1, null)", to: "begin")
                try await database.run("insert into note values ('late', 1, null)")
                try await early.execute(script: "commit", to: "commit")
            }

            #expect(try await database.changes() == ["1.1 late insert -", "2.1 early insert -"])
            let inOrder = try await database.query(
                "select every(committed_at >= previous) as ok from (select committed_at, lag(committed_at, 1, committed_at) over (order by token) as previous from history.transaction) as t"
            )
            #expect(try inOrder[0].decode("ok", as: Bool.self))
        }
    }

    /// early:  begins, changes: number 1 ─────────────────────────── commits: token 2
    /// late:                              changes: number 2, token 1
    /// reader:                                                 looks                  looks
    @Test("A reader by number loses what began earlier and was committed later; a reader by token has it")
    func numberOrToken() async throws {
        try await server.withNotes { database in
            var (number, byNumber) = (0, [String]())
            var (token, byToken) = (0, [String]())
            func look() async throws {
                for row in try await database.query(
                    """
                    select t.id, c.key from history.transaction t join history.change c on c.transaction = t.id
                    where t.id > \(number) order by t.id
                    """)
                {
                    number = try row.decode("id")
                    byNumber.append(try row.decode("key"))
                }
                for row in try await database.query(
                    "select token, key from history.changes(\(token), 'note')")
                {
                    token = try row.decode("token")
                    byToken.append(try row.decode("key"))
                }
            }
            try await database.withConnection { early in
                try await early.execute(
                    script: "begin; insert into note values ('early', 1, null)", to: "begin")
                try await database.run("insert into note values ('late', 1, null)")
                try await look()
                try await early.execute(script: "commit", to: "commit")
                try await look()
            }

            #expect(byNumber == ["late"])
            #expect(byToken == ["late", "early"])
        }
    }

    @Test("A writer's session settings do not blur what is kept")
    func hostileSettings() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1234567.1234567, 'x')")
            try await database.run(
                """
                set extra_float_digits = -12; set datestyle = 'German'; set timezone = 'Asia/Kathmandu';
                create schema evil; create table evil.change (x int); set search_path = evil, public;
                update note set number = 2
                """)

            #expect(try await database.changes().last == "2.1 a update {\"number\": 1234567.1234567}")
        }
    }

    @Test(
        "A forged history setting changes nothing for others",
        arguments: ["nonsense", "1 1 (0,1) 0", "999999999999999999999 1 (0,1) 1", "1 XID (0,1) 0"])
    func forgedSetting(forged: String) async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('victim', 1, null)")
            let setting =
                "set_config('history.transaction', replace('\(forged)', 'XID', pg_current_xact_id()::text), true)"

            try await database.run(
                "begin; select \(setting); insert into note values ('forger', 1, null); select \(setting); commit"
            )

            #expect(try await database.changes() == ["1.1 victim insert -", "2.1 forger insert -"])
        }
    }

    @Test("TRUNCATE of a tracked table is refused with a hint, and what can't be tracked is refused")
    func refusals() async throws {
        try await server.withNotes { database in
            await #expect(throws: PostgresError.self) { try await database.run("truncate note") }
            try await database.run("create table part (key text primary key) partition by hash (key)")
            for table in ["part", "keyless", "pg_class"] {
                try await database.run("create table if not exists keyless (key text)")
                await #expect(throws: PostgresError.self) {
                    try await database.run("select history.track('\(table)', 'key')")
                }
            }
        }
    }

    /// reader: a statement begins ──── waits for lock 7 ──────── reads ─ ends
    /// writer:            holds lock 7, commits a change, lets go
    @Test("What one statement reads of the history is one snapshot, whatever is committed while it runs")
    func snapshot() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1, 'x')")
            try await database.withConnection { writer in
                try await writer.query("select pg_advisory_lock(7)", to: "block the reader")
                let reading = Task {
                    try await database.query(
                        """
                        select pg_advisory_xact_lock(7),
                               (select token from history.position()) as token,
                               (select count(*) from history.changed_keys(0, 'note')) as keys,
                               (select count(*) from history.changes(0, 'note')) as changes
                        """)[0]
                }
                try await waitUntil { try await database.blockedSessions() == 1 }
                try await database.run("insert into note values ('b', 2, 'y')")
                try await writer.query("select pg_advisory_unlock(7)", to: "let it read")

                let row = try await reading.value
                for name in ["token", "keys", "changes"] { #expect(try row.decode(name) == 1) }
            }
        }
    }

    @Test("A position holds until its store, its transaction or its time is another")
    func check() async throws {
        try await server.withNotes { database in
            try await database.run("insert into note values ('a', 1, null)")
            func check(_ position: String) async throws -> String {
                try await database.query(
                    "select history.check(\(unescaped: position)) as answer from history.position() as p")[0]
                    .decode("answer")
            }

            #expect(try await check("p.store, p.token, p.committed_at") == "ok")
            #expect(try await check("gen_random_uuid(), p.token, p.committed_at") == "diverged")
            #expect(try await check("p.store, p.token + 1, p.committed_at") == "diverged")
            #expect(try await check("p.store, p.token, p.committed_at + interval '1 us'") == "diverged")
        }
    }

    @Test("Each commit notifies once, with its token")
    func notification() async throws {
        try await server.withNotes { database in
            let listener = Process()
            let output = Pipe()
            listener.executableURL = URL(filePath: "/usr/bin/env")
            listener.arguments = ["psql", database.url, "-qAt", "-c", "listen quake_changes", "-f", "-"]
            let input = Pipe()
            listener.standardInput = input
            listener.standardOutput = output
            try listener.run()
            try await waitUntil {
                try await !database.query(
                    "select from pg_stat_activity where datname = current_database() and query = 'listen quake_changes'"
                ).isEmpty
            }
            try await database.run(
                "begin; insert into note values ('a', 1, null); update note set number = 2; commit")

            input.fileHandleForWriting.write(Data("select 'end';\n".utf8))
            try input.fileHandleForWriting.close()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)

            #expect(text.components(separatedBy: "Asynchronous notification").count == 2)
            #expect(text.contains("with payload \"1\""))
        }
    }
}

extension TestServer {
    /// A database with a second tracked table, which has nothing to do with earthquakes.
    fileprivate func withNotes(_ body: (TestDatabase) async throws -> Void) async throws {
        try await withDatabase { database in
            try await database.run(
                "create table note (key text primary key, number double precision, text text)")
            try await database.run("select history.track('note', 'key')")
            try await body(database)
        }
    }
}

extension TestDatabase {
    fileprivate func run(_ script: String) async throws {
        try await withConnection { try await $0.execute(script: script, to: "run a test's script") }
    }

    fileprivate func token() async throws -> Int {
        try await query("select history.current_token() as token")[0].decode("token")
    }

    /// Such as `2.1 b update {"number": 2}`: token, ordinal, key, operation, before.
    fileprivate func changes() async throws -> [String] {
        try await query("select * from history.changes(0, 'note')").map { row in
            let place = try "\(row.decode("token", as: Int.self)).\(row.decode("ordinal", as: Int.self))"
            let before = try row.decodeIfPresent("before", as: String.self) ?? "-"
            return try
                "\(place) \(row.decode("key", as: String.self)) \(row.decode("operation", as: String.self)) \(before)"
        }
    }
}
