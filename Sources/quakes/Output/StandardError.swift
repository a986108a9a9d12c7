import Glibc

/// Standard error, for everything but results.
enum StandardError {
    static func print(_ text: String) {
        Array((text + "\n").utf8).withUnsafeBytes { StandardOutput.write($0, to: STDERR_FILENO) }
    }

    /// Writes over the current line of a terminal.
    static func replaceLine(_ text: String) {
        Array("\r\u{1B}[K\(text)".utf8).withUnsafeBytes { StandardOutput.write($0, to: STDERR_FILENO) }
    }

    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}
