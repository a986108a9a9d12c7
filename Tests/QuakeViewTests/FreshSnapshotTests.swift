import Foundation
import GRDB
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import QuakeView

@Suite("Fresh snapshots of a view")
struct FreshSnapshotTests {
    @Test("After a snapshot, SQLite's log has less than half of the file's size, and the file is sound")
    func log() async throws {
        try await withView { database, path in
            try await database.insert(3 * FreshTable.step, width: 600)

            try await database.catchUp(SQLiteView(path))

            let (file, log) = (try size(of: path), try size(of: path + "-wal"))
            #expect(log < file / 2, "\(log) of \(file)")
            try await DatabaseQueue(path: path, configuration: .reader).read { db in
                #expect(try String.fetchOne(db, sql: "pragma integrity_check") == "ok")
                let rows = try Int.fetchOne(db, sql: "select count(*) from quake")
                #expect(rows == 3 * FreshTable.step)
            }
        }
    }

    /// view:   step 1 commits ──────────── last row fails ─ next pass
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
            try await database.insert(FreshTable.step + 2000, from: 101)
            try await database.breakLastRow(.backendDies)
            // The pruning forces a fresh snapshot. A catch-up would read the broken row first.
            try await database.query("select history.prune('0')")
            let reader = try DatabaseQueue(path: path, configuration: .reader)
            func seen() throws -> FileState? {
                try reader.read { db in try tables(db).contains("quake") ? FileState(db) : nil }
            }

            let passing = Task { try await database.catchUp(view) }
            try await waitUntil {
                try reader.read { db in
                    try tables(db).contains("quake_new")
                        && Int.fetchOne(db, sql: "select count(*) from quake_new") == FreshTable.step
                }
            }
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

    @Test(
        "An unfinished snapshot is removed from the file at the next start, even if that start needs no snapshot"
    )
    func leftover() async throws {
        try await withView { database, path in
            try await database.insert(10)
            try await database.catchUp(SQLiteView(path))
            try await DatabaseQueue(path: path).write {
                try $0.execute(sql: "create table quake_new (code text)")
            }

            let log = RecordedLog()
            try await database.catchUp(SQLiteView(path), log: log)

            #expect(try tables(of: path) == ["position", "quake"])
            #expect(!log.lines.contains { $0.contains("snapshot") })
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
