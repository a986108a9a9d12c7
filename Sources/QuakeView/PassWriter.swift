import Feed
import GRDB
import GRDBSQLite
import QuakeStore

/// Writes passes into a view's table, each pass as one SQLite transaction.
///
/// A fresh snapshot replaces the tables. Until the commit, other programs see the old ones. SQLite reuses the old table's pages.
/// Indexes and triggers that other programs created on the old table are dropped with it.
///
/// The server's bytes are passed to SQLite without a String in between. In a small pass, only the commit uses GRDB's queue.
///
/// The methods are called one after another, and nothing else uses the connection during a pass. So the class can safely hold
/// values that are not Sendable.
final class PassWriter: @unchecked Sendable {
    let table: SQLiteTable
    private let queue: DatabaseQueue
    private let kinds: [ColumnKind]
    private let begin: Statement
    /// The statements on the view's tables; nil until they are first needed.
    private var rows: RowStatements?
    /// Inserts a row of a fresh snapshot; nil if the pass changes the existing rows.
    private var insert: Statement?
    private var time: [UInt8] = []

    private struct RowStatements {
        let upsert: Statement
        /// The statement for a row whose time has changed; nil if `upsert` writes every row.
        let retime: Statement?
        let delete: Statement
        let move: Statement

        init(_ table: SQLiteTable, _ db: Database) throws {
            upsert = try db.makeStatement(sql: table.upsert)
            retime = try table.retime.map { try db.makeStatement(sql: $0) }
            delete = try db.makeStatement(sql: "delete from quake where code = ?")
            move = try db.makeStatement(
                sql: """
                    update position set store = ?, token = ?, committed_at = ?, nonce = ?, shape = ?
                    where ?6 is null or (token = ?6 and nonce = ?7)
                    """)
        }
    }

    init(_ table: SQLiteTable, on queue: DatabaseQueue) throws {
        self.table = table
        self.queue = queue
        kinds = table.columns.map(\.kind)
        begin = try queue.writeWithoutTransaction { try $0.makeStatement(sql: "begin immediate") }
    }

    func begin(_ pass: Pass) throws {
        try checkIsThere()
        try run(begin)
        if pass.freshStart != nil {
            rows = nil
            insert = try queue.writeWithoutTransaction { db in
                try db.execute(sql: table.replacement)
                return try db.makeStatement(sql: table.insert)
            }
        } else if rows == nil {
            rows = try queue.writeWithoutTransaction { try RowStatements(table, $0) }
        }
    }

    /// Throws if the file was removed or replaced. The process could still write to the file, but no other program could read it.
    private func checkIsThere() throws {
        var hasMoved: CInt = 0
        sqlite3_file_control(connection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        guard hasMoved == 0 else {
            throw DatabaseError(
                resultCode: .SQLITE_READONLY,
                message: "the file was removed or replaced; start following again")
        }
    }

    func write(_ row: inout ViewRow) throws {
        if let insert {
            try run(insert, with: &row)
        } else if let rows {
            if row.isGone {
                try bind(row.code, at: 1, of: rows.delete)
                try run(rows.delete)
            } else {
                let again = row
                try run(rows.upsert, with: &row)
                if let retime = rows.retime, sqlite3_changes(connection) == 0 {
                    row = again
                    try run(retime, with: &row)
                }
            }
        }
    }

    private func run(_ statement: Statement, with row: inout ViewRow) throws {
        for (index, kind) in kinds.enumerated() {
            try bind(row.next(kind), at: Int32(index + 1), of: statement)
        }
        try run(statement)
    }

    /// Moves the view from the pass's position to `position`, and commits.
    ///
    /// - Throws: `DatabaseError` if another program has restored the file's content, so that the file has another position. The
    ///   pass's changes then do not belong to its rows.
    func commit(_ pass: Pass, at position: Position) throws {
        try queue.writeWithoutTransaction { db in
            // Rows arrive in no particular order, so an index that grew row by row would be read and rewritten all the time. An
            // index that is created at the end is built from sorted entries.
            if insert != nil { try db.execute(sql: table.indexes) }
            let rows = try self.rows ?? RowStatements(table, db)
            try bind(position.store, at: 1, of: rows.move)
            try bind(.integer(Int64(position.token)), at: 2, of: rows.move)
            try bind(position.committedAt, at: 3, of: rows.move)
            try bind(position.nonce, at: 4, of: rows.move)
            try bind(pass.table.signature, at: 5, of: rows.move)
            let before = insert == nil ? pass.position : nil
            try bind(before.map { .integer(Int64($0.token)) } ?? .null, at: 6, of: rows.move)
            try bind(before?.nonce ?? "", at: 7, of: rows.move)
            try run(rows.move)
            guard sqlite3_changes(connection) == 1 else {
                throw DatabaseError(
                    resultCode: .SQLITE_READONLY, message: "its content was replaced; start following again")
            }
            // GRDB commits here. A prepared commit statement that failed once would fail again at its next use, because only that
            // use would reset the statement.
            try db.commit()
            (self.rows, insert) = (rows, nil)
        }
    }

    /// Rolls back the pass. After some errors, such as a full disk, SQLite has already rolled it back.
    func rollBack() {
        queue.writeWithoutTransaction { db in
            // Even if the rollback fails, the rows stay as they were, because the transaction is never committed.
            if db.isInsideTransaction { try? db.rollback() }
            insert = nil
        }
    }

    // MARK: SQLite

    private var connection: OpaquePointer? { sqlite3_db_handle(begin.sqliteStatement) }

    private func bind(_ value: ViewValue, at index: Int32, of statement: Statement) throws {
        let bound = statement.sqliteStatement
        switch value {
        case .null: try check(sqlite3_bind_null(bound, index))
        case .integer(let integer): try check(sqlite3_bind_int64(bound, index, integer))
        case .real(let real): try check(sqlite3_bind_double(bound, index, real))
        case .boolean(let boolean): try check(sqlite3_bind_int64(bound, index, boolean ? 1 : 0))
        case .text(let bytes): try bind(bytes, at: index, of: statement)
        case .time(let instant):
            time.removeAll(keepingCapacity: true)
            instant.appendText(to: &time)
            // SQLite copies the text, because the row's next time value reuses the buffer.
            try time.withUnsafeBytes { try bind($0, at: index, of: statement, copied: true) }
        }
    }

    private func bind(_ text: String, at index: Int32, of statement: Statement) throws {
        var text = text
        try text.withUTF8 {
            try bind(UnsafeRawBufferPointer($0), at: index, of: statement, copied: true)
        }
    }

    /// If the bytes are not copied, they must stay valid until the statement has run.
    private func bind(
        _ bytes: UnsafeRawBufferPointer, at index: Int32, of statement: Statement, copied: Bool = false
    ) throws {
        // An empty text needs an address, too, because for a null pointer SQLite stores null.
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT
        let code =
            if let start {
                sqlite3_bind_text(
                    statement.sqliteStatement, index, start, Int32(bytes.count), copied ? transient : nil)
            } else {
                sqlite3_bind_text(statement.sqliteStatement, index, "", 0, transient)
            }
        try check(code)
    }

    private func run(_ statement: Statement) throws {
        let code = sqlite3_step(statement.sqliteStatement)
        sqlite3_reset(statement.sqliteStatement)
        guard code == SQLITE_DONE else { return try check(code) }
    }

    private func check(_ code: CInt) throws {
        guard code != SQLITE_OK else { return }
        throw DatabaseError(
            resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(connection)))
    }
}
