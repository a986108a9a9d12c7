import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("History")
struct HistoryTests {
    let server = TestServer.shared

    @Test("The history records inserts, updates and deletes by any writer, with the values they overwrote")
    func recorded() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, 'x'), ('b', 2, null)")
            try await database.execute("update note set number = 3 where key = 'b'")
            try await database.execute("delete from note where key = 'a'")

            #expect(
                try await database.changes() == [
                    "1.1 a insert -", "1.2 b insert -", "2.1 b update {\"number\": 2}",
                    "3.1 a delete {\"key\": \"a\", \"text\": \"x\", \"number\": 1}",
                ])
        }
    }

    @Test("An update that changes nothing leaves no change and no token")
    func nothingChanged() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, 'x')")

            try await database.execute("update note set number = 1")
            try await database.execute("delete from note where key = 'nobody'")

            #expect(try await database.changes() == ["1.1 a insert -"])
            #expect(try await database.count("history.transaction") == 1)
            #expect(try await database.token() == 1)
        }
    }

    @Test("A change of the key is recorded as a delete and an insert")
    func keyChanged() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, 'x')")

            try await database.execute("update note set key = 'b'")

            #expect(
                try await database.changes().suffix(2).sorted() == [
                    "2.1 a delete {\"key\": \"a\", \"text\": \"x\", \"number\": 1}", "2.2 b insert -",
                ])
        }
    }

    @Test("A transaction gets one token, no matter what it rolls back")
    func savepoints() async throws {
        try await server.withNotes { database in
            try await database.execute(
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
        "Author, context and reason come from the writer's settings; the author defaults to the application's name"
    )
    func author() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, null)")
            try await database.execute(
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

    @Test("Tokens follow the order of commits, not the order of first changes")
    func commitOrder() async throws {
        try await server.withNotes { database in
            // early: begins and changes first |
            //                                 | late: changes and commits
            // early: commits                  |
            try await database.withConnection { early in
                try await early.execute(
                    script: "begin; insert into note values ('early', 1, null)", to: "begin")
                try await database.execute("insert into note values ('late', 1, null)")
                try await early.execute(script: "commit", to: "commit")
            }

            #expect(try await database.changes() == ["1.1 late insert -", "2.1 early insert -"])
            let inOrder = try await database.query(
                "select every(committed_at >= previous) as ok from (select committed_at, lag(committed_at, 1, committed_at) over (order by token) as previous from history.transaction) as t"
            )
            #expect(try inOrder[0].decode("ok", as: Bool.self))
        }
    }

    /// early:  begins, changes: id 1 ─────────────────────────────── commits: token 2
    /// late:                              changes: id 2, token 1
    /// reader:                                                 reads                  reads
    @Test(
        "Reading by id misses a transaction that began early and was committed late; reading by token finds it"
    )
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
                try await database.execute("insert into note values ('late', 1, null)")
                try await look()
                try await early.execute(script: "commit", to: "commit")
                try await look()
            }

            #expect(byNumber == ["late"])
            #expect(byToken == ["late", "early"])
        }
    }

    @Test("A writer's session settings do not change the recorded values")
    func hostileSettings() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1234567.1234567, 'x')")
            try await database.execute(
                """
                set extra_float_digits = -12; set datestyle = 'German'; set timezone = 'Asia/Kathmandu';
                create schema evil; create table evil.change (x int); set search_path = evil, public;
                update note set number = 2
                """)

            #expect(try await database.changes().last == "2.1 a update {\"number\": 1234567.1234567}")
        }
    }

    @Test("TRUNCATE of a tracked table is refused, and so is tracking an unsuitable table")
    func refusals() async throws {
        try await server.withNotes { database in
            await #expect(throws: PostgresError.self) { try await database.execute("truncate note") }
            try await database.execute("create table part (key text primary key) partition by hash (key)")
            for table in ["part", "keyless", "pg_class"] {
                try await database.execute("create table if not exists keyless (key text)")
                await #expect(throws: PostgresError.self) {
                    try await database.execute("select history.track('\(table)', 'key', 'any')")
                }
            }
        }
    }

    @Test(
        "A channel that can't be notified is refused when a table is tracked, not at the first write",
        arguments: ["null", "''", "repeat('x', 64)"])
    func refusedChannel(_ channel: String) async throws {
        try await server.withNotes { database in
            try await database.execute("create table memo (key text primary key)")
            await #expect {
                try await database.execute("select history.track('memo', 'key', \(channel))")
            } throws: { ($0 as? PostgresError)?.message.contains("1 to 63 bytes") == true }
        }
    }

    @Test("A table may have columns of any name")
    func columnNames() async throws {
        try await server.withNotes { database in
            try await database.execute(
                """
                create table "odd 'one" (key text primary key, o int, n int, q int, old_rows int, new_rows int);
                select history.track('"odd ''one"', 'key', 'odd "channel''s"');
                insert into "odd 'one" values ('a', 1, 2, 3, 4, 5);
                update "odd 'one" set o = 6;
                delete from "odd 'one" where key = 'nobody'
                """)
            let now = try await database.query("select * from history.changes(0, 'odd ''one')")
            #expect(try now[1].decode("before") == #"{"o": 1}"#)
            #expect(
                try now[1].decode("row")
                    == #"{"n": 2, "o": 6, "q": 3, "key": "a", "new_rows": 5, "old_rows": 4}"#)

            try await database.execute(#"delete from "odd 'one""#)

            let gone = try await database.query("select before from history.changes(1, 'odd ''one')")
            #expect(try gone[0].decode("before", as: String.self) == now[1].decode("row"))
        }
    }

    /// one:   changes both tables |                         | commits
    /// other:                     | changes both, other rows |        | commits
    @Test(
        "SERIALIZABLE writers of several tables don't make each other fail, even if scanning the history is cheap",
        arguments: [0, 3])
    func serializable(_ transactions: Int) async throws {
        try await server.withNotes { database in
            try await database.addMemo()
            for number in 0..<transactions {
                try await database.execute("insert into note values ('\(number)', 1, null)")
            }
            try await database.query("vacuum analyze history.transaction")
            func begin(_ key: String) -> String {
                """
                begin isolation level serializable;
                insert into note values ('\(key)', 1, null); insert into memo values ('\(key)', 1);
                update note set number = 2 where key = '\(key)'
                """
            }
            try await database.withConnection { one in
                try await one.execute(script: begin("one"), to: "begin")
                try await database.withConnection { other in
                    try await other.execute(script: begin("other"), to: "begin")
                    try await one.execute(script: "commit", to: "commit")
                    try await other.execute(script: "commit", to: "commit")
                }
            }
            #expect(try await database.token() == transactions + 2)
        }
    }

    /// reader: a statement begins ──── waits for lock 7 ──────────── reads ─ ends
    /// writer:            holds lock 7, commits a change, releases lock 7
    @Test("A statement sees one snapshot of the history, even if changes are committed while it runs")
    func snapshot() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, 'x')")
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
                try await database.execute("insert into note values ('b', 2, 'y')")
                try await writer.query("select pg_advisory_unlock(7)", to: "let it read")

                let row = try await reading.value
                for name in ["token", "keys", "changes"] { #expect(try row.decode(name) == 1) }
            }
        }
    }

    @Test("A position is valid only with the same store, token, commit time and nonce")
    func check() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, null)")
            func check(_ position: String) async throws -> String {
                try await database.query(
                    "select history.check(\(unescaped: position)) as answer from history.position() as p")[0]
                    .decode("answer")
            }

            #expect(try await check("p.store, p.token, p.committed_at, p.nonce") == "ok")
            #expect(try await check("gen_random_uuid(), p.token, p.committed_at, p.nonce") == "diverged")
            #expect(try await check("p.store, p.token + 1, p.committed_at, p.nonce") == "diverged")
            #expect(
                try await check("p.store, p.token, p.committed_at + interval '1 us', p.nonce") == "diverged")
            #expect(try await check("p.store, p.token, p.committed_at, 'another'") == "diverged")
        }
    }

    @Test("A commit notifies the changed table's channel once, with the commit's token")
    func notification() async throws {
        try await server.withNotes { database in
            try await database.addMemo()
            let heard = try await database.notifications {
                try await database.execute(
                    "begin; insert into note values ('a', 1, null); update note set number = 2; commit")
                try await database.execute("insert into memo values ('a', 1)")
                try await database.importFeatures([SmallFeed.feature("a")])
            }

            #expect(heard == ["note_changes 1", "memo_changes 2", "quake_changes 3"])
        }
    }

    @Test("A transaction that changes several tables notifies each of their channels once")
    func severalChannels() async throws {
        try await server.withNotes { database in
            try await database.addMemo()
            try await database.execute("create table page (key text primary key)")
            try await database.execute("select history.track('page', 'key', 'note_changes')")
            let heard = try await database.notifications {
                try await database.execute(
                    """
                    begin;
                    insert into note values ('a', 1, null); insert into memo values ('a', 1);
                    update note set number = 2; insert into page values ('a'); update memo set number = 2;
                    commit
                    """)
            }

            #expect(heard.sorted() == ["memo_changes 1", "note_changes 1"])
            #expect(try await database.changes() == ["1.1 a insert -", "1.3 a update {\"number\": 1}"])
        }
    }

    @Test("A table's channel is not notified if all changes of the table were rolled back or changed nothing")
    func unchangedTables() async throws {
        try await server.withNotes { database in
            try await database.addMemo()
            try await database.execute("insert into memo values ('a', 1)")
            let heard = try await database.notifications {
                try await database.execute(
                    """
                    begin;
                    update memo set number = 1;
                    insert into note values ('a', 1, null);
                    savepoint one; insert into memo values ('b', 1); rollback to one;
                    update memo set number = number;
                    commit
                    """)
            }

            #expect(heard == ["note_changes 2"])
        }
    }

    @Test("A transaction's list of channels is cleared when it commits")
    func channelsAreCleared() async throws {
        try await server.withNotes { database in
            try await database.execute("insert into note values ('a', 1, null)")
            #expect(
                try await database.query("select from history.transaction where channels is not null").isEmpty
            )
        }
    }

    /// In Turkish, the lower-case letter of I has no dot.
    @Test("Operations and hosts have the usual names even in a Turkish locale")
    func turkish() async throws {
        try await server.withDatabase(icuLocale: "tr") { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query("update quake set url = 'https://INGV.example/a', magnitude = 9")
            try await database.query("delete from quake")
            let changes = try await database.query(
                "select operation from history.change order by transaction")
            #expect(try changes.map { try $0.decode("operation") } == ["insert", "update", "delete"])
            let host = try await database.query(
                "select import.service_of('https://INGV.example/a') as host")[0]
            #expect(try host.decode("host") == "ingv.example")
        }
    }

    @Test("The schema history mentions neither earthquakes nor feeds")
    func generic() async throws {
        let text = try #require(Migration.all.first { $0.name == "history" }).sql.lowercased()
        for word in ["quake", "seism", "magnitude", "feed"] { #expect(!text.contains(word), "\(word)") }
        try await server.withDatabase { database in
            let named = try await database.query(
                """
                select what from (
                    select prosrc as what from pg_proc where pronamespace = 'history'::regnamespace
                    union all
                    select d.description from pg_description d join pg_class c on c.oid = d.objoid
                    where c.relnamespace = 'history'::regnamespace
                    union all
                    select d.description from pg_description d join pg_proc p on p.oid = d.objoid
                    where p.pronamespace = 'history'::regnamespace) as texts
                where what ~* 'quake'
                """)
            #expect(try named.map { try $0.decode("what", as: String.self) } == [])
        }
    }
}
