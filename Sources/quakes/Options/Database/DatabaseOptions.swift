import ArgumentParser
import Feed
import Glibc
import LocalPostgres
import Logging
import PostgreSQL
import QuakeStore

/// The database that a command works on, and how the command logs to standard error. All commands that use a database have
/// these options.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The database to use.", valueName: "url"))
    var database: String?

    @Flag(help: "Use the private local cluster, and start it if necessary.")
    var local = false

    @Option(help: "Log to standard error as text or as JSON lines.")
    var logFormat = TextFormat.text

    @Option(
        help: ArgumentHelp(
            "The lowest level to log: debug, info, notice, warning or error.", valueName: "level"),
        transform: level)
    var logLevel = Logger.Level.notice

    func validate() throws {
        StandardError.isJSON.store(logFormat == .json, ordering: .relaxed)
        if local, database != nil { throw ValidationError("--local cannot be used with --database") }
    }

    private static func level(_ name: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: name) else {
            throw ValidationError("it takes debug, info, notice, warning or error")
        }
        return level
    }

    func logger() -> Logger {
        var logger = Logger(label: "quakes") { [logFormat] _ in LineLog(format: logFormat) }
        logger.logLevel = logLevel
        return logger
    }

    var isGiven: Bool { local || database != nil }

    func withConnection<Result>(
        for purpose: Roles.Purpose, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await located().withConnection(for: purpose, body)
    }

    /// The database that an option or the environment names; nil for the private cluster.
    ///
    /// - Throws: `Failure` when nothing names a database, and the process has no terminal. A private cluster is then not used,
    ///   so that a scheduled job that has lost its secret does not fill the wrong database.
    func resolve(_ environment: Environment) throws -> ConnectionOptions? {
        if local { return nil }
        if let url = database ?? environment["DATABASE_URL"] {
            do {
                return try ConnectionOptions(url)
            } catch {
                throw ValidationError("\(error)")
            }
        }
        let variables = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE"]
        if variables.contains(where: { environment[$0] != nil }) { return ConnectionOptions() }
        if environment["QUAKES_LOCAL"] == "1" || environment.isTerminal { return nil }
        throw Failure(
            .usage,
            """
            no database was named: give --database URL or set DATABASE_URL, \
            or use --local for a private cluster
            """)
    }

    /// Finds the database. If it is the private cluster, this starts the cluster.
    func located() async throws -> Database {
        if var options = try resolve(Environment.current) {
            options.avoidsOpenSchemas = true
            return Database(options: options, isLocal: false, logger: logger())
        }
        let cluster = LocalCluster.current
        let done =
            switch try await cluster.start() {
            case .alreadyRunning: "using the"
            case .started: "started the"
            case .created: "created and started a"
            }
        StandardError.say("\(done) private cluster in \(cluster.home)")
        return Database(options: try ConnectionOptions(cluster.url()), isLocal: true, logger: logger())
    }
}
