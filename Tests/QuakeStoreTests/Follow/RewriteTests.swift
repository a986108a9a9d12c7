import Feed
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// In most of these tests, a reader queries while another session rewrites the table, and waits for that session's commit. A
/// snapshot from before the commit would see no rows (https://www.postgresql.org/docs/current/mvcc-caveats.html).
@Suite("A table that is being rewritten is never mistaken for an empty one")
struct RewriteTests {
    let server = TestServer.shared

    @Test("A list of the present or of a past moment has all events")
    func list() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures(["a", "b"].map { SmallFeed.feature($0) })
            try await database.query("delete from quake where code = 'q0b'")
            for asOf in [nil, PastMoment.token(1)] {
                let codes = try await database.altering(.unlogging) {
                    var selection = QuakeSelection()
                    selection.asOf = asOf
                    return try await database.codes(of: selection)
                }
                #expect(codes == (asOf == nil ? ["q0a"] : ["q0a", "q0b"]))
            }
        }
    }

    @Test("A report has all events, even for a login that may read only reports")
    func report() async throws {
        try await server.withRoles { roles in
            let database = roles.database
            try await database.importFeatures(["a", "b"].map { SmallFeed.feature($0) })
            let login = roles.login(.report)
            let rows = try await database.altering {
                try await login.withConnection { connection in
                    let report = try #require(
                        try await Report.all(on: connection).first { $0.name == "largest_event" })
                    let rows = Mutex(0)
                    try await report.forEachRow([:], limit: nil, for: .json, on: connection) { _ in
                        rows.withLock { $0 += 1 }
                    }
                    return rows.withLock { $0 }
                }
            }
            #expect(rows == 2)
        }
    }

    @Test("History shows the values of an insert while the table is being rewritten")
    func history() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a", magnitude: "4.5")])
            let magnitudes = try await database.altering {
                var selection = ChangeSelection()
                selection.describesEvents = true
                return try await database.withConnection { connection in
                    let magnitudes = Mutex<[Double?]>([])
                    try await selection.forEach(on: connection) { change in
                        magnitudes.withLock { $0.append(change.magnitude) }
                    }
                    return magnitudes.withLock { $0 }
                }
            }
            #expect(magnitudes == [4.5])
        }
    }

    // MARK: The contract for readers in any language

    @Test(
        "A reader whose snapshot is older than the rewrite gets an error instead of no rows",
        arguments: ["history.changes(0, 'quake')", "history.changed_keys(0, 'quake')"])
    func oldSnapshot(_ function: String) async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.withConnection { connection in
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.transaction(.repeatableReadOnly, to: "follow") {
                        _ = try await connection.query("select history.position()", to: "take a snapshot")
                        try await database.query("\(unescaped: Alteration.rewriting.statement)")
                        try await connection.query("select * from \(unescaped: function)", to: "follow")
                    }
                }
                #expect(error?.sqlState == "40001")
                #expect(error?.description.contains("was rewritten after this snapshot was taken") == true)
                let rows = try await connection.query("select * from \(unescaped: function)", to: "follow")
                #expect(rows.count == 1)
            }
        }
    }

    @Test("A reader that locks the table first waits for the rewrite, and reads all rows")
    func lockFirst() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let rows = try await database.altering {
                try await database.withConnection { connection in
                    try await connection.execute(
                        script:
                            "begin isolation level repeatable read; lock table quake in access share mode",
                        to: "hold the table")
                    return try await connection.query(
                        "select key from history.changes(0, 'quake') where \"row\" is not null", to: "follow"
                    ).count
                }
            }
            #expect(rows == 1)
        }
    }

    @Test("A query that has ended does not block an alteration of the table")
    func released() async throws {
        try await server.withDatabase { database in
            try await database.withConnection { connection in
                _ = try await connection.query("select * from history.changes(0, 'quake')", to: "follow")
                try await database.query("\(unescaped: Alteration.rewriting.statement)")
            }
        }
    }

    // MARK: The shape

    @Test(
        "The table's shape changes with alterations that may change rows unrecorded, and not with others"
    )
    func shape() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.execute(
                """
                create type mood as enum ('calm', 'restless');
                create domain temper as mood;
                create type level as enum ('low', 'high');
                create domain level_list as level[];
                create domain levels as level_list;
                alter table quake add column by text default 'anna', add column risk numeric default 1.5,
                                  add column moods mood[], add column temper temper, add column levels levels,
                                  add column small int, add column large oid
                """)
            var shape = try await database.shape()
            for change in [
                "alter table quake drop column by; alter table quake add column by text default 'bert'",
                "alter table quake alter column by type text using upper(by)",
                "alter table quake alter column risk type numeric using risk * 2",
                "alter table quake alter small type oid, alter large type int",
                "alter table quake rename column by to checked_by",
                "alter table quake rename checked_by to other; alter table quake rename place to checked_by; alter table quake rename other to place",
                "alter type mood rename value 'calm' to 'quiet'",
                "alter type mood add value 'furious'", "alter type level rename value 'low' to 'deep'",
                "alter table quake set unlogged",
            ] {
                try await database.execute(change)
                let new = try await database.shape()
                #expect(new != shape, "\(change)")
                shape = new
            }
            for change in [
                "vacuum full quake", "cluster quake using quake_pkey", "reindex table quake", "analyze quake",
                "vacuum full pg_attribute", "update quake set felt = 7",
                "comment on column quake.felt is 'reports'", "create index on quake (felt)",
                "grant select (felt) on quake to public", "alter table quake alter felt set statistics 100",
                "alter table quake alter felt set default 1", "alter table quake alter felt set not null",
                "alter table quake alter extra set storage external",
                "alter table quake add check (felt > 0)",
            ] {
                try await database.execute(change)
                #expect(try await database.shape() == shape, "\(change)")
            }
        }
    }
}

extension TestDatabase {
    fileprivate func shape() async throws -> String {
        try await query("select history.shape('quake') as shape")[0].decode("shape")
    }

    fileprivate func codes(of selection: QuakeSelection) async throws -> [String] {
        try await withConnection { connection in
            let codes = Mutex<[String]>([])
            try await selection.forEach(on: connection) { quake in codes.withLock { $0.append(quake.code) } }
            return codes.withLock { $0 }.sorted()
        }
    }
}
