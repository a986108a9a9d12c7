import PostgreSQL
import TestSupport
import Testing

/// Covers statements that a user's triggers, foreign keys and functions run within other statements.
@Suite("Nested statements")
struct NestedStatementTests {
    let server = TestServer.shared

    @Test(
        "The history records changes in the order in which they happened, despite a user's triggers",
        arguments: Case.all)
    func order(_ example: Case) async throws {
        try await server.withNotes { database in
            try await database.addMemo()
            try await database.execute(example.before + "\n;" + Case.functions)
            let token = try await database.token()
            try await database.execute("create trigger \(example.trigger)")

            try await database.execute(example.statements)

            let changes = try await database.query(
                """
                select concat_ws(' ', t.token - \(token), c.entity, c.key, c.operation, c.before) as text
                from history.transaction t join history.change c on c.transaction = t.id
                where t.token > \(token) order by t.token, c.ordinal
                """)
            #expect(try changes.map { try $0.decode("text", as: String.self) } == example.changes)
            try await database.query("insert into past select * from present")
            #expect(try await database.contradictions() == [])
        }
    }

    /// The oracle is a copy of the tables after each transaction.
    @Test(
        "After random nested triggers, undoing the history gives every earlier state of the tables",
        arguments: rounds(3, of: 12))
    func random(_ number: Int) async throws {
        let seed = number > 1 ? UInt64(number) : printedSeed()
        try await server.withDatabase { database in
            try await database.runNestedStatements(seed: seed, transactions: 60)

            #expect(try await database.contradictions() == [], "SEED=\(seed)")
            #expect(try await database.count("history.change") > 40)
        }
    }

    /// writer: changes, SET CONSTRAINTS ALL IMMEDIATE draws the token, changes                          commits
    /// other:                                                          changes, waits for the lock ─────────── commits
    @Test(
        "A transaction has one token for all its changes, even if the token is drawn early and the setting is lost",
        arguments: [
            "select 1", "set local history.transaction = ''", "set local history.transaction = '1 (0,1) 0'",
        ])
    func immediateConstraints(_ forgery: String) async throws {
        try await server.withNotes { database in
            try await database.addMemo()
            let heard = try await database.notifications {
                try await database.withConnection { writer in
                    try await writer.execute(
                        script: """
                            begin; insert into note values ('a', 1, null);
                            savepoint s; update note set number = 2; set constraints all immediate; rollback to s;
                            set constraints all immediate; set constraints all immediate; \(forgery);
                            savepoint s; update note set number = 2; rollback to s; \(forgery);
                            update note set number = 3; set constraints history.commit deferred; \(forgery);
                            insert into memo values ('m', 1)
                            """, to: "write")
                    try await withThrowingTaskGroup { group in
                        group.addTask { try await database.execute("insert into note values ('b', 1, null)") }
                        try await waitUntil {
                            try await database.locks(
                                "relation = 'history.commit_lock'::regclass and not granted"
                            ).count == 1
                        }
                        try await writer.execute(
                            script: "update note set number = 4 where key = 'a'; commit", to: "commit")
                        try await group.waitForAll()
                    }
                }
            }
            let changes = try await database.query(
                """
                select concat_ws(' ', dense_rank() over (order by t.token), c.ordinal, c.key, c.operation, c.before) as text
                from history.transaction t join history.change c on c.transaction = t.id order by t.token, c.ordinal
                """)
            #expect(
                try changes.map { try $0.decode("text", as: String.self) } == [
                    "1 1 a insert", #"1 2 a update {"number": 1}"#, "1 3 m insert",
                    #"1 4 a update {"number": 3}"#,
                    "2 1 b insert",
                ])
            let tokens = try await database.query(
                "select token, changes from history.transaction order by token")
            #expect(try tokens.map { try $0.decode("changes", as: Int.self) } == [4, 1])
            let (first, second) = (
                try tokens[0].decode("token", as: Int.self), try tokens[1].decode("token", as: Int.self)
            )
            #expect(
                heard == ["note_changes \(first)", "memo_changes \(first)", "note_changes \(second)"])
        }
    }

    @Test(
        "All changes that a chain of deferred triggers makes at the commit have the same token",
        arguments: 1...4)
    func hops(_ hops: Int) async throws {
        try await server.withNotes { database in
            try await database.execute(
                """
                create table hop (number int);
                create function go_on() returns trigger language plpgsql as $$
                begin
                    if new.number < \(hops) then
                        insert into hop values (new.number + 1);
                    else
                        update note set number = 2 where key = 'a';
                        insert into note values ('b', 2, null);
                    end if;
                    return null;
                end $$;
                create constraint trigger hop after insert on hop deferrable initially deferred
                for each row execute function go_on()
                """)
            try await database.execute(
                "begin; insert into note values ('a', 1, null); insert into hop values (1); commit")

            #expect(
                try await database.changes() == [
                    "1.1 a insert -", #"1.2 a update {"number": 1}"#, "1.3 b insert -",
                ])
        }
    }

    @Test("Changes that deferred triggers make at the commit have the transaction's token")
    func deferred() async throws {
        try await server.withNotes { database in
            try await database.execute(
                """
                create function add() returns trigger language plpgsql as $$
                begin update note set number = number + 1 where key = new.key and number < 5; return null; end $$;
                create constraint trigger later after insert or update on note deferrable initially deferred
                for each row execute function add()
                """)
            try await database.execute(
                "begin; insert into note values ('a', 1, null); insert into note values ('b', 4, null); commit"
            )

            let tokens = try await database.query("select token, changes from history.transaction")
            #expect(try tokens.map { try $0.decode("changes", as: Int.self) } == [7])
        }
    }

    @Test("SERIALIZABLE writers with triggers lose no change, if each retries after a serialization failure")
    func serializable() async throws {
        try await server.withNotes { database in
            try await database.execute(
                """
                create function add() returns trigger language plpgsql as $$
                begin update note set number = number + 1 where key = new.key; return null; end $$;
                create trigger later after insert on note for each row execute function add()
                """)
            try await withThrowingTaskGroup { group in
                for writer in 0..<4 {
                    group.addTask {
                        try await database.withConnection { connection in
                            var number = 0
                            while number < 20 {
                                do {
                                    _ = try await connection.transaction(.serializable, to: "write") {
                                        try await connection.execute(
                                            "insert into note values (\("\(writer)-\(number)"), 1, null)",
                                            to: "insert")
                                    }
                                    number += 1
                                } catch let error as PostgresError where error.isRetryable {
                                    continue
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let changes = try await database.changes()
            #expect(changes.count == 160)
            #expect(changes.filter { $0.contains("insert") }.allSatisfy { $0.contains(".1 ") })
        }
    }
}

extension NestedStatementTests {
    /// A trigger, statements, and the changes that the history must record.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var before = ""
        let trigger: String
        let statements: String
        let changes: [String]

        var testDescription: String { name }

        static let functions = """
            create function touch() returns trigger language plpgsql as $$
            begin update note set number = number + 1 where key = new.key; return null; end $$;
            create function put_back() returns trigger language plpgsql as $$
            begin insert into note values (old.*); return null; end $$;
            create function remove() returns trigger language plpgsql as $$
            begin delete from note where key = new.key; return null; end $$;
            create function make_room() returns trigger language plpgsql as $$
            begin delete from note where key = new.key; return new; end $$;
            create function remark() returns trigger language plpgsql as $$
            begin insert into memo values ('about ' || coalesce(new.key, 'all'), 1); return new; end $$;
            create function try_to_remark() returns trigger language plpgsql as $$
            begin
                update note set number = 99;
                insert into memo values ('about ' || new.key, 1);
                raise exception 'too late';
            exception when raise_exception then return null;
            end $$;
            create view present as
            select p.token, (select coalesce(jsonb_object_agg(key, to_jsonb(note.*)), '{}') from note) as notes,
                   (select coalesce(jsonb_object_agg(key, to_jsonb(memo.*)), '{}') from memo) as memos
            from history.position() as p;
            create table past (token bigint primary key, notes jsonb, memos jsonb)
            """

        static let all = [
            Case(
                name: "a row is changed after it was inserted",
                trigger: "t after insert on note for each row execute function touch()",
                statements: "insert into note values ('a', 1, null), ('b', 2, null)",
                changes: [
                    "1 note a insert", "1 note b insert", #"1 note a update {"number": 1}"#,
                    #"1 note b update {"number": 2}"#,
                ]),
            Case(
                name: "a row is changed again and again after it was changed",
                before: "insert into note values ('a', 1, null)",
                trigger:
                    "t after update on note for each row when (new.number between 11 and 13) execute function touch()",
                statements: "update note set number = 11",
                changes: [
                    #"1 note a update {"number": 1}"#, #"1 note a update {"number": 11}"#,
                    #"1 note a update {"number": 12}"#, #"1 note a update {"number": 13}"#,
                ]),
            Case(
                name: "a row is inserted again after it was deleted",
                before: "insert into note values ('a', 1, null), ('b', 2, null)",
                trigger:
                    "t after delete on note for each row when (old.key = 'a') execute function put_back()",
                statements: "delete from note",
                changes: [
                    #"1 note a delete {"key": "a", "text": null, "number": 1}"#,
                    #"1 note b delete {"key": "b", "text": null, "number": 2}"#, "1 note a insert",
                ]),
            Case(
                name: "a row is deleted after it was inserted",
                trigger: "t after insert on note for each row execute function remove()",
                statements: "insert into note values ('a', 1, null)",
                changes: ["1 note a insert", #"1 note a delete {"key": "a", "text": null, "number": 1}"#]),
            Case(
                name: "before each insert, any row with the same key is deleted",
                before: "insert into note values ('a', 1, null)",
                trigger: "t before insert on note for each row execute function make_room()",
                statements: "insert into note values ('a', 2, null), ('b', 3, null), ('a', 4, null)",
                changes: [
                    "1 note b insert", #"1 note a delete {"key": "a", "text": null, "number": 1}"#,
                    "1 note a insert",
                    #"1 note a delete {"key": "a", "text": null, "number": 2}"#, "1 note a insert",
                ]),
            Case(
                name: "before a change of the key, the row with the new key is deleted",
                before: "insert into note values ('a', 1, null), ('b', 2, null)",
                trigger: "t before update on note for each row execute function make_room()",
                statements: "update note set key = 'a' where key = 'b'",
                changes: [
                    #"1 note b delete {"key": "b", "text": null, "number": 2}"#,
                    #"1 note a delete {"key": "a", "text": null, "number": 1}"#, "1 note a insert",
                ]),
            Case(
                name: "another table is written by a row trigger that fires before the history's triggers",
                trigger: "a before insert on note for each row execute function remark()",
                statements: "insert into note values ('a', 1, null), ('b', 2, null)",
                changes: [
                    "1 note a insert", "1 note b insert", "1 memo about a insert", "1 memo about b insert",
                ]),
            Case(
                name: "another table is written by a statement trigger that fires before the history's",
                trigger: "a after insert on note for each statement execute function remark()",
                statements: "insert into note values ('a', 1, null)",
                changes: ["1 note a insert", "1 memo about all insert"]),
            Case(
                name: "another table is written by a statement trigger that fires after the history's",
                trigger: "z after insert on note for each statement execute function remark()",
                statements: "insert into note values ('a', 1, null)",
                changes: ["1 note a insert", "1 memo about all insert"]),
            Case(
                name: "nested statements that fail are undone, and do not affect the order",
                before: "insert into note values ('a', 1, null)",
                trigger:
                    "t after update on note for each row when (new.number = 2) execute function try_to_remark()",
                statements: "update note set number = 2; update note set number = 3",
                changes: [#"1 note a update {"number": 1}"#, #"1 note a update {"number": 2}"#]),
            Case(
                name: "a statement that changes no rows is not recorded",
                trigger: "a before update on note for each statement execute function remark()",
                statements: "update note set number = 2; insert into note values ('a', 1, null)",
                changes: ["1 memo about all insert", "1 note a insert"]),
            Case(
                name: "one statement deletes and inserts",
                before: "insert into note values ('a', 1, null)",
                trigger: "t after insert on note for each row execute function touch()",
                statements:
                    "with d as (delete from note returning *) insert into note select key, number + 1, text from d",
                changes: [
                    #"1 note a delete {"key": "a", "text": null, "number": 1}"#, "1 note a insert",
                    #"1 note a update {"number": 2}"#,
                ]),
            Case(
                name: "in one statement, the insert ends before the delete",
                before: "insert into note values ('a', 1, null)",
                trigger: "t after insert on memo for each row execute function touch()",
                statements:
                    "with d as (delete from note returning *) insert into note select key, number + 1, text from d limit 1",
                changes: [#"1 note a delete {"key": "a", "text": null, "number": 1}"#, "1 note a insert"]),
            Case(
                name: "an upsert inserts and updates, and a trigger updates each row",
                before: "insert into note values ('a', 1, null)",
                trigger:
                    "t after insert or update on note for each row when (new.number < 10) execute function touch()",
                statements:
                    "insert into note values ('a', 8, null), ('b', 9, null) on conflict (key) do update set number = excluded.number",
                changes: [
                    "1 note b insert", #"1 note a update {"number": 1}"#, #"1 note a update {"number": 8}"#,
                    #"1 note a update {"number": 9}"#, #"1 note b update {"number": 9}"#,
                ]),
            Case(
                name: "rows refer to rows of the same table",
                before: """
                    alter table note add foreign key (text) references note on update cascade on delete cascade;
                    insert into note values ('a', 1, null), ('b', 2, 'a'), ('c', 3, 'b')
                    """,
                trigger: "t after insert on note for each row execute function touch()",
                statements: "update note set key = key || '!'; delete from note where key = 'a!'",
                changes: [
                    #"1 note a delete {"key": "a", "text": null, "number": 1}"#, "1 note a! insert",
                    #"1 note b delete {"key": "b", "text": "a", "number": 2}"#, "1 note b! insert",
                    #"1 note c delete {"key": "c", "text": "b", "number": 3}"#, "1 note c! insert",
                    #"1 note b! update {"text": "a"}"#, #"1 note c! update {"text": "b"}"#,
                    #"1 note a! delete {"key": "a!", "text": null, "number": 1}"#,
                    #"1 note b! delete {"key": "b!", "text": "a!", "number": 2}"#,
                    #"1 note c! delete {"key": "c!", "text": "b!", "number": 3}"#,
                ]),
            Case(
                name: "a trigger of an untracked table changes a tracked table",
                before: "create table plain (key text); insert into note values ('a', 1, null)",
                trigger: "t after insert on plain for each row execute function touch()",
                statements: "insert into plain values ('a'), ('a')",
                changes: [#"1 note a update {"number": 1}"#, #"1 note a update {"number": 2}"#]),
        ]
    }
}
