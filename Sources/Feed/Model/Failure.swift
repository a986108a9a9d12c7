import Glibc

/// Why a command fails: the sentence for people, and the exit code.
public struct Failure: Error, Equatable, CustomStringConvertible {
    /// The kinds of failures, with their exit codes from sysexits.h.
    public enum Kind: Int32, Sendable {
        case usage = 64
        case badData = 65
        case noInput = 66
        case unavailable = 69
        case file = 74
        case busy = 75
    }

    public let kind: Kind
    public let description: String

    public init(_ kind: Kind, _ description: String) {
        (self.kind, self.description) = (kind, description)
    }

    /// A system call on a file has failed.
    ///
    /// - Parameters:
    ///   - operation: what could not be done to the file, such as `read`.
    ///   - code: the value of `errno`.
    public init(cannot operation: String, _ path: String, code: Int32) {
        self.init(
            code == ENOENT && operation == "read" ? .noInput : .file,
            "cannot \(operation) \(path): \(String(cString: strerror(code)))")
    }
}
