import Glibc
import LocalPostgres
import Subprocess
import Synchronization

/// A shell script that outlives this process, however it ends, and then does what is left to do.
///
/// Its standard input is a pipe whose only writer is this process. The kernel closes that end when the process ends,
/// `kill -9` included, and the script reads the end of its input. It sits in its own session, so the terminal's signals
/// do not reach it, and it holds none of our files.
final class TiedScript: Sendable {
    private let writeEnd: Mutex<Int32?>

    /// Starts the script.
    ///
    /// - Parameter name: for the list of processes.
    init(_ name: String, _ script: String, _ arguments: [String]) async throws {
        var ends: [Int32] = [-1, -1]
        // A pair of sockets serves as the pipe: it can be born close-on-exec. A pipe would be inherited by
        // whatever program another thread launches right now, and live as long as that.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw LocalPostgresError.fileSystem(operation: "open a pipe for", path: name, code: errno)
        }
        writeEnd = Mutex(ends[1])
        // The outer shell ends at once and leaves the inner one to init, so nobody has to wait for it.
        // Descriptor 3, because a shell gives its background jobs /dev/null as standard input.
        let launcher = #"exec 3<&0; /bin/sh -c "$0" "$@" <&3 3<&- >/dev/null 2>&1 &"#
        // Also when the caller is cancelled: somebody has to clean up.
        let result = try await uncancelled { [readEnd = ends[0]] in
            var options = PlatformOptions()
            options.createSession = true
            return try await Subprocess.run(
                .path("/bin/sh"), arguments: .init(["-c", launcher, script, name] + arguments),
                environment: .custom(["PATH": "/usr/sbin:/usr/bin:/bin"]), workingDirectory: "/",
                platformOptions: options,
                input: .fileDescriptor(.init(rawValue: readEnd), closeAfterSpawningProcess: true),
                output: .discarded, error: .discarded)
        }
        guard result.terminationStatus.isSuccess else {
            throw LocalPostgresError.launchFailed(
                program: "/bin/sh (\(name))", reason: result.terminationStatus.description)
        }
    }

    deinit { release() }

    /// Lets it read the end of its input now.
    func release() {
        writeEnd.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }
}
