import ArgumentParser
import Glibc
import LocalPostgres

struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Control the private local cluster.",
        discussion: """
            It lies under /var/lib/quakes for root, else in the user's data folder; QUAKES_HOME moves it. It has a Unix \
            socket and no TCP port, and keeps running until it is stopped.
            """,
        subcommands: [Start.self, Stop.self, Status.self, URL.self, Shell.self])

    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Start it; create it first if need be.")

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
        static let configuration = CommandConfiguration(abstract: "Stop it. Its data stay.")

        func run() async throws {
            let cluster = LocalCluster.current
            StandardOutput.print(try await cluster.stop() ? "stopped" : "not running")
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Say whether it runs, and where it lies.")

        func run() async throws {
            let cluster = LocalCluster.current
            switch try await cluster.status() {
            case .absent: StandardOutput.print("there is none in \(cluster.home)")
            case .stopped(_): StandardOutput.print("stopped in \(cluster.home)")
            case .running(let pid, let version, _):
                StandardOutput.print("running in \(cluster.home): PostgreSQL \(version), process \(pid)")
            }
        }
    }

    struct URL: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print its URL, for psql and other programs.")

        func run() {
            StandardOutput.print(LocalCluster.current.url())
        }
    }

    struct Shell: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Open psql on it; start it if need be.")

        @Argument(parsing: .allUnrecognized, help: "Arguments for psql.")
        var arguments: [String] = []

        func run() async throws {
            let cluster = LocalCluster.current
            _ = try await cluster.start()
            let psql = try await cluster.program("psql")
            // psql takes this process's place, and its signals again have their usual effect.
            signal(SIGINT, SIG_DFL)
            signal(SIGTERM, SIG_DFL)
            let words = [psql, cluster.url()] + arguments
            execv(psql, words.map { strdup($0) } + [nil])
            throw ValidationError("cannot run \(psql): \(String(cString: strerror(errno)))")
        }
    }
}
