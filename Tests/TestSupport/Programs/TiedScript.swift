import Glibc
import LocalPostgres
import Subprocess
import Synchronization

/// A shell script that cleans up after this process has ended for any reason.
///
/// Its standard input is a pipe whose only writer is this process. The kernel closes the writing end when the process ends, even
/// by `kill -9`, and the script then reads the end of its input. The script runs in a separate session, so the terminal's signals
/// do not reach it, and it inherits none of our open files.
final class TiedScript: Sendable {
    private let writeEnd: Mutex<Int32?>

    /// Starts the script.
    ///
    /// - Parameter name: the name that the list of processes shows.
    init(_ name: String, _ script: String, _ arguments: [String]) async throws {
        var ends: [Int32] = [-1, -1]
        // A pair of sockets serves as the pipe, because it can be created close-on-exec, and Swift's Glibc has no `pipe2`.
        // Without that flag, any program that another thread launches at this moment would inherit the pipe, and keep it open
        // until that program ends.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw LocalPostgresError.fileSystem(operation: "open a pipe for", path: name, code: errno)
        }
        writeEnd = Mutex(ends[1])
        // The outer shell ends at once, and init adopts the inner one, so this process need not wait for it. Descriptor 3 is used
        // because a shell gives its background jobs /dev/null as standard input.
        let launcher = #"exec 3<&0; /bin/sh -c "$0" "$@" <&3 3<&- >/dev/null 2>&1 &"#
        // This also runs when the caller is cancelled, because the script has to clean up.
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

    /// Closes the pipe, so that the script reads the end of its input now.
    func release() {
        writeEnd.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }
}
