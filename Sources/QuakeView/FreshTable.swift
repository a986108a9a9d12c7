import GRDB

/// Collects the rows of a fresh snapshot in a new table, which then replaces the old one.
///
/// Until then, readers of the file see the old rows, or no rows. So the new rows need not be in one transaction. They are
/// committed step by step, and SQLite's log stays small for a table of any size. The indexes are created at the end, from sorted
/// entries. Because rows arrive in no particular order, an index that grew row by row would be read and rewritten in every step
/// once the index was larger than SQLite's cache.
///
/// SQLite reuses the pages of the old table. The file does not become smaller. Indexes and triggers that other programs created
/// on the old table are dropped with it.
final class FreshTable {
    static let name = "quake_new"
    static let step = 20_000

    let insert: Statement
    private let indexes: String
    private var rows = 0

    init(_ table: SQLiteTable, _ db: Database) throws {
        try Self.remove(db)
        indexes = table.indexes
        try db.execute(sql: "create table \(Self.name) (\(table.declarations))")
        let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
        insert = try db.makeStatement(sql: "insert into \(Self.name) values (\(marks))")
    }

    static func remove(_ db: Database) throws {
        try db.execute(sql: "drop table if exists \(name)")
    }

    /// Counts one more row. Returns whether the step is now complete.
    func isFull() -> Bool {
        rows += 1
        return rows.isMultiple(of: Self.step)
    }

    /// Commits a step. SQLite then moves its log into the file, and restarts the log.
    func save(_ db: Database) throws {
        try db.commit()
        try db.beginTransaction(.immediate)
    }

    /// Puts the table in place of the old one, in the transaction that also stores the position.
    func replaceTable(_ db: Database) throws {
        try save(db)
        // Another program may have created an SQL view on the table `quake`. Without the first pragma, SQLite would refuse to
        // rename the new table while that view lacks its table.
        try db.execute(
            sql: """
                pragma legacy_alter_table = on;
                drop table if exists quake;
                alter table \(Self.name) rename to quake;
                \(indexes);
                drop table if exists position;
                create table position (
                    store text not null, token integer not null, committed_at text not null, nonce text not null,
                    shape text not null);
                insert into position values ('', 0, '', '', '');
                pragma user_version = \(SQLiteView.version)
                """)
    }
}
