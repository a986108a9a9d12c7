import CGlibc
import Dispatch
import Feed
import Glibc

/// A temporary file without a name. It is in the folder that `TMPDIR` names, or else in /var/tmp, because /tmp is in memory on
/// many systems. The file is deleted with this object, or when the process ends.
public final class TemporaryFile: Sendable {
    private let descriptor: Int32

    fileprivate static var folder: String {
        if let given = getenv("TMPDIR") { return String(cString: given) }
        return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp"
    }

    /// - Throws: `Failure` of the kind `file`.
    public init() throws {
        var path = Array("\(Self.folder)/quakes-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)  // replaces the six X
        guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw Failure.temporaryFile("create", code: errno)
        }
        unlink(path)
    }

    deinit {
        // The file is not open if `init` failed. Freeing a large file is slow, so it is closed in the background.
        if descriptor >= 0 { DispatchQueue.global().async { [descriptor] in close(descriptor) } }
    }

    /// - Throws: `Failure` of the kind `file`.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        try transfer(bytes.count, to: "write") {
            pwrite(descriptor, bytes.baseAddress! + $0, bytes.count - $0, off_t(offset + $0))
        }
    }

    /// Returns the bytes of a range. All bytes of the range must have been written.
    ///
    /// - Throws: `Failure` of the kind `file`.
    public func read(_ range: Range<Int>) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            try read(UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            count = range.count
        }
    }

    /// Fills a buffer with the bytes that begin at an offset. All of these bytes must have been written.
    ///
    /// - Throws: `Failure` of the kind `file`.
    public func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try transfer(buffer.count, to: "read") {
            pread(descriptor, buffer.baseAddress! + $0, buffer.count - $0, off_t(offset + $0))
        }
    }

    /// Calls `next` until all bytes are read or written. `next` receives the number of bytes transferred so far. It returns the
    /// result of a system call: the number of bytes that the call transferred, or −1 for an error.
    private func transfer(_ count: Int, to operation: String, _ next: (Int) -> Int) throws {
        var done = 0
        while done < count {
            let result = next(done)
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { throw Failure.temporaryFile(operation, code: errno) }
            done += result
        }
    }

    /// The free space of the folder's file system, in bytes. A file system without a size, such as an unlimited tmpfs, counts as
    /// unlimited.
    public static var freeSpace: Int {
        var status = statvfs()
        guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return .max }
        return Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
                .partialValue)
    }

    /// The folder of the temporary files if it is in memory (tmpfs); otherwise nil.
    public static var folderInMemory: String? {
        var status = statfs()
        guard statfs(folder, &status) == 0, status.f_type == TMPFS_MAGIC else { return nil }
        return folder
    }
}

extension Failure {
    fileprivate static func temporaryFile(_ operation: String, code: Int32) -> Failure {
        Failure(
            .file,
            """
            cannot \(operation) a temporary file in \(TemporaryFile.folder): \
            \(String(cString: strerror(code))); set TMPDIR to another folder
            """)
    }
}
