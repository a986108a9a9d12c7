import Glibc

/// The few file operations that a cluster needs. Their errors name the operation and the path.
package enum FileSystem {
    struct Entry {
        let owner: uid_t
        let isDirectory: Bool
    }

    /// nil when there is nothing at `path`. For a symbolic link, this describes the link, not what it points to.
    static func entry(_ path: String) throws(LocalPostgresError) -> Entry? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .fileSystem(operation: "look at", path: path, code: errno)
        }
        return Entry(owner: status.st_uid, isDirectory: status.st_mode & S_IFMT == S_IFDIR)
    }

    static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0
    }

    /// Creates a directory with exactly this mode, and its missing parents. Leaves an existing directory alone.
    static func createDirectories(_ path: String, mode: mode_t, parents: mode_t) throws(LocalPostgresError) {
        var prefix = ""
        for component in path.split(separator: "/") {
            prefix += "/\(component)"
            let mode = prefix == path ? mode : parents
            if mkdir(prefix, mode) == 0 {
                guard chmod(prefix, mode) == 0 else {
                    throw .fileSystem(operation: "set the mode of", path: prefix, code: errno)
                }
            } else if access(prefix, F_OK) != 0 {
                throw .fileSystem(operation: "create the directory", path: prefix, code: errno)
            }
        }
    }

    /// Makes sure that there is a directory that only `account` can enter. An existing one must already belong to that
    /// user, because anybody could have made it first below /tmp.
    package static func createPrivateDirectory(
        _ path: String, for account: ServerAccount
    ) throws(LocalPostgresError) {
        if mkdir(path, 0o700) == 0 {
            try change(ownerOf: path, to: account)
        } else if errno != EEXIST {
            throw .fileSystem(operation: "create the directory", path: path, code: errno)
        }
        guard let entry = try entry(path) else {
            throw .fileSystem(operation: "look at", path: path, code: ENOENT)
        }
        guard entry.isDirectory else {
            throw .fileSystem(operation: "use as a directory", path: path, code: ENOTDIR)
        }
        guard entry.owner == account.userID else {
            throw .foreignOwner(path: path, owner: entry.owner, expected: account.userID)
        }
        guard chmod(path, 0o700) == 0 else {
            throw .fileSystem(operation: "set the mode of", path: path, code: errno)
        }
    }

    /// Appends the text and waits until it is on disk. A missing file is created with mode 0600 for `account`.
    package static func append(
        _ text: String, to path: String, for account: ServerAccount
    ) throws(LocalPostgresError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw .fileSystem(operation: "write", path: path, code: errno)
        }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written >= 0 || errno == EINTR else {
                throw .fileSystem(operation: "write", path: path, code: errno)
            }
            rest = rest.dropFirst(max(written, 0))
        }
        guard account.groups == nil || fchown(descriptor, account.userID, account.groupID) == 0 else {
            throw .fileSystem(operation: "change the owner of", path: path, code: errno)
        }
        guard fsync(descriptor) == 0 else {
            throw .fileSystem(operation: "write", path: path, code: errno)
        }
    }

    /// The file's bytes from `offset` to the end, at most the last `limit` of them. nil when there is no such file.
    static func read(
        _ path: String, from offset: Int = 0, last limit: Int = 65_536
    ) throws(LocalPostgresError) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .fileSystem(operation: "read", path: path, code: errno)
        }
        defer { close(descriptor) }
        let end = lseek(descriptor, 0, SEEK_END)
        let start = max(offset, end - limit)
        guard end > start else { return "" }
        var bytes = [UInt8](repeating: 0, count: end - start)
        let count = pread(descriptor, &bytes, bytes.count, start)
        guard count >= 0 else {
            throw .fileSystem(operation: "read", path: path, code: errno)
        }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Removes the file or directory, with everything below it. Not an error when there is nothing.
    static func removeTree(_ path: String) async throws {
        guard try entry(path) != nil else { return }
        let outcome = try await uncancelled {
            try await ServerProgram("/bin/rm", ["-rf", "--", path]).run()
        }
        guard outcome.succeeded else {
            throw LocalPostgresError.launchFailed(program: "rm -rf \(path)", reason: outcome.output)
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

    private static func change(
        ownerOf path: String, to account: ServerAccount
    ) throws(LocalPostgresError) {
        guard account.groups == nil || lchown(path, account.userID, account.groupID) == 0 else {
            throw .fileSystem(operation: "change the owner of", path: path, code: errno)
        }
    }
}
