import GRDB

/// Takes the rows of a fresh snapshot in a table beside the old one, and then replaces the old one.
///
/// Until then, readers of the file see the old rows, or that there are none. So the rows need not be one transaction: they
/// are committed step by step, and SQLite's log stays as small as a step, for any table. The indexes are
/// made at the end, from sorted entries: rows come in any order, and an index that grows with them would be read and
/// written all over again for every step as soon as it is larger than SQLite's cache.
///
/// The old table's pages become free, and are used again. The file does not get smaller. Indexes and triggers that
/// others have made on the old table go with it.
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

    /// Whether the step is complete with one more row.
    func isFull() -> Bool {
        rows += 1
        return rows.isMultiple(of: Self.step)
    }

    /// Ends a step. SQLite moves its log into the file, and restarts the log.
    func save(_ db: Database) throws {
        try db.commit()
        try db.beginTransaction(.immediate)
    }

    /// Puts the table in place of the old one, in the transaction that also stores the position.
    func replaceTable(_ db: Database) throws {
        try save(db)
        // A view that another program has made in the file names a table that is missing for a moment.
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
