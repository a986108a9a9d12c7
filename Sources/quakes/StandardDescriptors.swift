import Glibc

/// Keeps the descriptors 0, 1 and 2 for standard input, output and error, even when the process was started without them.
enum StandardDescriptors {
    /// Opens `/dev/null` in place of each standard descriptor that is closed. Otherwise the next file or socket, such as the
    /// connection to the database, gets its number, and results are written into it.
    ///
    /// Input and output fail as if they were still closed: a result that does not arrive must not look like success.
    /// Messages on standard error are lost silently.
    ///
    /// Call it before anything else: Swift's own event loop opens descriptors too.
    static func reserve() {
        for (descriptor, mode) in [
            (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDWR),
        ] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // `open` always returns the lowest free number.
            guard open("/dev/null", mode) == descriptor else { exit(ExitStatus.fileFailure) }
        }
    }
}
