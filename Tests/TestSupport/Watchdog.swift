import Glibc
import LocalPostgres
import Subprocess
import Synchronization

/// A process that outlives ours, however ours ends, and then takes a temporary cluster away.
///
/// It reads a pipe whose only writer is this process. The kernel closes that end when the process ends,
/// `kill -9` included, and the watchdog goes to work. It sits in a session of its own, so the terminal's
/// signals do not reach it, and it holds none of our files.
final class Watchdog: Sendable {
    private let writeEnd: Mutex<Int32?>

    /// Waits for the end of its standard input, then stops the server of the home `$1` at once and removes
    /// every folder it was given, `$1` among them.
    ///
    /// The lock is taken first where flock(1) is at hand: a start that was under way holds it through its
    /// programs, and a server that comes up after its folder has gone would stay.
    static let script = #"""
        trap '' HUP INT TERM
        cat >/dev/null
        if command -v flock >/dev/null && [ -e "$1/lock" ]; then flock -w 90 "$1/lock" true; fi
        pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
        tries=0
        while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null && [ $tries -lt 200 ]; do
            sleep 0.05
            tries=$((tries + 1))
        done
        tries=0
        until rm -rf -- "$@" 2>/dev/null || [ $tries -ge 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        """#

    /// Starts the watchdog for `cluster`, which will also remove `folder`.
    init(guarding cluster: LocalCluster, in folder: String) async throws {
        var ends: [Int32] = [-1, -1]
        // A pair of sockets serves as the pipe: it can be born close-on-exec. A pipe would be inherited by
        // whatever program another thread launches right now, and live as long as that.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw LocalPostgresError.fileSystem(
                operation: "open the watchdog's pipe for", path: cluster.home, code: errno)
        }
        writeEnd = Mutex(ends[1])
        // The outer shell ends at once and leaves the inner one to init, so nobody has to wait for it.
        // Descriptor 3, because a shell gives its background jobs /dev/null as standard input.
        let launcher = #"exec 3<&0; /bin/sh -c "$0" watchdog "$@" <&3 3<&- >/dev/null 2>&1 &"#
        // Also when the caller is cancelled: somebody has to take the folder away.
        let result = try await uncancelled { [readEnd = ends[0]] in
            var options = PlatformOptions()
            options.createSession = true
            return try await Subprocess.run(
                .path("/bin/sh"),
                arguments: ["-c", launcher, Self.script, cluster.home, cluster.socketDirectory, folder],
                environment: .custom(["PATH": "/usr/bin:/bin"]), workingDirectory: "/",
                platformOptions: options,
                input: .fileDescriptor(.init(rawValue: readEnd), closeAfterSpawningProcess: true),
                output: .discarded, error: .discarded)
        }
        guard result.terminationStatus.isSuccess else {
            throw LocalPostgresError.launchFailed(
                program: "/bin/sh (watchdog)", reason: result.terminationStatus.description)
        }
    }

    deinit { release() }

    /// Lets it go to work now.
    func release() {
        writeEnd.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }
}
