import Glibc
import NIOCore

/// How many files and connections the process may have open.
enum OpenFiles {
    /// What the process itself may need beside its clients: the database, logs, libraries, and three for each event loop.
    private static let own = 64 + 3 * System.coreCount

    /// Raises the limit as far as the system allows.
    ///
    /// - Returns: how many connections of clients there is room for. A quarter is left for the temporary files of slow ones.
    static func roomForConnections() -> Int {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(files, &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(files, &limit)
        getrlimit(files, &limit)
        return max(1, (Int(clamping: limit.rlim_cur) - own) / 4 * 3)
    }
}
