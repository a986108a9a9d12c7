import Glibc

enum StandardOutput {
    static func print(_ text: String) {
        write(text + "\n")
    }

    static func write(_ text: String) {
        Array(text.utf8).withUnsafeBytes { write($0) }
    }

    /// Ends the last line of the file that output is appended to, if a killed process left it unfinished. Otherwise the
    /// next line would become part of it.
    static func endTornLine() {
        var status = stat()
        guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
        else { return }
        // Standard output is not open for reading, so the file is opened again.
        let file = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var last: UInt8 = 0
        if pread(file, &last, 1, status.st_size - 1) == 1, last != UInt8(ascii: "\n") { write("\n") }
    }

    /// Waits until the bytes that were written to a file are on disk. For anything but a file, there is nothing to wait for.
    static func synchronize() {
        guard fsync(STDOUT_FILENO) != 0, errno != EINVAL, errno != EROFS else { return }
        fail()
    }

    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    static var terminal: Terminal { Terminal(STDOUT_FILENO) }

    static func write(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = Glibc.write(
                STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN {
                    // Another process that shares the pipe or the terminal has made it non-blocking, as ssh and Node.js do.
                    var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                    poll(&output, 1, -1)
                    continue
                }
                // It is not an error if the reader of a pipe, such as head, stops reading. A full disk is an error.
                if errno == EPIPE { _exit(128 + SIGPIPE) }
                fail()
            }
            rest = rest.dropFirst(written)
        }
    }

    private static func fail() -> Never {
        StandardError.say("cannot write the output: \(String(cString: strerror(errno)))", level: .error)
        exit(ExitStatus.fileFailure)
    }
}
