import Glibc

/// Why a private cluster could not be found, created, started or stopped.
///
/// Every description names the operation, its subject and a remedy. Descriptions contain no secrets, because the cluster has no
/// password.
public struct LocalPostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// `path` does not belong to the user who would run the server. It was not touched.
    static func foreignOwner(path: String, owner: uid_t, expected: uid_t) -> LocalPostgresError {
        LocalPostgresError(
            """
            Cannot use \(path): it belongs to user ID \(owner), but user ID \(expected) would run the \
            server. Run as its owner, or set QUAKES_HOME to another folder.
            """)
    }

    /// `initdb` or the first statement failed. The attempt leaves nothing behind, unless the clean-up failed, too.
    package static func creationFailed(home: String, program: String, output: String) -> LocalPostgresError {
        LocalPostgresError(
            """
            Cannot create a PostgreSQL cluster in \(home): \(program) failed:\(block(output)) \
            Fix the cause named above, then start again.
            """)
    }

    package static func launchFailed(program: String, reason: String) -> LocalPostgresError {
        LocalPostgresError(
            """
            Cannot launch \(program): \(reason) \
            Check that the program exists and is executable, then start again.
            """)
    }

    /// A call to the operating system failed. `operation` is a verb phrase: "create the directory".
    package static func fileSystem(operation: String, path: String, code: Int32) -> LocalPostgresError {
        LocalPostgresError(
            """
            Cannot \(operation) \(path): \(String(cString: strerror(code))). Check that the folder exists, \
            has room and belongs to you, or set QUAKES_HOME to another.
            """)
    }

    /// The lines of the text, indented.
    static func block(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
        return lines.isEmpty ? " (no output)." : lines.map { "\n    \($0)" }.joined() + "\n"
    }
}
