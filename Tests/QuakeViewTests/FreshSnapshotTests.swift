import Foundation
import GRDB
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import QuakeView

@Suite("Fresh snapshots of a view")
struct FreshSnapshotTests {
    @Test("After several snapshots, the file is sound and not larger, and SQLite's log ends as an empty file")
    func size() async throws {
        try await withView { database, path in
            try await database.insert(10_000, width: 600)
            var sizes: [Int] = []
            for _ in 1...3 {
                // The pruning forces a fresh snapshot.
                try await database.query("update quake set felt = felt + 1")
                try await database.query("select history.prune('0')")
                try await database.catchUp(SQLiteView(path))
                sizes.append(try size(of: path))
            }

            let first = try #require(sizes.first)
            #expect(sizes.allSatisfy { $0 < first * 11 / 10 }, "\(sizes)")
            let log = try size(of: path + "-wal")
            #expect(log == 0)
            try await DatabaseQueue(path: path, configuration: .reader).read { db in
                #expect(try String.fetchOne(db, sql: "pragma integrity_check") == "ok")
                let rows = try Int.fetchOne(db, sql: "select count(*) from quake")
                #expect(rows == 10_000)
            }
        }
    }

    /// view:   writes to its log ───────── last row fails ─ next pass
    /// reader:                 reads old ─ reads old ──────────────── reads new
    /// copy:                   is made ─── is opened: has the old rows, or none
    @Test(
        "Readers see the old rows until all new rows are written, even if the pass fails or is killed",
        arguments: [false, true])
    func halfDone(first: Bool) async throws {
        try await withView { database, path in
            try await database.addColumnThatCanBreak()
            let view = try SQLiteView(path)
            var old: FileState?
            if !first {
                try await database.insert(100)
                try await database.catchUp(view)
                old = try FileState(path)
            }
            try await database.insert(10_000, from: 101, width: 600)
            try await database.breakLastRow(.backendDies)
            // The pruning forces a fresh snapshot. A catch-up would read the broken row first.
            try await database.query("select history.prune('0')")
            let reader = try DatabaseQueue(path: path, configuration: .reader)
            func seen() throws -> FileState? {
                try reader.read { db in try tables(db).contains("quake") ? FileState(db) : nil }
            }

            let passing = Task { try await database.catchUp(view) }
            let log = try size(of: path + "-wal")
            try await waitUntil { try size(of: path + "-wal") > log + 1_000_000 }
            #expect(try seen() == old)
            let killed = path + ".killed"
            for ending in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + ending, toPath: killed + ending)
            }
            try await database.help(.backendDies, passing)
            await #expect(throws: (any Error).self) { try await passing.value }

            #expect(try seen() == old)
            #expect(try tables(of: path) == (first ? [] : ["position", "quake"]))
            let successor = try SQLiteView(killed)
            #expect(try tables(of: killed) == (first ? [] : ["position", "quake"]))
            if let old { #expect(try FileState(killed) == old) }
            try await database.query("update quake set fragile = null")
            for (view, path) in [(view, path), (successor, killed)] {
                try await database.catchUp(view)
                try await database.expectSame(path)
            }
            let now = try await database.tableText()
            #expect(try seen().flatMap { now.difference(from: $0.table) } == nil)
        }
    }

    @Test("SQL views that the user has created in the file still work")
    func ownViews() async throws {
        try await withView { database, path in
            try await database.insert(10)
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let reader = try DatabaseQueue(path: path)
            try await reader.write {
                try $0.execute(sql: "create view odd as select * from quake where felt % 2 = 1")
            }
            try await database.insert(10, from: 11)
            try await database.query("select history.prune('0')")

            try await database.catchUp(view)

            let count = try await reader.read { try Int.fetchOne($0, sql: "select count(*) from odd") }
            #expect(count == 10)
        }
    }

    @Test("Rows can be deleted and replaced even if a table that the user has created refers to them")
    func references() async throws {
        try await withView { database, path in
            try await database.insert(10)
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let reader = try DatabaseQueue(path: path)
            try await reader.write {
                try $0.execute(
                    sql:
                        "create table note (code text references quake (code)); insert into note select code from quake"
                )
            }
            try await database.query("delete from quake where code = (select min(code) from quake)")
            try await database.catchUp(view)
            #expect(try await reader.read { try Int.fetchOne($0, sql: "select count(*) from quake") } == 9)

            try await database.query("select history.prune('0')")
            try await database.insert(10, from: 11)
            try await database.query("select history.prune('0')")
            try await database.catchUp(view)
            #expect(try await reader.read { try Int.fetchOne($0, sql: "select count(*) from quake") } == 19)
            #expect(try await reader.read { try Int.fetchOne($0, sql: "select count(*) from note") } == 10)
        }
    }

    private func size(of path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    private func tables(of path: String) throws -> [String] {
        try DatabaseQueue(path: path, configuration: .reader).read { try tables($0) }
    }

    private func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "select name from sqlite_schema where type = 'table' order by name")
    }
}

extension TestDatabase {
    /// Inserts events whose codes are not in order.
    fileprivate func insert(_ count: Int, from start: Int = 1, width: Int = 10) async throws {
        try await query(
            """
            insert into quake (code, net, net_code, place, felt, time, updated, longitude, latitude)
            select md5(n::text), 'q0', n::text, repeat('x', \(width)::integer), n, now(), now(), 0, 0
            from generate_series(\(start)::integer, \(start + count - 1)::integer) as n
            """)
    }
}
