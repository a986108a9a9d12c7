import Glibc

/// How many files, and thereby connections, this process may have open.
public enum OpenFiles {
    /// Raises the limit as far as the process may do that itself: many systems begin with 1024.
    public static func allowAll() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
