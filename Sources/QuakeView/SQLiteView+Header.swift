import Feed
import Foundation
import GRDBSQLite
import Glibc
import QuakeStore

extension SQLiteView {
    /// Whether the file is a view; false if there is no file, or if it is empty. The file and its log are not changed.
    ///
    /// Only the file's header is read. The rest of the file may be inconsistent if a checkpoint was interrupted. A query could
    /// change the file: after a program was killed, SQLite may move that program's log into the file.
    ///
    /// SQLite opens and closes the file. If this process closed a descriptor that it had opened itself, the locks of all its
    /// SQLite connections to the file would be released (https://www.sqlite.org/howtocorrupt.html, 2.2).
    ///
    /// - Throws: `Failure` if the file cannot be read, or belongs to another program.
    static func isView(at path: String) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw Failure(cannot: "read", path, code: errno) }
            return false
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw Failure(cannot: "read", path, code: EISDIR)
        }
        guard access(path, R_OK) == 0 else { throw Failure(cannot: "read", path, code: errno) }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        if isFile, status.st_size == 0 { return false }
        guard isFile, storedID(of: path) == applicationID else {
            throw Failure(
                .badData, "\(path): it is not a view but another program's file; name another file")
        }
        return true
    }

    /// The application's ID in the header; nil when the file is not a database
    /// (https://www.sqlite.org/fileformat2.html#the_database_header).
    private static func storedID(of path: String) -> Int? {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        var file: UnsafeMutablePointer<sqlite3_file>?
        var header = [UInt8](repeating: 0, count: 100)
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
            sqlite3_file_control(connection, nil, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let read = file.pointee.pMethods?.pointee.xRead,
            read(file, &header, CInt(header.count), 0) == SQLITE_OK,
            header.starts(with: Array("SQLite format 3\0".utf8))
        else { return nil }
        return header[68..<72].reduce(0) { $0 << 8 | Int($1) }
    }
}
