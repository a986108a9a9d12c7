import ArgumentParser
import CGlibc
import Glibc
import Synchronization
import UnixSignals

@main
struct Quakes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import earthquake feeds into PostgreSQL.",
        discussion: """
            Results go to standard output, everything else to standard error.

            Quakes uses the database that --database URL names, or else DATABASE_URL, or else libpq's own variables \
            (PGHOST, PGSERVICE, …). If none of these is set, it starts and uses a private cluster, but only at a \
            terminal or with QUAKES_LOCAL=1. --local always means the private cluster.

            Exit codes: 0 success, 64 wrong usage, 65 bad data, 66 input not found, 69 database or feed unavailable, \
            70 internal error, 74 file error, 75 another process is using the source or the file, or is already \
            associating or notifying, 130 or 143 interrupted by a signal, 141 the reader of the output closed the pipe.
            """,
        version: version,
        subcommands: [
            ImportCommand.self, BackfillCommand.self, VerifyCommand.self, ListCommand.self,
            ShowCommand.self, ChangesCommand.self,
            MapCommand.self, PlotCommand.self, FollowCommand.self, ServeCommand.self, NotifyCommand.self,
            DeleteCommand.self,
            AssociateCommand.self, RejectsCommand.self, ReportCommand.self,
            StatusCommand.self, ForgetCommand.self, PruneCommand.self, CiteCommand.self,
            MigrateCommand.self,
            DatabaseCommand.self,
            SampleCommand.self,
        ])

    /// Runs the command line. SIGINT and SIGTERM cancel the command, which then ends cleanly. A second signal ends the process at
    /// once.
    static func main() async {
        StandardDescriptors.reserve()
        // Without SIGPIPE, a write to a closed pipe only fails. The signal would end an import in the middle.
        Glibc.signal(SIGPIPE, SIG_IGN)
        // libdispatch wants to set priorities of threads, which only root may do. Without this setting, it would report the
        // failure in the system's log at each start.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A fixed threshold makes glibc return a large buffer to the system as soon as it is freed. By default, the threshold
        // rises to the size of the largest buffer that was freed, and glibc keeps smaller buffers (mallopt(3), M_MMAP_THRESHOLD).
        mallopt(M_MMAP_THRESHOLD, 128 << 10)
        // By default, glibc has up to eight arenas for each core. Memory that is free in one arena is not available to the
        // others.
        mallopt(M_ARENA_MAX, max(2, Int32(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        // The signals are caught before the command does anything visible.
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let command = Task { await runCommand() }
        Task { await cancel(command, at: signals) }
        if let status = await command.value { Glibc.exit(status) }
        StandardError.say("interrupted by a signal; uncommitted work was undone")
        Glibc.exit(signal.withLock { $0.map { 128 + $0.rawValue } } ?? ExitStatus.interrupted)
    }

    /// The first signal that arrived.
    private static let signal = Mutex<UnixSignal?>(nil)

    /// Cancels the command at the first signal, and waits for its end without a time limit. A second signal ends the process at
    /// once, without any clean-up.
    ///
    /// Two signals within 100 ms count as one, because timeout(1) signals its child first, and then the process group of the
    /// child.
    private static func cancel(_ command: Task<Int32?, Never>, at signals: UnixSignalsSequence) async {
        var first: ContinuousClock.Instant?
        for await received in signals {
            if let first, first.duration(to: .now) > .milliseconds(100) { _exit(128 + received.rawValue) }
            if first == nil {
                first = .now
                signal.withLock { $0 = received }
                command.cancel()
            }
        }
    }

    /// Runs at the same time as the task that waits for signals. So a signal also ends a command that never waits.
    ///
    /// - Returns: the exit code; nil if the command was interrupted.
    @concurrent
    private static func runCommand() async -> Int32? {
        var command: any ParsableCommand
        do {
            command = try parseAsRoot()
        } catch {
            return end(error)
        }
        do {
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return 0
        } catch is CancellationError {
            return nil
        } catch let code as ExitCode {
            return code.rawValue
        } catch {
            // A request for help, or wrong usage that is detected only while the command runs.
            if [.success, .validationFailure].contains(exitCode(for: error)) {
                return end(error, of: type(of: command))
            }
            StandardError.say("\(error)", level: .error)
            return ExitStatus(error).rawValue
        }
    }

    /// Answers a request for help or for the version, or explains wrong usage.
    ///
    /// - Parameter command: the command that was used wrongly, if the arguments named one.
    private static func end(_ error: any Error, of command: (any ParsableCommand.Type)? = nil) -> Int32 {
        let code = exitCode(for: error)
        if code == .success { exit(withError: error) }
        let arguments = Array(CommandLine.arguments.dropFirst())
        StandardError.print("\(WrongUsage(error, arguments: arguments, of: Self.self, in: command))")
        return code.rawValue
    }
}
