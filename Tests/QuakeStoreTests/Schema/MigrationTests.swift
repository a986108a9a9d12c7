import Feed
import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Migrations")
struct MigrationTests {
    let server = TestServer.shared

    @Test("The program contains every SQL file, with its number and name")
    func allFilesAreCarried() throws {
        let folder = projectFile("migrations")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".sql") }.sorted()

        #expect(Migration.all.map { "\($0.title).sql" } == files)
        #expect(Migration.all.map(\.number) == Array(1...files.count))
        for (migration, file) in zip(Migration.all, files) {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            #expect(migration.sql == text)
        }
    }

    @Test("An empty database is migrated once")
    func migratesOnce() async throws {
        try await server.withEmptyDatabase { database in
            try await database.withConnection { connection in
                let migrator = Migrator(connection)
                let before = try await migrator.difference()

                let applied = try await migrator.migrate()

                let after = try await migrator.difference()
                #expect(before == MigrationError.behind(Migration.all.map(\.title)))
                #expect(applied == Migration.all.map(\.title))
                #expect(after == nil)
                let again = try await migrator.migrate()
                #expect(again.isEmpty)
            }
        }
    }

    @Test("Eight migrators that run at the same time apply each migration once")
    func concurrentMigrators() async throws {
        try await server.withEmptyDatabase { database in
            let applied = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await database.withConnection { try await Migrator($0).migrate().count }
                    }
                }
                return try await group.reduce(0, +)
            }

            #expect(applied == Migration.all.count)
        }
    }

    @Test("A migration that was edited after it was applied is noticed")
    func editedMigration() async throws {
        try await server.withDatabase { database in
            try await database.query("update import.migration set checksum = 'another' where number = 1")

            await #expect(throws: MigrationError.edited("0001_history")) {
                try await database.withConnection { try await Migrator($0).difference() }
            }
        }
    }

    @Test("A checksum is FNV-1a in 16 digits, and the database keeps it")
    func checksums() async throws {
        // http://www.isthe.com/chongo/src/fnv/test_fnv.c
        #expect([UInt8]("".utf8).hashText == "cbf29ce484222325")
        #expect([UInt8]("a".utf8).hashText == "af63dc4c8601ec8c")
        #expect([UInt8]("foobar".utf8).hashText == "85944171f73967e8")
        try await server.withDatabase { database in
            let kept = try await database.query("select checksum from import.migration order by number")
            #expect(try kept.map { try $0.decode("checksum") } == Migration.all.map(\.checksum))
            #expect(Migration.all.allSatisfy { $0.checksum.wholeMatch(of: /[0-9a-f]{16}/) != nil })
        }
    }

    /// Every connection of every command makes this check, so it must not transfer the texts of all migrations.
    @Test("One statement without parameters checks whether a schema is current")
    func checkedByOneStatement() async throws {
        try await server.withDatabase { database in
            let log = RecordedLog()
            // Once the connection is set up, the server reports to the client each statement that it receives.
            try await Connection.with(try database.options(), logger: log.logger) { connection in
                try await connection.execute(
                    script: "set client_min_messages = log; set log_statement = 'all'", to: "log statements")
                #expect(try await Migrator(connection).difference() == nil)
                try await connection.execute(script: "reset log_statement", to: "stop logging")
            }
            let statements = log.lines.filter { $0.contains("statement: ") || $0.contains("execute ") }
            #expect(statements.count == 2, "\(statements)")
            #expect(
                statements.first?.hasSuffix(": select number, checksum from import.migration") == true)
        }
    }

    @Test("A database of a newer version is noticed and not migrated")
    func newerDatabase() async throws {
        try await server.withDatabase { database in
            try await database.query(
                "insert into import.migration (number, name, checksum) values (9999, 'later', '')")

            try await database.withConnection { connection in
                let difference = try await Migrator(connection).difference()
                #expect(difference == MigrationError.ahead(9999))
                await #expect(throws: MigrationError.ahead(9999)) { try await Migrator(connection).migrate() }
            }
        }
    }

    @Test(
        "If an object has the name of one of Quakes' objects, nothing is created, and the error names it",
        arguments: [
            ("create table quake (id integer)", "public.quake"),
            ("create schema import", "schema import"),
            ("create schema report; create table report.sale (id integer)", "schema report"),
            ("create view public.earthquake as select 1 as one", "public.earthquake"),
            ("create domain quake as integer", "public.quake"),
            ("create table quake_time (id integer)", "public.quake_time"),
        ])
    func occupied(_ statement: String, _ name: String) async throws {
        try await server.withEmptyDatabase { database in
            try await database.execute(statement)
            try await database.withConnection { connection in
                await #expect(throws: MigrationError.occupied("0001_history", "\(name) already exists")) {
                    try await Migrator(connection).migrate()
                }
            }
            #expect(
                try await database.query("select where to_regclass('import.migration') is not null").isEmpty)
        }
    }

    @Test("Settings of the database for texts and names do not change the schema or the grants")
    func settings() async throws {
        try await server.withEmptyDatabase { database in
            try await database.execute(
                """
                do $$ begin
                    execute format('alter database %I set standard_conforming_strings = off', current_database());
                    execute format('alter database %I set quote_all_identifiers = on', current_database());
                end $$
                """)
            try await database.withConnection { _ = try await Migrator($0).migrate() }
            let host = try await database.query(
                "select import.service_of('http://[2001:db8::1]:80/x') as host")
            #expect(try host[0].decode("host") == "[2001:db8::1]")
        }
    }

    @Test("A database whose encoding is not UTF-8 is refused before anything is created in it")
    func otherEncoding() async throws {
        try await server.withDatabase { database in
            try await database.query(
                "create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0")
            let latin = TestDatabase(url: try await server.cluster().url(database: "latin"))

            await #expect(throws: MigrationError.encoding("LATIN1")) {
                try await latin.withConnection { try await Migrator($0).migrate() }
            }

            #expect(try await latin.query("select from pg_namespace where nspname = 'import'").isEmpty)
            try await database.query("drop database latin")
        }
    }

    @Test("Every table, column and function has a comment, and so has every index that is not unique")
    func everythingIsCommented() async throws {
        try await server.withDatabase { database in
            let silent = try await database.query(
                """
                select c.oid::regclass || coalesce('.' || a.attname, '') as name
                from pg_class c
                join pg_namespace n on n.oid = c.relnamespace
                left join pg_attribute a
                  on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped and c.relkind <> 'i'
                where n.nspname in ('public', 'import', 'history', 'report', 'notify')
                  and c.relkind in ('r', 'v', 'm', 'p')
                  and col_description(c.oid, coalesce(a.attnum, 0)) is null
                  and obj_description(c.oid, 'pg_class') is null
                union all
                select c.oid::regclass || '.' || a.attname
                from pg_class c
                join pg_namespace n on n.oid = c.relnamespace
                join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                where n.nspname in ('public', 'import', 'history', 'report', 'notify')
                  and c.relkind in ('r', 'v', 'm', 'p')
                  and col_description(c.oid, a.attnum) is null
                union all
                select p.oid::regprocedure::text
                from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                where n.nspname in ('public', 'import', 'history', 'report', 'notify')
                  and obj_description(p.oid, 'pg_proc') is null
                union all
                select i.indexrelid::regclass::text
                from pg_index i join pg_class c on c.oid = i.indrelid
                join pg_namespace n on n.oid = c.relnamespace
                where n.nspname in ('public', 'import', 'history', 'report', 'notify') and not i.indisunique
                  and obj_description(i.indexrelid, 'pg_class') is null
                """)

            #expect(try silent.map { try $0.decode("name", as: String.self) } == [])
        }
    }
}
