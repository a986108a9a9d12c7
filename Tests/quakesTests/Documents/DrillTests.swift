import Foundation
import PostgreSQL
import Subprocess
import TestSupport
import Testing

/// Runs the commands exactly as they are in docs/operating.md.
@Suite("The drills of docs/operating.md")
struct DrillTests {
    /// early reader:  has 1 ──────────────────────────────────── starts over: 1, 3
    /// late reader:              has 1, 2 ────────────────────── starts over: 1, 3
    /// running one:   has 1 ──── has 1, 2 ─── loses its session, starts over: 1, 3
    /// database:      1 ── dump ─ 2 ───────── drop, restore ──── 3
    @Test(
        "After a dump, a drop and a restore, readers say that they start over, and end with the table's rows")
    func restore() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        let options = try ConnectionOptions(server.url)
        try await withFolder { folder in
            let shell = Shell(
                folder: folder, programs: try await server.cluster.program("pg_dump"),
                variables: [
                    "DATABASE_URL": server.url, "PGHOST": options["host"] ?? "",
                    "PGPORT": options["port"] ?? "", "PGUSER": options["user"] ?? "",
                ])
            let quakes = QuakesCommand(["DATABASE_URL": server.url])
            @Sendable func view(_ name: String) -> String { folder.appending(path: "\(name).sqlite").path }
            @Sendable func follow(_ name: String) async throws -> String {
                let outcome = try await quakes.run("follow", "--once", "--view", view(name))
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.errors
            }
            #expect(try await quakes.run("migrate", "--roles").status == 0)
            try await database.importFeatures([SmallFeed.feature("1")])
            _ = try await follow("early")
            // This reader has no rights between the restore and the grants.
            try await database.execute("create role watcher login; grant quakes_reader to watcher")
            let watcher = QuakesCommand([
                "DATABASE_URL": server.url.replacing("user=\(options["user"] ?? "")", with: "user=watcher")
            ])
            let status = try await watcher.run(["follow", "--view", view("running")]) { process in
                try await shell.run(
                    Self.commands(beginning: "pg_dump --format=custom --file=quakes.dump quakes"))
                try await database.importFeatures([SmallFeed.feature("2")])
                _ = try await follow("late")
                try await waitUntil {
                    try await quakes.run("list", "--view", view("running")).output.contains("q02")
                }
                try await shell.run(Self.commands(beginning: "dropdb"))
                try await database.importFeatures([SmallFeed.feature("3")])

                #expect(try await follow("early").contains("the table was altered; taking a fresh snapshot"))
                #expect(try await follow("late").contains("different transaction in this database"))
                try await waitUntil {
                    try await quakes.run("list", "--view", view("running")).output.contains("q03")
                }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
            let table = try await database.tableText()
            for name in ["early", "late", "running"] {
                #expect(try TableText(file: view(name)) == table, "\(name)")
            }
            #expect(try await database.query("select code from quake order by code").count == 2)
            #expect(try await quakes.run("status").status == 0)

            let grants = try await Self.grants(in: database)
            #expect(grants.count > 50)
            let fresh = try await TemporaryServer.start()
            let there = try ConnectionOptions(fresh.url)
            try await Shell(
                folder: folder, programs: shell.programs,
                variables: [
                    "DATABASE_URL": fresh.url, "PGHOST": there["host"] ?? "", "PGPORT": there["port"] ?? "",
                    "PGUSER": there["user"] ?? "",
                ]
            ).run(Self.commands(beginning: "dropdb"))
            let restored = TestDatabase(url: fresh.url)
            #expect(try await restored.query("select from quake").count == 1)
            #expect(try await Self.grants(in: restored) == grants)
        }
    }

    /// The owner and the grants of each table, sequence and function, one per line.
    private static func grants(in database: TestDatabase) async throws -> [String] {
        try await database.query(
            """
            with own as (
                select oid from pg_namespace where nspname in ('public', 'import', 'history', 'report', 'notify'))
            select concat_ws(' ', o.name, o.owner::regrole, (select string_agg(g::text, ' ' order by g::text) from unnest(o.acl) as g))
                as line
            from (select oid::regclass::text as name, relowner as owner, relacl as acl from pg_class
                  where relkind <> 'i' and relnamespace in (table own)
                  union all
                  select attrelid::regclass || '.' || attname, 0, attacl from pg_attribute
                  where attacl is not null and attrelid in (select oid from pg_class where relnamespace in (table own))
                  union all
                  select oid::regprocedure::text, proowner, proacl from pg_proc where pronamespace in (table own)
                  union all
                  select nspname::text, nspowner, nspacl from pg_namespace where oid in (table own)
                  union all
                  select datname::text, 0, datacl from pg_database where datname = current_database()
                  union all
                  select 'default ' || defaclobjtype::text, defaclrole, defaclacl from pg_default_acl) as o
            order by 1
            """
        ).map { try $0.decode("line") }
    }

    /// early reader:   has 1 ───────────────────────────────────────────── continues: 1, 2, 4
    /// late reader:                       has 1, 2 ─────────────────────── continues: 1, 2, 4
    /// latest one:                                        has 1, 2, 3 ──── starts over: 1, 2, 4
    /// database:       1 ── base backup ─ 2 ──── moment ─ 3    recovered ─ 4
    @Test(
        "After a point-in-time recovery, readers continue or say that they start over, and end with the table's rows"
    )
    func recovery() async throws {
        let server = try await TemporaryServer.start(settings: BaseBackup.archiving)
        let database = TestDatabase(url: server.url)
        try await withFolder { folder in
            func follow(_ name: String, _ database: TestDatabase) async throws -> String {
                let view = folder.appending(path: "\(name).sqlite").path
                let outcome = try await QuakesCommand(["DATABASE_URL": database.url])
                    .run("follow", "--once", "--view", view)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.errors
            }
            #expect(try await QuakesCommand(["DATABASE_URL": database.url]).run("migrate").status == 0)
            try await database.importFeatures([SmallFeed.feature("1")])
            _ = try await follow("early", database)
            let backup = try await BaseBackup.of(server.cluster)
            try await database.importFeatures([SmallFeed.feature("2")])
            _ = try await follow("late", database)
            let moment: String = try await database.query("select clock_timestamp()::text as moment")[0]
                .decode("moment")
            try await database.importFeatures([SmallFeed.feature("3")])
            _ = try await follow("latest", database)

            let recovered = try await backup.recover(to: moment)
            try await recovered.importFeatures([SmallFeed.feature("4")])
            #expect(try await recovered.query("select from quake").count == 3)
            let table = try await recovered.tableText()
            for (name, startsAnew) in [("early", false), ("late", false), ("latest", true)] {
                let said = try await follow(name, recovered)
                #expect(said.contains("taking a fresh snapshot") == startsAnew, "\(name): \(said)")
                #expect(
                    try TableText(file: folder.appending(path: "\(name).sqlite").path) == table, "\(name)")
            }
        }
    }

    @Test(
        "The private cluster and its readers work with another version of PostgreSQL",
        .enabled(if: OtherPostgres.current != nil, "needs two versions of PostgreSQL"))
    func upgrade() async throws {
        let other = try #require(OtherPostgres.current)
        try await withHome { home in
            let variables = ["QUAKES_HOME": home, "QUAKES_LOCAL": "1"]
            let quakes = QuakesCommand(variables)
            let document = { SmallFeed.document([SmallFeed.feature($0)]) }
            #expect(try await quakes.run("import", "-", input: document("1")).status == 0)
            try await withFolder { folder in
                let view = folder.appending(path: "view.sqlite").path
                #expect(try await quakes.run("follow", "--once", "--view", view).status == 0)
                let commands = try Self.commands(beginning: "pg_dump --format=custom --file=quakes.dump \"$(")
                    .replacing("/usr/lib/postgresql/17/bin", with: other.folder)
                let shell = Shell(folder: folder, programs: other.programs("pg_dump"), variables: variables)
                try await shell.run(commands)

                let later = QuakesCommand(variables.merging(["QUAKES_POSTGRES": other.folder]) { $1 })
                let status = try await later.run("database", "status").output
                #expect(status.contains("PostgreSQL \(other.major)"), "\(status)")
                #expect(try await later.run("import", "-", input: document("2")).status == 0)
                let followed = try await later.run("follow", "--once", "--view", view)
                #expect(followed.status == 0 && followed.errors.contains("the table was altered"))
                let list = try await later.run("list", "--view", view, "--format", "csv").output
                #expect(list.contains("q01") && list.contains("q02"))
                _ = try await later.run("database", "stop")
            }
        }
    }

    /// The block of commands whose first line begins with `first`.
    private static func commands(beginning first: String) throws -> String {
        let lines = try String(contentsOf: projectFile("docs/operating.md"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("    \(first)") })
        return lines[start...].prefix { $0.hasPrefix("    ") }.joined(separator: "\n")
    }
}

/// Runs commands as an operator would type them.
private struct Shell {
    let folder: URL
    /// The path of any of PostgreSQL's programs; its folder has the others.
    let programs: String
    let variables: [String: String]

    func run(_ commands: String) async throws {
        let places = [programs, try QuakesCommand.path].map {
            URL(filePath: $0).deletingLastPathComponent().path
        }
        var environment: [Environment.Key: String] = [
            "PATH": "\(places.joined(separator: ":")):/usr/bin:/bin", "LC_ALL": "C.UTF-8",
        ]
        for (name, value) in variables { environment[.init(stringLiteral: name)] = value }
        let result = try await Subprocess.run(
            .path("/bin/sh"), arguments: ["-euc", commands], environment: .custom(environment),
            workingDirectory: .init(folder.path), output: .discarded, error: .string(limit: 1 << 16))
        #expect(result.terminationStatus.isSuccess, "\(commands)\n\(result.standardError)")
    }
}
