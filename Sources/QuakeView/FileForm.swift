import Foundation
import GRDBSQLite
import Glibc
import QuakeStore

/// What is at the path of a view.
enum FileForm {
    /// No file, or an empty one.
    case nothing
    case view

    /// Looks without leaving a trace.
    ///
    /// SQLite that opens a file in earnest may move the log of a program that was killed into it. And closing a
    /// descriptor of our own would end the locks of all connections this process has to the file
    /// (https://www.sqlite.org/howtocorrupt.html, 2.2). So SQLite looks, and takes the file for one that never changes.
    ///
    /// - Throws: `FileError`; `ViewError` when it is the file of another program.
    init(at path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw FileError(operation: "read", path: path, code: errno) }
            self = .nothing
            return
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw FileError(operation: "read", path: path, code: EISDIR)
        }
        guard access(path, R_OK) == 0 else { throw FileError(operation: "read", path: path, code: errno) }
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
            self = .nothing
        } else if status.st_mode & S_IFMT == S_IFREG, Self.applicationID(of: path) == SQLiteView.applicationID
        {
            self = .view
        } else {
            throw ViewError(
                path: path, isFailure: false,
                message: "it is no view, but another program's file; name another one")
        }
    }

    /// nil when it is no database.
    private static func applicationID(of path: String) -> Int? {
        var connection: OpaquePointer?
        var statement: OpaquePointer?
        defer {
            sqlite3_finalize(statement)
            sqlite3_close_v2(connection)
        }
        let address = URL(filePath: path).absoluteString + "?immutable=1"
        guard sqlite3_open_v2(address, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil) == SQLITE_OK,
            sqlite3_prepare_v2(connection, "pragma application_id", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { return nil }
        return Int(sqlite3_column_int(statement, 0))
    }
}
