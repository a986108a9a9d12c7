import Feed
import GRDB
import GRDBSQLite
import QuakeStore

/// Writes one pass as one SQLite transaction. A fresh snapshot goes into a table of its own first: see `FreshTable`.
///
/// Values go from the server's bytes to SQLite's without a String in between. GRDB prepares the statements and owns the
/// transaction; SQLite's own functions bind each row.
///
/// Its methods are called one after another, and nothing else uses the connection until the pass ends. This makes it
/// safe to hold values that are not Sendable.
final class PassWriter: @unchecked Sendable {
    private let pass: Pass
    private let queue: DatabaseQueue
    private let upsert: Statement
    private let delete: Statement
    /// Takes the rows of a fresh start; nil when the pass changes those that there are.
    private let fresh: FreshTable?
    private var time: [UInt8] = []

    /// Opens the transaction.
    init(_ pass: Pass, into table: SQLiteTable, on queue: DatabaseQueue) throws {
        self.pass = pass
        self.queue = queue
        let fresh = pass.freshStart.map { _ in FreshTable(table) }
        self.fresh = fresh
        (upsert, delete) = try queue.writeWithoutTransaction { db in
            try Self.checkIsThere(db)
            try fresh?.create(db)
            try db.beginTransaction(.immediate)
            do {
                let name = fresh == nil ? "quake" : FreshTable.name
                return (
                    try db.cachedStatement(sql: fresh?.insert ?? table.upsert),
                    try db.cachedStatement(sql: "delete from \(name) where code = ?")
                )
            } catch {
                try db.rollback()
                throw error
            }
        }
    }

    /// A file that was removed can still be written, but nobody would ever read it.
    private static func checkIsThere(_ db: Database) throws {
        var hasMoved: CInt = 0
        sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        guard hasMoved == 0 else {
            throw DatabaseError(
                resultCode: .SQLITE_READONLY,
                message: "the file was removed or replaced; start following again")
        }
    }

    /// Uses only SQLite's own functions, so that a row need not go through GRDB's queue.
    func write(_ row: inout ViewRow) throws {
        if row.isGone {
            try bind(row.code, at: 1, of: delete)
            try run(delete)
        } else {
            for (index, column) in pass.columns.enumerated() {
                try bind(row.next(column), at: Int32(index + 1))
            }
            try run(upsert)
        }
        if let fresh, fresh.isFull() { try queue.writeWithoutTransaction { try fresh.save($0) } }
    }

    func commit(_ position: Position) throws {
        try queue.writeWithoutTransaction { db in
            try fresh?.replaceTable(db)
            let statement = try db.cachedStatement(
                sql: pass.freshStart == nil
                    ? "update position set store = ?, token = ?, committed_at = ?"
                    : "insert into position values (?, ?, ?)")
            try statement.execute(arguments: [position.store, position.token, position.committedAt])
            try db.commit()
        }
    }

    /// After some errors, such as a full disk, SQLite has already rolled back.
    func rollBack() {
        queue.writeWithoutTransaction { db in
            // Even if this fails, the rows stay as they were, because the transaction is never committed.
            do {
                if db.isInsideTransaction { try db.rollback() }
                if fresh != nil { try FreshTable.remove(db) }
            } catch {}
        }
    }

    // MARK: SQLite

    private func bind(_ value: ViewValue, at index: Int32) throws {
        let statement = upsert.sqliteStatement
        switch value {
        case .null: try check(sqlite3_bind_null(statement, index), upsert)
        case .integer(let integer): try check(sqlite3_bind_int64(statement, index, integer), upsert)
        case .real(let real): try check(sqlite3_bind_double(statement, index, real), upsert)
        case .boolean(let boolean): try check(sqlite3_bind_int64(statement, index, boolean ? 1 : 0), upsert)
        case .text(let bytes): try bind(bytes, at: index, of: upsert)
        case .time(let instant):
            time.removeAll(keepingCapacity: true)
            instant.appendText(to: &time)
            // SQLite takes a copy, because the row's next time reuses the buffer.
            try time.withUnsafeBytes { try bind($0, at: index, of: upsert, copied: true) }
        }
    }

    /// Without a copy, the bytes must stay valid until the statement has run.
    private func bind(
        _ bytes: UnsafeRawBufferPointer, at index: Int32, of statement: Statement, copied: Bool = false
    ) throws {
        // An empty text needs an address; otherwise SQLite would store null.
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT
        let code =
            if let start {
                sqlite3_bind_text(
                    statement.sqliteStatement, index, start, Int32(bytes.count), copied ? transient : nil)
            } else {
                sqlite3_bind_text(statement.sqliteStatement, index, "", 0, transient)
            }
        try check(code, statement)
    }

    private func run(_ statement: Statement) throws {
        let code = sqlite3_step(statement.sqliteStatement)
        sqlite3_reset(statement.sqliteStatement)
        guard code == SQLITE_DONE else { return try check(code, statement) }
    }

    private func check(_ code: CInt, _ statement: Statement) throws {
        guard code != SQLITE_OK else { return }
        throw DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(sqlite3_db_handle(statement.sqliteStatement))))
    }
}
