import Glibc
import NIOCore

enum OpenFiles {
    /// The process's own need beside its clients: the database, logs, libraries, and three for each event loop.
    private static let own = 64 + 3 * System.coreCount

    /// Raises the limit as far as the system allows.
    ///
    /// - Returns: how many connections of clients there is room for. A quarter is left for the temporary files of slow ones.
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
        // The folder itself and the one above it, and what reads it.
        return max(0, count - 3)
    }

    private static let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    private static var limits: rlimit {
        var limits = rlimit()
        getrlimit(files, &limits)
        return limits
    }
}
