import FoundationEssentials
import Glibc

/// The few file operations that a cluster needs. Their errors name the operation and the path.
package enum FileSystem {
    /// Throws the error of the last system call, unless `succeeded` is true.
    static func check(
        _ succeeded: Bool, _ operation: String, _ path: String
    ) throws(LocalPostgresError) {
        guard succeeded else { throw .fileSystem(operation: operation, path: path, code: errno) }
    }

    struct Entry {
        let owner: uid_t
        let isDirectory: Bool
    }

    /// The owner and kind of the file at `path`; nil if there is no file. For a symbolic link, this describes the link, not its
    /// target.
    static func entry(_ path: String) throws(LocalPostgresError) -> Entry? {
        var status = stat()
        if lstat(path, &status) != 0 {
            try check(errno == ENOENT || errno == ENOTDIR, "look at", path)
            return nil
        }
        return Entry(owner: status.st_uid, isDirectory: status.st_mode & S_IFMT == S_IFDIR)
    }

    static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0
    }

    /// Creates a directory with exactly the mode `mode`, and its missing parents with the mode `parents`. Existing directories
    /// are not changed.
    static func createDirectories(_ path: String, mode: mode_t, parents: mode_t) throws(LocalPostgresError) {
        var prefix = ""
        for component in path.split(separator: "/") {
            prefix += "/\(component)"
            let mode = prefix == path ? mode : parents
            if mkdir(prefix, mode) == 0 {
                try check(chmod(prefix, mode) == 0, "set the mode of", prefix)
            } else {
                let code = errno
                guard access(prefix, F_OK) == 0 else {
                    throw .fileSystem(operation: "create the directory", path: prefix, code: code)
                }
            }
        }
    }

    /// Makes sure that there is a directory that only `account` can enter. An existing directory must already belong to that
    /// user, because below /tmp any user could have created it first.
    package static func createPrivateDirectory(
        _ path: String, for account: ServerAccount
    ) throws(LocalPostgresError) {
        if mkdir(path, 0o700) == 0 {
            try check(
                !account.isAnother || lchown(path, account.userID, account.groupID) == 0,
                "change the owner of", path)
        } else {
            try check(errno == EEXIST, "create the directory", path)
        }
        guard let entry = try entry(path), entry.isDirectory else {
            throw .fileSystem(operation: "use the directory", path: path, code: ENOTDIR)
        }
        guard entry.owner == account.userID else {
            throw .foreignOwner(path: path, owner: entry.owner, expected: account.userID)
        }
        try check(chmod(path, 0o700) == 0, "set the mode of", path)
    }

    /// Appends the text and waits until it is on disk. A missing file is created with mode 0600 for `account`.
    package static func append(
        _ text: String, to path: String, for account: ServerAccount
    ) throws(LocalPostgresError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try check(descriptor >= 0, "write", path)
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            try check(written >= 0 || errno == EINTR, "write", path)
            rest = rest.dropFirst(max(written, 0))
        }
        try check(
            !account.isAnother || fchown(descriptor, account.userID, account.groupID) == 0,
            "change the owner of", path)
        try check(fsync(descriptor) == 0, "write", path)
    }

    /// The file's text from `offset` to the end, but at most its last 64 KiB; nil if there is no such file.
    static func read(_ path: String, from offset: Int = 0) throws(LocalPostgresError) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 {
            try check(errno == ENOENT || errno == ENOTDIR, "read", path)
            return nil
        }
        defer { close(descriptor) }
        let end = lseek(descriptor, 0, SEEK_END)
        let start = max(offset, end - 65_536)
        guard end > start else { return "" }
        var bytes = [UInt8](repeating: 0, count: end - start)
        let count = pread(descriptor, &bytes, bytes.count, start)
        try check(count >= 0, "read", path)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Removes the file or directory, with everything below it, if it exists.
    static func removeTree(_ path: String) throws(LocalPostgresError) {
        guard try entry(path) != nil else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            let cause = (error as? CocoaError)?.underlying as? POSIXError
            throw .fileSystem(operation: "remove", path: path, code: cause?.code.rawValue ?? EIO)
        }
    }

    /// The path with symbolic links resolved as far as the path exists, so that two spellings of a folder give the same
    /// path.
    static func resolved(_ path: String) -> String {
        if let real = realpath(path, nil) {
            defer { free(real) }
            return String(cString: real)
        }
        let components = path.split(separator: "/")
        guard let last = components.last else { return "/" }
        let parent = resolved(
            (path.hasPrefix("/") ? "/" : "./") + components.dropLast().joined(separator: "/"))
        return parent == "/" ? "/\(last)" : "\(parent)/\(last)"
    }
}
