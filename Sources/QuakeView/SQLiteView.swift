import Feed
import GRDB
import GRDBSQLite
import QuakeStore
import Synchronization

/// A view that keeps the earthquakes in a SQLite file. Other programs can read the file while it is kept up to date (WAL mode).
///
/// After a crash of the machine, the rows and the position may be in an earlier state, because commits do not wait for the disk
/// (`synchronous = normal`). Following then continues from that state.
///
/// The table `quake` has the columns of the server's table: numbers as numbers, booleans as 0 and 1, times as ISO 8601 text in
/// UTC with milliseconds, arrays and JSON as JSON text. NaN, which SQLite lacks, is null. The table `position` has one row: the
/// position that the rows have reached, and the shape of the server's table from which they were read. Both tables change in one
/// SQLite transaction. So if a process is killed at any moment, the next process resumes exactly at the position of the rows.
public final class SQLiteView: ReaderView {
    /// "quak", which marks the file as a view (https://www.sqlite.org/fileformat2.html#application_id).
    static let applicationID = 0x7175_616B
    /// The version of the file's schema. A view with another version is rebuilt.
    static let version = 3

    private let path: String
    let queue: DatabaseQueue
    private let lock: FollowerLock
    private let writer = Mutex<PassWriter?>(nil)
    /// The source of the rows in the file; nil until the file has rows.
    private let source: Mutex<Source?>

    /// Identifies the file's table by the statement that created it, and the server's table by its shape.
    private struct Source: Equatable {
        let definition: String
        let shape: String
    }

    /// - Parameter patience: how long to wait while another program keeps the file locked.
    /// - Throws: `Failure` if another process already follows into the file, if the file is not a view, if SQLite cannot use it, or
    ///   if another program keeps it locked.
    public init(_ path: String, patience: Duration = .seconds(10)) throws {
        self.path = path
        _ = try Self.isView(at: path)
        lock = try FollowerLock(path)
        do {
            queue = try DatabaseQueue(path: lock.path, configuration: Self.configuration(patience))
            source = Mutex(
                try queue.writeWithoutTransaction { db in
                    guard try Position(db) != nil, let definition = try SQLiteTable.definition(in: db),
                        let shape = try String.fetchOne(db, sql: "select shape from position")
                    else { return nil }
                    return Source(definition: definition, shape: shape)
                })
        } catch let error as DatabaseError {
            throw Failure(using: path, error)
        }
    }

    private static func configuration(_ patience: Duration) -> Configuration {
        var configuration = Configuration()
        configuration.journalMode = .wal
        // A user's table may refer to the view's rows. As in SQLite itself, such a reference does not keep a row.
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(patience / .seconds(1))
        // The transaction of a pass spans several accesses to the queue.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            // The ID is set first, so that it is in the file itself and not only in the log. `isView` reads only the file.
            if try Int.fetchOne(db, sql: "pragma application_id") == 0 {
                try db.execute(sql: "pragma application_id = \(applicationID)")
            }
            try db.execute(sql: "pragma synchronous = normal")
            // A checkpoint, which moves the log into the file, takes as long as many small passes. So a checkpoint starts only
            // when the log has about 16 MB, rather than 4 MB. The size is random, because many views of one server get the same
            // commits. If all views used one size, all of them would start a checkpoint at the same commit.
            try db.execute(sql: "pragma wal_autocheckpoint = \(Int.random(in: 3000...5000))")
            // Without a limit, the log would keep the size of the longest pass.
            try db.execute(sql: "pragma journal_size_limit = 67108864")
            // The rows are not secret, so deleted rows need not be overwritten. To overwrite them, SQLite would have to write
            // every page that held them.
            try db.execute(sql: "pragma secure_delete = off")
            // Keeps the log file even when the log is empty, because programs without write permission need it
            // (https://www.sqlite.org/wal.html#readonly).
            var persists: CInt = 1
            sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &persists)
        }
        return configuration
    }

    // MARK: ReaderView

    public func position() async throws -> Position? {
        do {
            return try await queue.read { db in try Position(db) }
        } catch let error as DatabaseError {
            throw Failure(using: path, error)
        }
    }

    public func accepts(_ table: TableShape) -> Bool {
        let known = writer.withLock { $0?.table }
        let own = known?.columns == table.columns ? known : nil
        let source = Source(
            definition: (own ?? SQLiteTable(table.columns)).definition, shape: table.signature)
        return self.source.withLock { $0 == source }
    }

    public func apply(_ pass: Pass) async throws -> Position {
        do {
            let writer = try writer(for: pass.table.columns)
            do {
                try writer.begin(pass)
                let position = try await pass.forEachRow { row in try writer.write(&row) }
                try writer.commit(pass, at: position)
                source.withLock {
                    $0 = Source(definition: writer.table.definition, shape: pass.table.signature)
                }
                return position
            } catch {
                writer.rollBack()
                throw error
            }
        } catch let error as DatabaseError {
            throw Failure(using: path, error)
        }
    }

    private func writer(for columns: [ViewColumn]) throws -> PassWriter {
        if let known = writer.withLock({ $0 }), known.table.columns == columns { return known }
        let new = try PassWriter(SQLiteTable(columns), on: queue)
        writer.withLock { $0 = new }
        return new
    }
}

extension Position {
    /// Reads the position from a view's file; nil if the file contains no position, or has another version.
    ///
    /// - Throws: `DatabaseError`, also when the position is damaged.
    init?(_ db: Database) throws {
        guard try Int.fetchOne(db, sql: "pragma user_version") == SQLiteView.version,
            let row = try Row.fetchOne(db, sql: "select store, token, committed_at, nonce from position")
        else { return nil }
        // Another program may have written any values there.
        let (store, token, committedAt, nonce): (DatabaseValue, DatabaseValue, DatabaseValue, DatabaseValue) =
            (
                row["store"], row["token"], row["committed_at"], row["nonce"]
            )
        guard let store = String.fromDatabaseValue(store), let token = Int.fromDatabaseValue(token),
            let committedAt = String.fromDatabaseValue(committedAt),
            let nonce = String.fromDatabaseValue(nonce),
            let position = Position(word: "\(token)_\(committedAt)_\(nonce)_\(store)")
        else {
            throw DatabaseError(
                message: "its position is damaged; remove the file, and quakes follow recreates it")
        }
        self = position
    }
}
