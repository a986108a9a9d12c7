import PostgreSQL
import QuakeStore
import SampleFeed
import TestSupport
import Testing

/// Any login can set the setting history.transaction to any value at any time. The history must stay correct.
@Suite("Forged history")
struct ForgedHistoryTests {
    let server = TestServer.shared

    @Test(
        "A writer's history is the same with and without forged settings",
        arguments: [Roles.Purpose.writer, .owner], 1...4 as ClosedRange<UInt64>)
    func forgedAtRandom(_ purpose: Roles.Purpose, seed: UInt64) async throws {
        func history(forging: Bool) async throws -> [String] {
            try await server.withRoles { roles in
                // This transaction belongs to another user. The forged settings point at its row.
                try await roles.login(.owner).execute(Script.insert("victim", 1))
                let others = try await roles.database.kept(to: 1)
                var script = Script(seed: seed, isForging: forging)
                let heard = try await roles.database.notifications {
                    try await roles.login(purpose).withConnection { session in
                        for text in script.transactions() {
                            try await session.execute(script: text, to: "write")
                        }
                    }
                }
                #expect(try await roles.database.kept(to: 1) == others)
                #expect(try await roles.database.faults() == [])
                let tokens = try await roles.database.query(
                    "select token from history.transaction where token > 1 order by token")
                #expect(try heard == tokens.map { "quake_changes \(try $0.decode("token", as: Int.self))" })
                return try await roles.database.changesByRow()
            }
        }
        let honest = try await history(forging: false)
        #expect(honest.count > 40)
        #expect(try await history(forging: true) == honest)
    }

    @Test(
        "A writer can't make a transaction look as if it had changed nothing",
        arguments: [Roles.Purpose.writer, .owner])
    func hidden(_ purpose: Roles.Purpose) async throws {
        try await server.withRoles { roles in
            let writer = roles.login(purpose)
            try await writer.execute(Script.insert("a", 1))
            let heard = try await roles.database.notifications {
                try await writer.execute(
                    """
                    begin;
                    update quake set sig = 2;
                    select set_config('history.transaction',
                                      regexp_replace(current_setting('history.transaction'), '[0-9]+$', '0'), true);
                    update quake set sig = sig;
                    commit
                    """)
            }
            #expect(heard == ["quake_changes 2"])
            #expect(try await roles.database.allChanges().last == #"2.1 a update {"sig": 1}"#)
            #expect(try await roles.database.faults() == [])
        }
    }

    @Test(
        "The setting gives no rights to a login that may not write",
        arguments: [Roles.Purpose.reader, .report])
    func readers(_ purpose: Roles.Purpose) async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).execute(Script.insert("a", 1))
            let before = try await roles.database.kept(to: 1)
            for statement in [
                "update public.quake set sig = 2", "delete from public.quake",
                "delete from history.transaction",
                "update history.change set ordinal = 2",
            ] {
                await #expect {
                    try await roles.login(purpose).execute(
                        "begin; select set_config('history.transaction', '1 (0,1)', true); \(statement); commit"
                    )
                } throws: { ($0 as? PostgresError)?.sqlState == "42501" }
            }
            #expect(try await roles.database.kept(to: 1) == before)
        }
    }

    /// other:  begins, changes, stays open ──────────────────────────────────────────────────────────── commits
    /// forger:                                     begins, points at the other's open row, changes, commits
    @Test("A forged setting can't add changes to another session's open transaction")
    func openTransaction() async throws {
        try await server.withRoles { roles in
            try await roles.login(.owner).execute(Script.insert("a", 1) + ";" + Script.insert("b", 1))
            try await roles.login(.writer).withConnection { other in
                try await other.execute(
                    script: "begin; update quake set sig = 2 where code = 'a'", to: "change")
                let hint: String = try await other.query(
                    "select current_setting('history.transaction') as hint", to: "ask")[0].decode("hint")
                try await roles.login(.writer).execute(
                    """
                    begin; select set_config('history.transaction', '\(hint)', true);
                    update quake set sig = 3 where code = 'b'; update quake set sig = 4 where code = 'b';
                    commit
                    """)
                try await other.execute(script: "commit", to: "commit")
            }
            let changes = try await roles.database.allChanges()
            #expect(
                changes.suffix(3) == [
                    #"2.1 b update {"sig": 1}"#, #"2.2 b update {"sig": 3}"#, #"3.1 a update {"sig": 1}"#,
                ])
            #expect(try await roles.database.faults() == [])
        }
    }

    @Test("Temporary tables and session settings can't change what the history records")
    func surroundings() async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).execute(
                """
                set standard_conforming_strings = off; set escape_string_warning = off;
                set search_path = pg_temp, public; set application_name = 'me';
                create temporary table new_rows (code text); create temporary table old_rows (code text);
                create temporary table change (key text); create temporary table quake (code text);
                begin; \(Script.insert("a", 1)); update public.quake set sig = 2; update public.quake set sig = sig;
                commit
                """)
            #expect(
                try await roles.database.allChanges() == ["1.1 a insert -", #"1.2 a update {"sig": 1}"#])
            #expect(try await roles.database.faults() == [])
            let elsewhere = roles.database.with(
                "-cstandard_conforming_strings=off -cescape_string_warning=off")
            #expect(try await elsewhere.allChanges().count == 2)
        }
    }
}

/// Random transactions on a few rows, with savepoints and updates that change nothing. If `isForging`, a statement that
/// manipulates the setting precedes each statement and each commit. The same seed makes the same changes with and without these
/// manipulations.
private struct Script {
    private var random: SplitMix64
    private var forger: SplitMix64
    private let isForging: Bool
    private var step = 0

    init(seed: UInt64, isForging: Bool) {
        random = SplitMix64(seed: seed)
        forger = SplitMix64(seed: seed + 1000)
        self.isForging = isForging
    }

    static func insert(_ code: String, _ sig: Int) -> String {
        """
        insert into public.quake (code, net, net_code, sig, time, updated, imported_at, longitude, latitude)
        values ('\(code)', 'q0', '\(code)', \(sig), '2026-01-01+00', '2026-01-01+00', '2026-01-01+00', 1, 2)
        on conflict (code) do update set sig = excluded.sig
        """
    }

    mutating func transactions() -> [String] {
        (0..<12).map { _ in
            var statements = ["begin"]
            var depth = 0
            for _ in 0..<(2 + random.below(10)) {
                if isForging { statements.append(forgery()) }
                statements.append(statement(&depth))
            }
            if isForging { statements.append(forgery()) }
            return (statements + ["commit"]).joined(separator: ";\n")
        }
    }

    private mutating func statement(_ depth: inout Int) -> String {
        step += 1
        let code = "k\(random.below(3))"
        switch random.below(10) {
        // Draws the token early. Later changes of the transaction have the same token.
        case 9: return "set constraints all immediate"
        case 0: return "update public.quake set sig = sig"
        case 1: return "delete from public.quake where code = '\(code)'"
        case 2: return "update public.quake set code = code || '-\(step)' where code = '\(code)'"
        case 3:
            depth += 1
            return "savepoint s"
        case 4 where depth > 0:
            depth -= 1
            return random.below(2) == 0 ? "rollback to s; release s" : "release s"
        case 5, 6: return "update public.quake set sig = \(step) where code like 'k%'"
        default: return Self.insert(code, step)
        }
    }

    /// A statement with which a login manipulates the setting.
    private mutating func forgery() -> String {
        let isLocal = forger.below(4) == 0 ? "false" : "true"
        func set(_ value: String) -> String {
            "select set_config('history.transaction', \(value), \(isLocal))"
        }
        let hint = "coalesce(current_setting('history.transaction', true), '')"
        let forgeries = [
            "select 1",
            set("''"), set("'nonsense'"), "reset history.transaction", set("null"),
            // The present and the earlier place of the victim's row, with and without this transaction's xid.
            set("'1 (0,1)'"), set("'1 (0,2)'"), set("'1 ' || pg_current_xact_id() || ' (0,2) 0'"),
            // This transaction's value with another id, another place or another count.
            set("regexp_replace(\(hint), '^[0-9]+', '1')"),
            set("regexp_replace(\(hint), '[(].*[)]', '(0,1)')"),
            set("\(hint) || ' 0'"), set("regexp_replace(\(hint), '[0-9]+$', '0')"),
            set("'999999999999999999 (999999999,9999)'"), set("'99999999999999999999 (9999999999,99999)'"),
            set("'1 (0,99999999) 0'"), set("'1 (0,1) 99999999999999999999'"),
            // Another number of changes, statements that never began, places beyond the end, and text that only the trigger
            // writes.
            set("regexp_replace(\(hint), '[)] [0-9]+', ') 0')"),
            set("regexp_replace(\(hint), '[)] [0-9]+', ') 7')"),
            set("\(hint) || ' ' || 'public.quake'::regclass::oid || 'U:0:0'"),
            set("\(hint) || ' ' || 'public.quake'::regclass::oid || 'I:999999999999999999:1'"),
            set("\(hint) || ' 1D:0:0 2U:3:2 x'"), set("'(0,1)'"),
            // A value that was valid before, in this transaction or in an earlier transaction of the session.
            "select set_config('my.hint', \(hint), false)",
            set("coalesce(current_setting('my.hint', true), '')"),
        ]
        return forgeries[forger.below(forgeries.count)]
    }
}

extension TestDatabase {
    /// The changes of `quake`: for example, `2.1 a update {"sig": 1}`.
    fileprivate func allChanges() async throws -> [String] { try await changes(of: "quake") }

    /// The changes of each row in each transaction, in order. They are sorted by row, because a forger can change the order of
    /// rows within the forger's transaction.
    fileprivate func changesByRow() async throws -> [String] {
        try await query(
            """
            select concat_ws(' ', t.token, c.key, c.operation, c.before) as text
            from history.transaction t join history.change c on c.transaction = t.id
            order by t.token, c.key, c.ordinal
            """
        ).map { try $0.decode("text") }
    }

    /// Every stored value of the transactions up to a token and of their changes.
    fileprivate func kept(to token: Int) async throws -> [String] {
        try await query(
            """
            select t::text || ' ' || c::text as text
            from history.transaction t join history.change c on c.transaction = t.id
            where t.token <= \(token) order by t.token, c.ordinal
            """
        ).map { try $0.decode("text") }
    }

    /// Violations of rules that hold for every history; empty if there are none.
    fileprivate func faults() async throws -> [String] {
        try await query(
            """
            select 'change ' || c.key || ' has no committed transaction' as fault
            from history.change c left join history.transaction t on t.id = c.transaction
            where t.token is null or t.committed_at is null or t.channels is not null
            union all
            select 'transaction ' || t.token || ' does not have its ordinals'
            from history.transaction t
            where t.token is null or t.changes = 0
               or (select array_agg(c.ordinal order by c.ordinal) from history.change c where c.transaction = t.id)
                  is distinct from array(select generate_series(1, t.changes))
            """
        ).map { try $0.decode("fault") }
    }
}
