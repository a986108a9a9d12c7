import GRDB
import Glibc
import QuakeStore

/// The file of a view cannot be read or written.
public struct ViewError: Error, CustomStringConvertible {
    public let path: String
    /// True when reading or writing failed, for example because there was no space or no permission. The file may still be an
    /// intact view. False when the file is not a view, or is damaged.
    public let isFailure: Bool
    public let message: String

    /// The error to throw for an SQLite error of a file that is in use. It is `ViewBusy` if another program keeps the file
    /// locked, because a later attempt may succeed. Otherwise it is a `ViewError`.
    static func using(_ path: String, _ error: DatabaseError) -> any Error {
        error.resultCode == .SQLITE_BUSY
            ? ViewBusy("\(path): another program keeps the file locked") : ViewError(path: path, error)
    }

    private static let failures: [ResultCode] = [
        .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_BUSY,
        .SQLITE_NOMEM,
    ]

    public var description: String { "\(path): \(message)" }
}

extension ViewError {
    init(path: String, _ error: DatabaseError) {
        self.init(
            path: path, isFailure: Self.failures.contains(error.resultCode),
            message: error.message ?? "\(error.resultCode)")
    }

    /// The error to throw for an SQLite error of a file that is only read.
    static func reading(_ path: String, _ error: DatabaseError) -> any Error {
        guard [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode),
            ["-wal", "-shm"].contains(where: { access(path + $0, F_OK) != 0 })
        else { return using(path, error) }
        return ViewError(
            path: path, isFailure: true,
            message:
                "SQLite cannot read it without the files \(path)-wal and \(path)-shm; copy them, too, or make the folder writable"
        )
    }
}
