import Feed
import Foundation

/// The lock that lets only one process on a machine follow into a file at a time. The lock ends with the process, even if the
/// process is killed.
///
/// The lock is on a separate file beside the view's file. If the lock were on the view's file itself, SQLite's locks would be
/// lost when this process closed the lock's descriptor (https://www.sqlite.org/howtocorrupt.html, 2.2).
public final class FollowerLock: Sendable {
    /// The real path of the file, with links resolved, so that one file has one lock.
    public let path: String
    private let descriptor: Int32

    /// - Parameter path: the file to follow into. The lock file is beside it and has `.lock` added to its name.
    /// - Throws: `Failure` if another process already follows into the file, or the lock file cannot be used.
    public init(_ path: String) throws {
        self.path = Self.resolved(path)
        let lock = self.path + ".lock"
        // `self.descriptor` is set only at the end. If the initializer threw after its last property was set, deinit would run
        // too, and close the descriptor again. That could close a file that another thread has just opened under the same number.
        let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failure(cannot: "open", lock, code: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            // Empty if the other process has only just taken the lock.
            let holder = Self.text(of: descriptor)
            close(descriptor)
            guard code == EWOULDBLOCK else { throw Failure(cannot: "lock", lock, code: code) }
            let other = holder.isEmpty ? "another process" : holder
            throw Failure(.busy, "\(other) already follows into \(path); stop it, or name another file")
        }
        let owner = Array("process \(getpid())".utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, owner, owner.count, 0) == owner.count else {
            let code = errno
            close(descriptor)
            throw Failure(cannot: "write", lock, code: code)
        }
        self.descriptor = descriptor
    }

    deinit {
        // The lock is released explicitly, because another thread may have just forked. Until the child process runs a program,
        // the child holds the descriptor, too, and so the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The path with links resolved. If the file does not exist yet, its folder is resolved, and a link to the missing file is
    /// followed.
    private static func resolved(_ path: String) -> String {
        func real(_ path: String) -> String? {
            guard let real = realpath(path, nil) else { return nil }
            defer { free(real) }
            return String(cString: real)
        }
        if let file = real(path) { return file }
        let isMissing = errno == ENOENT
        let name = path.split(separator: "/").last ?? ""
        let folder = String(path[..<name.startIndex])
        if isMissing, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
            return resolved(target.hasPrefix("/") ? target : folder + target)
        }
        return real(folder.isEmpty ? "." : folder).map { "\($0)/\(name)" } ?? path
    }

    private static func text(of descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
