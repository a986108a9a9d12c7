import GRDB
import GRDBSQLite
import QuakeStore
import Synchronization

/// The earthquakes in a SQLite file of the reader's own. Other programs can read the file while it is kept up to date
/// (WAL mode).
///
/// A crash of the machine can take rows and position back to an earlier state, because commits do not wait for the disk
/// (`synchronous = normal`). Following then goes on from that state.
///
/// The table `quake` has the columns of the server's table: numbers as numbers, booleans as 0 and 1, times as ISO 8601
/// text in UTC with milliseconds, arrays and JSON as JSON text. NaN, which SQLite lacks, is null. The table `position`
/// has one row, which says up to where the rows are current. Both tables change in one SQLite transaction: kill the
/// process at any moment, and it resumes exactly.
public final class SQLiteView: View {
    /// "quak", which marks the file as a view (https://www.sqlite.org/fileformat2.html#application_id).
    static let applicationID = 0x7175_616B
    /// The version of the file's form. A view of another form is rebuilt.
    static let version = 1

    private let path: String
    let queue: DatabaseQueue
    private let lock: FollowerLock
    private let table: Mutex<SQLiteTable>

    /// Opens the file, or creates it.
    ///
    /// - Throws: `FollowedAlready` when another process follows into it; `FileError`; `ViewError` when it is not a
    ///   view.
    public init(_ path: String) throws {
        self.path = path
        _ = try FileForm(at: path)
        lock = try FollowerLock(path)
        do {
            queue = try DatabaseQueue(path: lock.path, configuration: Self.configuration)
            table = Mutex(try queue.read { try SQLiteTable(in: $0) })
        } catch let error as DatabaseError {
            throw ViewError(path: path, error)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(10)
        // The transaction of a pass lasts over many accesses.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            // This comes first, so that it is in the file itself and not only in its log. FileForm looks in the file.
            if try Int.fetchOne(db, sql: "pragma application_id") == 0 {
                try db.execute(sql: "pragma application_id = \(applicationID)")
            }
            try db.execute(sql: "pragma synchronous = normal")
            // Keeps a fresh snapshot of many rows from leaving a log of the same size.
            try db.execute(sql: "pragma journal_size_limit = 67108864")
            // The empty log stays. Programs that may only read need it (https://www.sqlite.org/wal.html#readonly).
            var persists: CInt = 1
            sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &persists)
        }
        return configuration
    }

    // MARK: View

    public func position() async throws -> Position? {
        do {
            return try await queue.read { db in try Position(db) }
        } catch let error as DatabaseError {
            throw ViewError(path: path, error)
        }
    }

    public func accepts(_ columns: [ViewColumn]) -> Bool {
        table.withLock { $0.columns } == columns.map { SQLiteColumn($0) }
    }

    public func apply(_ pass: Pass) async throws -> Position {
        // Without a fresh start, the columns are the accepted ones.
        let table = pass.freshStart == nil ? table.withLock { $0 } : SQLiteTable(pass.columns)
        do {
            let writer = try PassWriter(pass, into: table, on: queue)
            do {
                let position = try await pass.forEachRow { row in try writer.write(&row) }
                try writer.commit(position)
                self.table.withLock { $0 = table }
                return position
            } catch {
                writer.rollBack()
                throw error
            }
        } catch let error as DatabaseError {
            throw ViewError(path: path, error)
        }
    }
}

extension Position {
    /// nil when the file holds no position, or has another form.
    init?(_ db: Database) throws {
        guard try Int.fetchOne(db, sql: "pragma user_version") == SQLiteView.version,
            let row = try Row.fetchOne(db, sql: "select store, token, committed_at from position")
        else { return nil }
        self.init(store: row["store"], token: row["token"], committedAt: row["committed_at"])
    }
}

/// The file's table `quake`.
struct SQLiteTable: Sendable {
    /// Empty while there is no table.
    let columns: [SQLiteColumn]
    /// Writes a row. If there is already one with the same code, that row is updated. Unlike `insert or replace`, this
    /// keeps the row in its place and the index untouched, so half as many pages have to be written.
    let upsert: String

    init(_ columns: [ViewColumn]) {
        self.init(columns.map { SQLiteColumn($0) })
    }

    init(in db: Database) throws {
        self.init(
            try Row.fetchAll(db, sql: "select name, type from pragma_table_info('quake') order by cid")
                .map { SQLiteColumn($0) })
    }

    private init(_ columns: [SQLiteColumn]) {
        self.columns = columns
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let values = columns.filter { $0.name != "code" }
            .map { "\($0.quotedName) = excluded.\($0.quotedName)" }.joined(separator: ", ")
        upsert = "insert into quake values (\(marks)) on conflict (code) do update set \(values)"
    }

    var definition: String {
        let columns = columns.map {
            "\($0.quotedName) \($0.type)\($0.name == "code" ? " primary key not null" : "")"
        }
        return "create table quake (\(columns.joined(separator: ", ")))"
    }
}

struct SQLiteColumn: Equatable, Sendable {
    let name: String
    let type: String

    init(_ column: ViewColumn) {
        name = column.name
        type =
            switch column.kind {
            case .integer, .boolean: "integer"
            case .real: "real"
            case .text, .time, .json: "text"
            }
    }

    fileprivate init(_ row: Row) {
        name = row["name"]
        type = (row["type"] as String).lowercased()
    }

    fileprivate var quotedName: String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
