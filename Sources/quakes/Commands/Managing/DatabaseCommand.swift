import ArgumentParser
import Glibc
import LocalPostgres

struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Control the private local cluster.",
        discussion: """
            Root's cluster is in /var/lib/quakes, any other user's in the user's data folder. QUAKES_HOME names another \
            folder. The cluster has a Unix socket and no TCP port. It keeps running until you stop it.
            """,
        subcommands: [Start.self, Stop.self, Status.self, URL.self, Shell.self])

    // The subcommands have explicit names, because the parser would need a millisecond at every start to derive them from the
    // types.

    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "start",
            abstract: "Start the cluster, and create it first if necessary.")

        func run() async throws {
            let cluster = LocalCluster.current
            switch try await cluster.start() {
            case .alreadyRunning: StandardOutput.print("already running in \(cluster.home)")
            case .started: StandardOutput.print("started in \(cluster.home)")
            case .created: StandardOutput.print("created and started in \(cluster.home)")
            }
        }
    }

    struct Stop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop", abstract: "Stop the cluster, and keep its data.")

        func run() async throws {
            let cluster = LocalCluster.current
            StandardOutput.print(try await cluster.stop() ? "stopped" : "not running")
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show whether the cluster is running, and where it is.")

        func run() async throws {
            let cluster = LocalCluster.current
            switch try await cluster.status() {
            case .absent: StandardOutput.print("there is no cluster in \(cluster.home)")
            case .stopped(_): StandardOutput.print("stopped in \(cluster.home)")
            case .running(let pid, let version):
                StandardOutput.print("running in \(cluster.home): PostgreSQL \(version), process \(pid)")
            }
        }
    }

    struct URL: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "url",
            abstract: "Print the cluster's URL, for psql and other programs.")

        func run() {
            StandardOutput.print(LocalCluster.current.url())
        }
    }

    struct Shell: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "shell",
            abstract: "Open psql on the cluster, and start the cluster if necessary.")

        @Argument(parsing: .allUnrecognized, help: "Arguments for psql.")
        var arguments: [String] = []

        func run() async throws {
            let cluster = LocalCluster.current
            _ = try await cluster.start()
            let psql = try await cluster.program("psql")
            // psql replaces this process, so signals must have their usual effect again.
            for number in [SIGINT, SIGTERM, SIGPIPE] { signal(number, SIG_DFL) }
            let words = [psql, cluster.url()] + arguments
            execv(psql, words.map { strdup($0) } + [nil])
            throw ValidationError("cannot run \(psql): \(String(cString: strerror(errno)))")
        }
    }
}
