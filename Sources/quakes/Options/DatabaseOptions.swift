import ArgumentParser
import Glibc
import LocalPostgres
import Logging
import PostgreSQL
import QuakeStore

/// Which database a command works on, and how it gets there.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The database to use.", valueName: "url"))
    var database: String?

    @Flag(help: "Use the private local cluster, and start it if need be.")
    var local = false

    func validate() throws {
        if local, database != nil { throw ValidationError("--local and --database exclude each other") }
    }

    var isGiven: Bool { local || database != nil }

    /// Opens a connection to the database for `body`.
    func withConnection<Result>(
        for use: Database.Use, _ logger: Logger, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await located().withConnection(for: use, logger, body)
    }

    /// Opens a connection without a look at the schema.
    func withUncheckedConnection<Result>(
        _ logger: Logger, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        let database = try await located()
        return try await database.namingGrants(for: .owner, logger) {
            try await Connection.with(database.options, logger: logger, body)
        }
    }

    enum Place: Equatable {
        case named(ConnectionOptions)
        case local
    }

    /// - Throws: `NoDatabase` when nothing names one and nobody is there to see a private one start: a scheduled job that
    ///   lost its secret must not fill a database that nobody reads.
    func resolve(_ environment: Environment) throws -> Place {
        if local { return .local }
        if let url = database ?? environment["DATABASE_URL"] {
            do {
                return .named(try ConnectionOptions(url))
            } catch {
                throw ValidationError("\(error)")
            }
        }
        let variables = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE"]
        if variables.contains(where: { environment[$0] != nil }) { return .named(ConnectionOptions()) }
        if environment["QUAKES_LOCAL"] == "1" || environment.isTerminal { return .local }
        throw NoDatabase()
    }

    /// Finds the database; the private cluster is started.
    func located() async throws -> Database {
        switch try resolve(Environment.current) {
        case .named(let options): return Database(options: options, isLocal: false)
        case .local:
            let cluster = LocalCluster.current
            switch try await cluster.start() {
            case .alreadyRunning: StandardError.print("quakes: using the private cluster in \(cluster.home)")
            case .started: StandardError.print("quakes: started the private cluster in \(cluster.home)")
            case .created:
                StandardError.print("quakes: created and started a private cluster in \(cluster.home)")
            }
            return Database(options: try ConnectionOptions(cluster.url()), isLocal: true)
        }
    }
}

/// A database that was found, to open connections to as often as need be.
struct Database: Sendable {
    let options: ConnectionOptions
    /// The private cluster migrates by itself.
    let isLocal: Bool

    /// What a command does with it: a worker needs the schema of its own version, a reader gets along with a newer one.
    enum Use { case owner, worker, reader, report }

    func withConnection<Result>(
        for use: Use, _ logger: Logger, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await namingGrants(for: use, logger) {
            try await Connection.with(options, logger: logger) { connection in
                let migrator = Migrator(connection)
                switch try await migrator.state() {
                case .current: break
                case .ahead(let number):
                    if [.owner, .worker].contains(use) { throw MigrationError.ahead(number) }
                case .behind(let titles):
                    guard isLocal else { throw MigrationError.behind(titles) }
                    try await migrator.migrate()
                }
                return try await body(connection)
            }
        }
    }

    /// Where the login lacks a privilege, the error says which role to grant.
    func namingGrants<Result>(
        for use: Use, _ logger: Logger, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch var error as PostgresError where error.sqlState == "42501" {
            // Who may not even connect can't look, and is told less.
            let remedy = try? await Connection.with(options, logger: logger) {
                try await Roles.remedy(for: use.purpose, on: $0)
            }
            let login = options["user"] ?? "the login"
            error.remedy = remedy ?? "grant \(Roles.standardPrefix)\(use.purpose) to \(login)"
            throw error
        }
    }
}

extension Database.Use {
    fileprivate var purpose: Roles.Purpose {
        switch self {
        case .owner: .owner
        case .worker: .writer
        case .reader: .reader
        case .report: .report
        }
    }
}

/// The process's environment, as far as it decides where the database is.
struct Environment {
    var variables: [String: String]
    var isTerminal: Bool

    static var current: Environment {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
            entry += 1
        }
        return Environment(
            variables: variables, isTerminal: isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
    }

    /// A variable that is set to nothing counts as not set.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension LocalCluster {
    /// The private cluster of the user who runs this process.
    static var current: LocalCluster {
        LocalCluster(home: defaultHome(environment: Environment.current.variables))
    }
}
