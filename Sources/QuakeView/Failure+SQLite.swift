import Feed
import GRDB
import Glibc

extension Failure {
    /// SQLite cannot use the file. The kind is `busy` if another program keeps the file locked, because a later attempt may
    /// succeed. It is `file` if reading or writing failed, for example because there was no space; the file may still be an intact
    /// view. Otherwise it is `badData`: the file is not a view, or is damaged.
    init(using path: String, _ error: DatabaseError) {
        let failures: [ResultCode] = [
            .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_NOMEM,
        ]
        if error.resultCode == .SQLITE_BUSY {
            self.init(.busy, "\(path): another program keeps the file locked")
        } else {
            self.init(
                failures.contains(error.resultCode) ? .file : .badData,
                "\(path): \(error.message ?? "\(error.resultCode)")")
        }
    }

    /// The same for a file that is only read.
    init(reading path: String, _ error: DatabaseError) {
        guard [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode),
            ["-wal", "-shm"].contains(where: { access(path + $0, F_OK) != 0 })
        else {
            self.init(using: path, error)
            return
        }
        self.init(
            .file,
            "\(path): SQLite cannot read it without the files \(path)-wal and \(path)-shm; copy them, too, or make the folder writable"
        )
    }
}
