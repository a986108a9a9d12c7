import Glibc

/// The server that the file `postmaster.pid` of a data directory describes. That server may have ended since.
///
/// The file's lines: process ID, data directory, start time (seconds since 1970), port, socket directory,
/// listen address, shared memory key, status. Source: PostgreSQL's src/include/utils/pidfile.h; pg_ctl -w
/// waits for the same status line.
struct Postmaster: Sendable, Equatable {
    let pid: pid_t
    /// Whether the server accepts connections, because it is neither starting nor stopping.
    let isReady: Bool

    init?(file text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 3, let pid = pid_t(lines[0]), pid > 0, Int(lines[2]) != nil else {
            return nil
        }
        self.pid = pid
        isReady = lines.count > 7 && ["ready", "standby"].contains(lines[7].prefix { $0 != " " })
    }

    static func recorded(in data: String) throws(LocalPostgresError) -> Postmaster? {
        try FileSystem.read("\(data)/postmaster.pid").flatMap(Postmaster.init(file:))
    }

    /// The running server; nil if none is running, even if there is a stale file.
    static func running(in data: String, socket: ServerSocket) throws(LocalPostgresError) -> Postmaster? {
        guard let recorded = try recorded(in: data) else { return nil }
        return recorded.runs(in: data) || socket.accepts() ? recorded : nil
    }

    /// Whether the process with the recorded ID is the server of `data`. The ID alone proves nothing. After a reboot, or in a
    /// container, another process may have the same ID. A killed postmaster keeps its ID as a zombie until it is reaped. So the
    /// process must run as the owner of the data, and its working directory must be the data directory, as a postmaster's is. A
    /// zombie has no working directory.
    func runs(in data: String) -> Bool {
        var process = stat()
        var directory = stat()
        guard stat("/proc/\(pid)", &process) == 0, stat(data, &directory) == 0 else { return false }
        guard process.st_uid == directory.st_uid else { return false }
        var working = stat()
        guard stat("/proc/\(pid)/cwd", &working) == 0 else { return false }
        return working.st_dev == directory.st_dev && working.st_ino == directory.st_ino
    }

    /// Removes files that a server left behind and that would keep the next server from starting.
    ///
    /// Call this only with the lock held, and after `running` has returned nil. Then the recorded process is not the postmaster
    /// of these data, and the socket does not answer. Two servers on one data directory would destroy the data.
    ///
    /// PostgreSQL itself ignores the files of a process that has ended. But it refuses to start if the recorded process ID now
    /// belongs to another process of the same user, or to a zombie.
    static func removeStaleFiles(in data: String, socket: ServerSocket) throws(LocalPostgresError) {
        guard let recorded = try recorded(in: data), kill(recorded.pid, 0) == 0 || errno == EPERM else {
            return
        }
        for path in ["\(data)/postmaster.pid", "\(socket.path).lock"] {
            try FileSystem.check(unlink(path) == 0 || errno == ENOENT, "remove the stale file", path)
        }
    }
}
