import Feed
import Foundation
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

@Suite("Roles")
struct RolesTests {
    let server = TestServer.shared

    /// The statements that each role may run on each table. All others are refused.
    private static let allowed: [Roles.Purpose: [String: Set<String>]] = [
        .writer: [
            "public.quake": ["select", "insert", "update", "delete"],
            "import.migration": ["select"],
            "import.run": ["select", "insert", "update"], "import.reject": ["select", "insert", "update"],
            "import.feed": ["select", "insert", "update"], "import.sweep": ["select", "insert", "update"],
            "import.mirror": ["select", "insert", "update"],
            "import.backfill": ["select", "insert", "update", "delete"],

            "import.settled": ["select", "insert", "update", "delete"],
            "import.withdrawn": ["select", "insert", "update", "delete"],
            "import.deleted": ["select", "insert", "update", "delete"],
            // Allowed only for the columns id, token, context and committed_at.
            "history.transaction": ["select"],
            "import.last_run": ["select"], "history.store": ["select"],
            "report.coverage": ["select"], "report.reader_lag": ["select"],
            "public.earthquake": ["select", "insert", "update", "delete"],
            "public.earthquake_member": ["select", "insert", "update", "delete"],
            "public.association_override": ["select", "insert", "update", "delete"],
            "import.association": ["select", "update"],
            "notify.receiver": ["select"],
        ],
        .reader: [
            "public.quake": ["select"], "public.earthquake": ["select"],
            "public.earthquake_member": ["select"],
            "public.association_override": ["select"], "import.association": ["select"],
            "import.migration": ["select"], "import.run": ["select"], "import.reject": ["select"],
            "import.feed": ["select"], "import.sweep": ["select"], "import.mirror": ["select"],
            "import.settled": ["select"], "import.last_run": ["select"],
            "history.transaction": ["select"], "history.change": ["select"], "history.store": ["select"],
            "history.reader": ["select"], "history.tracked": ["select"], "history.citation": ["select"],
            "report.coverage": ["select"], "report.reader_lag": ["select"],
            "notify.receiver": ["select"],
        ],
        .notifier: [
            "public.quake": ["select"], "public.earthquake": ["select"],
            "public.earthquake_member": ["select"],
            "import.association": ["select"],
            "import.migration": ["select"],
            "history.transaction": ["select"], "history.change": ["select"], "history.store": ["select"],
            "history.citation": ["select"],
            "notify.event": ["select"], "notify.state": ["select", "update"],
            "notify.seen": ["select", "insert", "update", "delete"],
            "notify.standing": ["select", "insert", "update", "delete"],
            "notify.outbox": ["select", "insert", "update", "delete"],
        ],
        .report: ["import.migration": ["select"]],
    ]

    @Test(
        "Every statement on every table is refused, except those that the role needs",
        arguments: [Roles.Purpose.writer, .reader, .notifier, .report])
    func tables(_ purpose: Roles.Purpose) async throws {
        try await server.withRoles { roles in
            let expected = Self.allowed[purpose] ?? [:]
            let tables = try await Table.all(in: roles.database)
            try await roles.login(purpose).withConnection { login in
                for table in tables {
                    var found: Set<String> = []
                    for (kind, statement) in table.statements where try await login.may(statement) {
                        found.insert(kind)
                    }
                    let isReport = table.name.hasPrefix("report.")
                    var allowed =
                        isReport && purpose == .report ? ["select"] : expected[table.name] ?? []
                    // A role that may update a table may also lock it against updates.
                    if allowed.contains("update") { allowed.insert("lock") }
                    #expect(found == allowed, "\(table.name)")
                }
            }
            // There are about thirty tables and views, with up to eight statements each.
            #expect(tables.map(\.statements.count).reduce(0, +) > 200)
        }
    }

    /// Further statements that each role must not be allowed to run.
    private static let forbidden: [Roles.Purpose: [String]] = [
        .writer: [
            "select before from history.change",
            "select author from history.transaction",
            "select * from history.reader",
            "select history.report('other', 0)",
            "select * from history.changes(0, 'quake')",
            "select * from history.changed_keys(0, 'quake')",
            "insert into history.transaction (xid, author, changes) values (pg_current_xact_id(), 'me', 0)",
            """
            create temporary table mine (key text);
            create trigger mine after insert on mine referencing new table as new_rows
            for each statement execute function history.record('quake', 'quake_changes')
            """,
            "select history.track('public.quake', 'code', 'any')",
            "select history.prune('0')",
            "alter table public.quake disable trigger history_update",
            "drop trigger history_update on public.quake",
            "set session_replication_role = replica",
            "lock table history.commit_lock in exclusive mode",
            "select nextval('history.token')",
            "create table public.mine ()",
            "create schema mine",
            "select * from report.event",
        ],
        .reader: [
            "select * from report.event",
            "select report.region('a, b')",
            "select history.prune('0')",
            "insert into history.reader (name, login, token) values ('mine', session_user, 1)",
            "delete from history.reader",
            "select setval('history.token', 1)",
            "lock table history.commit_lock in access share mode",
            "lock table public.quake in share mode",
            "select message from notify.outbox",
            "select * from notify.event",
            "create temporary table mine ()",
            "create table public.mine ()",
            "select import.settle('a', 'b', now(), null, null, false, 0, true, false)",
            "select import.lock_key('a')",
        ],
        .notifier: [
            "select * from report.event",
            "select raw from import.reject",
            "select * from history.reader",
            "select history.prune('0')",
            "insert into history.reader (name, login, token) values ('mine', session_user, 1)",
            "select setval('history.token', 1)",
            "lock table history.commit_lock in access share mode",
            "lock table public.quake in share mode",
            "create table notify.mine ()",
            "create temporary table mine ()",
            "create table public.mine ()",
            "select import.lock_key('a')",
            "create or replace function notify.now() returns timestamptz language sql return '2000-01-01'::timestamptz",
            "insert into public.quake (code, net, net_code, time, updated, longitude, latitude) values ('a', 'a', 'a', now(), now(), 0, 0)",
        ],
        .report: [
            "select raw from import.reject",
            "select * from notify.outbox",
            "select * from notify.receiver",
            "select hash from import.reject",
            "select before from history.change",
            "select history.report('other', 0)",
            "select * from history.position()",
            "select history.prune('0')",
            "lock table public.quake in access share mode",
            "lock table report.event in row exclusive mode",
            "create temporary table mine ()",
            "create table public.mine ()",
            "create table report.mine ()",
            "create view report.mine as select 1",
            "create or replace view report.reject as select 1",
            "comment on view report.event is 'mine'",
            "copy (select 1) to program 'cat'",
            "copy (select 1) to '/dev/null'",
            "select import.lock_key('a')",
            "lock table import.settled in row exclusive mode",
            "lock table import.migration in row exclusive mode",
        ],
    ]

    @Test(
        "Functions, DDL and other statements that a role does not need are refused",
        arguments: [Roles.Purpose.writer, .reader, .notifier, .report])
    func statements(_ purpose: Roles.Purpose) async throws {
        try await server.withRoles { roles in
            let login = roles.login(purpose)
            for statement in try #require(Self.forbidden[purpose]) {
                let isAllowed = try await login.may(statement)
                #expect(!isAllowed, "\(statement)")
                // The statement itself is correct; only the role is refused.
                let isPossible = try await roles.database.may(statement)
                #expect(isPossible, "\(statement)")
            }
            for other in Roles.Purpose.allCases where other != purpose {
                let mayBecome = try await login.may("set role \(roles.roles.name(other))")
                #expect(!mayBecome, "\(other)")
            }
        }
    }

    @Test("A login without a role cannot connect")
    func nobody() async throws {
        try await server.withRoles { roles in
            _ = await #expect {
                try await roles.login(nil).query("select 1")
            } throws: { ($0 as? PostgresError)?.sqlState == "42501" }
        }
    }

    /// The migrator locks a table instead of taking an advisory lock: see `Migrator`.
    @Test("An advisory lock that another login holds does not delay a migration")
    func intruder() async throws {
        try await server.withRoles { roles in
            try await roles.login(.report).withConnection { intruder in
                try await intruder.query(
                    "select pg_advisory_lock(x'7175616b6573'::bigint)", to: "take what may be the lock")
                try await roles.database.execute(
                    "drop schema report cascade; delete from import.migration where number = 6")
                let applied = try await roles.login(.owner).withConnection {
                    try await Migrator($0).migrate()
                }
                #expect(applied == ["0006_report"])
            }
        }
    }

    @Test(
        "The owner of a database, with CREATEROLE and no other privilege, can migrate and establish the roles",
        arguments: ["off", "on"])
    func ownDatabase(quoting: String) async throws {
        let prefix = "t\(UUID().uuidString.lowercased().prefix(8))_"
        let (roles, login) = (try Roles(prefix: prefix), "\(prefix)dba")
        let postgres = TestDatabase(url: try await server.cluster().url(database: "postgres"))
        try await postgres.execute("create role \(login) login createrole")
        let strangers = try await server.withEmptyDatabase { database in
            let name: String = try await database.query("select current_database() as name")[0].decode("name")
            try await database.execute(
                "alter database \(name) owner to \(login); alter database \(name) set quote_all_identifiers = \(quoting)"
            )
            let owner = TestDatabase(url: database.url.replacing(/user=[^&]*/, with: "user=\(login)"))
            for _ in 1...2 {
                try await owner.withConnection { connection in
                    _ = try await Migrator(connection).migrate()
                    _ = try await roles.establish(on: connection)
                }
            }
            return try await database.query(
                """
                select name from (
                    select relnamespace, relname, relowner from pg_class
                    union all
                    select typnamespace, typname, typowner from pg_type where typtype = 'd'
                    union all
                    select pronamespace, proname, proowner from pg_proc
                    union all
                    select pronamespace, proname || ' may be attached', 0 from pg_proc
                    where prosecdef and prorettype = 'trigger'::regtype
                      and has_function_privilege(\(roles.name(.writer)), oid, 'execute')) as ours (namespace, name, owner)
                where namespace in ('history'::regnamespace, 'import'::regnamespace, 'report'::regnamespace, 'notify'::regnamespace)
                  and owner <> \(roles.name(.owner))::regrole
                """)
        }
        #expect(strangers.isEmpty)
        let names = Roles.Purpose.allCases.map(roles.name) + [login]
        try await postgres.execute("drop role \(names.joined(separator: ", "))")
    }

    @Test("Establishing the roles does not change who may run PostgreSQL's built-in functions")
    func ownFunctions() async throws {
        let privileges: Query = """
            select string_agg(oid::regprocedure || ' ' || proacl::text, ', ' order by oid) as text
            from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proacl is not null
            """
        let before: String = try await server.withDatabase {
            try await $0.query(privileges)[0].decode("text")
        }
        try await server.withRoles { roles in
            let after: String = try await roles.database.query(privileges)[0].decode("text")
            #expect(after == before)
        }
    }

    @Test(
        "With the script in docs/database.md, a report login can take no advisory lock and store no large object"
    )
    func proposal() async throws {
        let file = projectFile("docs/database.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let block = try #require(text.firstMatch(of: /do \$\$(?s:.*?)end\n +\$\$;/))
        try await server.withRoles { roles in
            try await roles.database.execute(
                String(block.output).replacing("quakes_", with: roles.roles.prefix))

            for statement in ["select pg_advisory_lock(1)", "select pg_try_advisory_xact_lock_shared(1, 2)"] {
                #expect(try await !roles.login(.report).may(statement))
                #expect(try await roles.login(.writer).may(statement))
            }
            for statement in ["select lo_create(0)", "select lo_from_bytea(0, 'a')"] {
                #expect(try await !roles.login(.report).may(statement))
            }
            let summary = try await roles.login(.writer).importFeatures([SmallFeed.feature("a")])
            #expect(summary.counts.inserted == 1)
        }
    }

    @Test("A reader can report its position through the function")
    func position() async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).importSample(3)
            try await roles.login(.reader).query("select history.report('dashboard', 1)")

            let reader = try await roles.database.query("select name, token from history.reader")
            #expect(try reader.map { try $0.decode("name", as: String.self) } == ["dashboard"])
            #expect(try reader[0].decode("token") == 1)
        }
    }

    @Test(
        "Only a reader's own login and the owner can report for the reader, and a login has at most 1000 readers"
    )
    func names() async throws {
        try await server.withRoles { roles in
            try await roles.database.execute("grant \(roles.roles.name(.reader)) to \(roles.loginName(nil))")
            let (mine, others) = (roles.login(.reader), roles.login(nil))
            try await mine.query("select history.report('dashboard', 7)")

            #expect(try await !others.may("select history.report('dashboard', 0)"))
            #expect(try await roles.login(.owner).may("select history.report('dashboard', 8)"))
            try await mine.query("select history.report('dashboard', 9)")
            let kept = try await roles.database.query("select login, token from history.reader")
            #expect(try kept.map { try $0.decode("login", as: String.self) } == [roles.loginName(.reader)])
            #expect(try kept.map { try $0.decode("token", as: Int.self) } == [9])
            // As after a restore on another server, whose logins have other names.
            try await roles.database.query("update history.reader set login = 'gone'")
            try await others.query("select history.report('dashboard', 10)")
            #expect(try await !mine.may("select history.report('dashboard', 11)"))
            try await roles.database.query("delete from history.reader")

            try await others.query(
                "select history.report('reader ' || n, 0) from generate_series(1, 1000) as n")
            #expect(try await !others.may("select history.report('reader 1001', 0)"))
            #expect(try await others.may("select history.report('reader 1000', 1)"))
            #expect(try await mine.may("select history.report('second', 0)"))
            #expect(try await !mine.may("select history.report(repeat('x', 201), 0)"))
        }
    }

    /// other:    reports as "dashboard", stays open
    /// follower: reports, gives up ──────────────── applies a change
    @Test("An open transaction that has reported a name does not delay a follower of the same name")
    func openReport() async throws {
        try await server.withRoles { roles in
            try await roles.database.execute("grant \(roles.roles.name(.reader)) to \(roles.loginName(nil))")
            let (view, log) = (MemoryView(), RecordedLog())
            try await roles.login(nil).withConnection { other in
                try await other.execute(
                    script: "begin; select history.report('dashboard', 0)", to: "report")
                try await roles.login(.reader).following(view, name: "dashboard", logger: log.logger) {
                    try await waitUntil {
                        log.lines.contains { $0.contains("another session has reported as dashboard") }
                    }
                    try await roles.login(.writer).importSample(3)
                    try await waitUntil { view.now.rows.count == 3 }
                }
            }
        }
    }

    @Test("An impossible position is refused, and does not disturb monitoring", arguments: [Int.min, -1])
    func absurdReport(_ token: Int) async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).importSample(3)
            await #expect {
                try await roles.login(.reader).execute("select history.report('x', '\(token)')")
            } throws: { ($0 as? PostgresError)?.sqlState == "23514" }
            let status = try await roles.login(.reader).withConnection {
                try await HistoryStatus.read(on: $0)
            }
            #expect(status.readers.isEmpty)
        }
    }

    @Test("Without an application name, the history records changes under the writer's login")
    func recorded() async throws {
        try await server.withRoles { roles in
            let writer = roles.login(.writer)
            try await writer.importSample(5)
            try await writer.execute("set application_name = ''; delete from quake")

            let rows = try await roles.login(.reader).query(
                "select author, count(*) as count from history.changes(0, 'quake') where operation = 'delete' group by 1"
            )
            #expect(try rows.map { try $0.decode("author", as: String.self) } == [roles.loginName(.writer)])
            #expect(try rows[0].decode("count") == 5)
        }
    }

    @Test("A reader and a writer can run the queries of status and list")
    func reading() async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await roles.login(.reader).query("select history.report('dashboard', 0)")

            var selection = QuakeSelection()
            selection.near = .init(latitude: 20, longitude: 10, kilometres: 1)
            for purpose in [Roles.Purpose.reader, .writer] {
                try await roles.login(purpose).withConnection { [selection] connection in
                    let history = try await HistoryStatus.read(on: connection)
                    #expect(history.readers.map(\.tokensBehind) == [1])
                    let imports = try await ImportStatus.read(of: [], on: connection)
                    #expect(imports.sources.map(\.inserted) == [2])
                    let found = Mutex(0)
                    try await selection.forEach(on: connection) { _ in found.withLock { $0 += 1 } }
                    #expect(found.withLock { $0 } == 2)
                    var merged = selection
                    merged.isMerged = true
                    try await merged.forEach(on: connection) { _ in found.withLock { $0 += 1 } }
                    #expect(found.withLock { $0 } == 4)
                }
            }
        }
    }

    @Test("A report login can read every report")
    func reports() async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).importSample(100)
            try await roles.login(.report).withConnection { connection in
                let reports = try await Report.all(on: connection)
                #expect(reports.count >= 18)
                for report in reports {
                    let values = ["mainshock": "q00", "agency_1": "q0", "agency_2": "q1"]
                    let required = Set(report.parameters.filter(\.isRequired).map(\.name))
                    let arguments = values.filter { required.contains($0.key) }
                    try await report.forEachRow(arguments, limit: nil, for: .json, on: connection) { _ in
                    }
                }
            }
        }
    }

    @Test("Establishing the roles again creates nothing, and revokes extra grants")
    func repeated() async throws {
        try await server.withRoles { roles in
            let before = try await roles.database.privileges()
            try await roles.database.execute("grant select on history.change to \(roles.roles.name(.report))")
            try await roles.database.execute("grant execute on function history.prune to public")
            #expect(try await roles.database.privileges() != before)

            let created = try await roles.database.withConnection { try await roles.roles.establish(on: $0) }

            #expect(created == [])
            #expect(try await roles.database.privileges() == before)
        }
    }

    @Test("The owner role takes over every tracked table, and these tables stay tracked")
    func otherTables() async throws {
        try await server.withRoles { roles in
            try await server.withNotes { database in
                try await database.execute("insert into note values ('a', 1, null)")
                _ = try await database.withConnection { try await roles.roles.establish(on: $0) }
                let owner = roles.roles.name(.owner)
                try await database.execute("set role \(owner); update note set number = 2")
                try await database.execute("insert into note values ('b', 3, null)")
                #expect(
                    try await database.changes() == [
                        "1.1 a insert -", #"2.1 a update {"number": 1}"#, "3.1 b insert -",
                    ])
            }
        }
    }

    @Test(
        "A tracked table in another schema stays writable, and a view that reads another schema keeps its owner"
    )
    func otherSchemas() async throws {
        try await server.withRoles { roles in
            let (database, report) = (roles.database, roles.login(.report))
            try await database.execute(
                """
                create schema net;
                grant usage on schema net to \(roles.roles.name(.owner));
                create table net.station (code text primary key, parent text references net.station on update cascade);
                alter table net.station owner to \(roles.roles.name(.owner));
                select history.track('net.station', 'code', 'station_changes');
                revoke usage on schema net from \(roles.roles.name(.owner));
                create table net.city (name text);
                insert into net.city values ('Bern');
                create view report.city as select c.name, e.code from net.city c left join report.event e on true;
                create view report.big_city as select name from report.city
                """)
            _ = try await database.withConnection { try await roles.roles.establish(on: $0) }
            try await database.execute("insert into net.station values ('a', null), ('b', 'a')")
            try await database.execute("update net.station set code = 'c' where code = 'a'")
            #expect(
                try await database.query("select parent from net.station where code = 'b'")[0]
                    .decode("parent") == "c")
            #expect(try await report.query("select name from report.big_city")[0].decode("name") == "Bern")
        }
    }

    @Test("Two databases of one server can establish the same roles at the same time")
    func concurrent() async throws {
        try await server.withRoles { one in
            try await server.withDatabase { other in
                let roles = one.roles
                try await withThrowingTaskGroup { group in
                    for database in [one.database, other, other, other] {
                        group.addTask {
                            _ = try await database.withConnection { try await roles.establish(on: $0) }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await one.database.privileges() == other.privileges())
            }
        }
    }

    @Test(
        "Objects that a member of the owner role creates belong to that role, and PUBLIC may not execute new functions"
    )
    func laterMigration() async throws {
        try await server.withRoles { roles in
            let owner = roles.login(.owner)
            try await owner.execute(
                """
                drop schema report cascade;
                delete from import.migration where number = 6
                """)

            let applied = try await owner.withConnection { try await Migrator($0).migrate() }

            #expect(applied == ["0006_report"])
            let row = try await roles.database.query(
                """
                select pg_get_userbyid(nspowner) as owner,
                       has_function_privilege('public', 'report.region(text)', 'execute') as is_public
                from pg_namespace where nspname = 'report'
                """)[0]
            #expect(try row.decode("owner") == roles.roles.name(.owner))
            #expect(try row.decode("is_public") == false)
        }
    }

    @Test("Every function that runs with its owner's rights has a fixed search_path")
    func definers() async throws {
        try await server.withDatabase { database in
            let rows = try await database.query(
                """
                select oid::regprocedure::text as name, coalesce(array_to_string(proconfig, ' '), '') as settings
                from pg_proc
                where prosecdef and pronamespace::regnamespace::text in ('public', 'import', 'history', 'report', 'notify')
                """)
            #expect(rows.count >= 3)
            for row in rows {
                let name: String = try row.decode("name")
                let settings: String = try row.decode("settings")
                #expect(settings.contains("search_path=pg_catalog, pg_temp"), "\(name)")
            }
        }
    }

    @Test("No role but the owner's may execute a trigger function that runs with its owner's rights")
    func triggers() async throws {
        try await server.withRoles { roles in
            let rows = try await roles.database.query(
                """
                select p.oid::regprocedure::text as name, r.rolname as role,
                       has_function_privilege(r.rolname, p.oid, 'execute') as is_allowed
                from pg_proc p cross join (
                    select unnest(array['public', \(roles.loginName(.writer)), \(roles.loginName(.reader)),
                                        \(roles.loginName(.notifier)), \(roles.loginName(.report))]) as rolname) as r
                where p.prosecdef and p.prorettype = 'trigger'::regtype
                  and p.pronamespace::regnamespace::text in ('import', 'history', 'report', 'notify')
                """)
            #expect(rows.count >= 6 * 5)
            for row in rows {
                let (name, role): (String, String) = try (row.decode("name"), row.decode("role"))
                #expect(try !row.decode("is_allowed", as: Bool.self), "\(role) \(name)")
            }
        }
    }

    @Test(
        "A prefix that is empty, reserved or needs quotes in SQL is refused",
        arguments: ["", "Q_", "1_", "pg_", "a-b", "a\"", "a b"])
    func prefix(_ prefix: String) {
        #expect(throws: Failure.self) { try Roles(prefix: prefix) }
    }
}

/// A table or view, and one statement of each kind on it.
private struct Table {
    let name: String
    let statements: [(kind: String, text: String)]

    static func all(in database: TestDatabase) async throws -> [Table] {
        try await database.query(
            """
            select format('%I.%I', n.nspname, c.relname) as name,
                   -- The last column that is not generated, with or without a grant.
                   coalesce((select quote_ident(a.attname) from pg_attribute a
                             where a.attrelid = c.oid and a.attnum > 0 and a.attgenerated = '' and a.attidentity = ''
                             order by a.attnum desc limit 1), '') as column,
                   c.relname = 'transaction' and n.nspname = 'history' as is_partly
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where (n.nspname in ('import', 'history', 'report', 'notify') or c.oid in (select relation from history.tracked))
              and c.relkind in ('r', 'v', 'm')
            """
        ).map { row in
            let name: String = try row.decode("name")
            let column: String = try row.decode("column")
            let selected = try row.decode("is_partly") ? "id, token" : "1"
            return Table(
                name: name,
                statements: [
                    ("select", "select \(selected) from \(name) limit 1"),
                    ("insert", "insert into \(name) default values"),
                    ("update", "update \(name) set \(column) = \(column)"),
                    ("delete", "delete from \(name)"),
                    ("truncate", "truncate \(name) cascade"),
                    ("lock", "lock table \(name) in access exclusive mode"),
                    ("alter", "alter table \(name) rename to mine"),
                    ("comment", "comment on column \(name).\(column) is 'mine'"),
                ].filter { column != "" || !["update", "comment"].contains($0.0) })
        }
    }
}

extension Connection {
    /// Whether a statement is allowed. Its effects are rolled back.
    fileprivate func may(_ statement: String) throws -> Bool {
        var isRefused = false
        try execute(script: "begin", to: "begin")
        do {
            try execute(script: statement, to: "try")
        } catch let error as PostgresError {
            // If a view can't be written, PostgreSQL reports that before it checks the role, even to a superuser.
            isRefused = ["42501", "42809", "55000", "0A000"].contains(error.sqlState)
        }
        try execute(script: "rollback", to: "roll back")
        return !isRefused
    }
}

extension TestDatabase {
    /// Whether a statement is allowed. Its effects are rolled back.
    fileprivate func may(_ statement: String) async throws -> Bool {
        try await withConnection { try await $0.may(statement) }
    }

    /// Every privilege on every object in the schemas, as text.
    fileprivate func privileges() async throws -> [String] {
        try await query(
            """
            select c.oid::regclass || ' ' || pg_get_userbyid(c.relowner) || ' '
                   || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(c.relacl) a), '') as text
            from pg_class c where c.relnamespace::regnamespace::text in ('public', 'import', 'history', 'report', 'notify')
            union all
            select p.oid::regprocedure || ' ' || pg_get_userbyid(p.proowner) || ' '
                   || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(p.proacl) a), '')
            from pg_proc p where p.pronamespace::regnamespace::text in ('public', 'import', 'history', 'report', 'notify')
            union all
            select n.nspname || ' ' || pg_get_userbyid(n.nspowner) || ' '
                   || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(n.nspacl) a), '')
            from pg_namespace n where n.nspname in ('public', 'import', 'history', 'report', 'notify')
            order by 1
            """
        ).map { try $0.decode("text") }
    }
}
