import Glibc

/// Keeps the descriptors 0, 1 and 2 for standard input, output and error, even when the process was started without them.
enum StandardDescriptors {
    /// Opens `/dev/null` in place of each standard descriptor that is closed. Otherwise the next file or socket that is opened,
    /// such as the connection to the database, would get the free number, and results would be written into it.
    ///
    /// Reading standard input and writing standard output still fail, because a lost result must not look like success. Messages
    /// on standard error are lost silently.
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
