import Foundation
import Migrations
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Migrations")
struct MigrationTests {
    let server = TestServer.shared

    @Test("The program contains every SQL file, under its own number and name")
    func allFilesAreCarried() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "migrations")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".sql") }.sorted()

        #expect(Migration.all.map { "\($0.title).sql" } == files)
        #expect(Migration.all.map(\.number) == Array(1...files.count))
        for (migration, file) in zip(Migration.all, files) {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            #expect(migration.sql == text)
        }
    }

    @Test("An empty database is brought up to date once")
    func migratesOnce() async throws {
        try await server.withEmptyDatabase { database in
            try await database.withConnection { connection in
                let migrator = Migrator(connection)
                let before = try await migrator.state()

                let applied = try await migrator.migrate()

                let after = try await migrator.state()
                #expect(before == .behind(Migration.all.map(\.title)))
                #expect(applied == Migration.all.map(\.title))
                #expect(after == .current)
                let again = try await migrator.migrate()
                #expect(again.isEmpty)
            }
        }
    }

    @Test("Eight migrators that run at once do the work once")
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

            await #expect(throws: MigrationError.edited("0001_quake")) {
                try await database.withConnection { try await Migrator($0).state() }
            }
        }
    }

    @Test("A database of a newer version is noticed, and not migrated")
    func newerDatabase() async throws {
        try await server.withDatabase { database in
            try await database.query(
                "insert into import.migration (number, name, checksum) values (9999, 'later', '')")

            try await database.withConnection { connection in
                let state = try await Migrator(connection).state()
                #expect(state == .ahead(9999))
                await #expect(throws: MigrationError.ahead(9999)) { try await Migrator(connection).migrate() }
            }
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

    @Test("Every table, column, index and function has a comment")
    func everythingIsCommented() async throws {
        try await server.withDatabase { database in
            let silent = try await database.query(
                """
                select c.oid::regclass || coalesce('.' || a.attname, '') as name
                from pg_class c
                join pg_namespace n on n.oid = c.relnamespace
                left join pg_attribute a
                  on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped and c.relkind <> 'i'
                where n.nspname in ('public', 'import', 'history', 'report')
                  and c.relkind in ('r', 'v', 'm', 'p')
                  and col_description(c.oid, coalesce(a.attnum, 0)) is null
                  and obj_description(c.oid, 'pg_class') is null
                union all
                select c.oid::regclass || '.' || a.attname
                from pg_class c
                join pg_namespace n on n.oid = c.relnamespace
                join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                where n.nspname in ('public', 'import', 'history', 'report')
                  and c.relkind in ('r', 'v', 'm', 'p')
                  and col_description(c.oid, a.attnum) is null
                union all
                select p.oid::regprocedure::text
                from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                where n.nspname in ('public', 'import', 'history', 'report')
                  and obj_description(p.oid, 'pg_proc') is null
                union all
                select i.indexrelid::regclass::text
                from pg_index i join pg_class c on c.oid = i.indrelid
                join pg_namespace n on n.oid = c.relnamespace
                where n.nspname in ('public', 'import', 'history', 'report') and not i.indisunique
                  and obj_description(i.indexrelid, 'pg_class') is null
                """)

            #expect(try silent.map { try $0.decode("name", as: String.self) } == [])
        }
    }
}
