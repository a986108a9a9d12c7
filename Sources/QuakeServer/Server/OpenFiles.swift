import Glibc
import NIOCore

enum OpenFiles {
    /// The number of files that the process needs besides its clients' connections: files for the database, logs and libraries,
    /// and three files for each event loop.
    private static let own = 64 + 3 * System.coreCount

    /// Raises the limit of open files as far as the system allows.
    ///
    /// - Returns: the greatest number of connections that clients may hold. The process needs some of its files itself. Three
    ///   quarters of the others are for connections, and one quarter is for the temporary files of slow clients.
    static func roomForConnections() -> Int {
        var limit = limits
        limit.rlim_cur = limit.rlim_max
        setrlimit(files, &limit)
        return max(1, (self.limit - own) / 4 * 3)
    }

    static var limit: Int { Int(clamping: limits.rlim_cur) }

    static var count: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Leaves out the entries `.` and `..`, and the descriptor that reads the folder.
        return max(0, count - 3)
    }

    private static let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    private static var limits: rlimit {
        var limits = rlimit()
        getrlimit(files, &limits)
        return limits
    }
}
