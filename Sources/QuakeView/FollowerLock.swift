import Glibc

/// Makes sure that one process at a time follows into a file, on one machine. It ends with the process, however that
/// ends.
///
/// It is a lock on a file beside: SQLite's own locks on the file itself would go when any descriptor of it is
/// closed (https://www.sqlite.org/howtocorrupt.html, 2.2).
public final class FollowerLock: Sendable {
    /// The file itself, whatever links lead to it: one file has one lock.
    public let path: String
    private let descriptor: Int32

    /// - Parameter path: the file that is followed into; the lock is beside it, with the ending `.lock`.
    /// - Throws: `FollowedAlready`, or `FileError`.
    public init(_ path: String) throws {
        self.path = Self.resolved(path)
        let lock = self.path + ".lock"
        // The object's own only at the end: when an initializer throws after the last property was set, deinit runs too,
        // and would close once more what by then may be another thread's.
        let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileError(operation: "open", path: lock, code: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = Self.text(of: descriptor)
            close(descriptor)
            guard code == EWOULDBLOCK else { throw FileError(operation: "lock", path: lock, code: code) }
            throw FollowedAlready(path: path, holder: holder)
        }
        let owner = Array("process \(getpid())".utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, owner, owner.count, 0) == owner.count else {
            let code = errno
            close(descriptor)
            throw FileError(operation: "write", path: lock, code: code)
        }
        self.descriptor = descriptor
    }

    deinit {
        // Closing alone would leave it to a child that another thread has just forked, until that runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Of a file that is not there yet the folder is resolved.
    private static func resolved(_ path: String) -> String {
        func real(_ path: String) -> String? {
            guard let real = realpath(path, nil) else { return nil }
            defer { free(real) }
            return String(cString: real)
        }
        if let file = real(path) { return file }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let folder = String(path.dropLast(name.utf8.count))
        return real(folder.isEmpty ? "." : folder).map { "\($0)/\(name)" } ?? path
    }

    private static func text(of descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}

/// Another process follows into the file.
public struct FollowedAlready: Error, Equatable, CustomStringConvertible {
    public let path: String
    /// Such as `process 4711`; empty for a moment after that one started.
    public let holder: String

    public var description: String {
        "\(path) is followed into already, by \(holder.isEmpty ? "another process" : holder); stop that one, or name another file"
    }
}

/// A file of the reader's can't be read or written.
public struct FileError: Error, Equatable, CustomStringConvertible {
    public let operation: String
    public let path: String
    public let code: Int32

    public init(operation: String, path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    public var description: String { "cannot \(operation) \(path): \(String(cString: strerror(code)))" }
}
