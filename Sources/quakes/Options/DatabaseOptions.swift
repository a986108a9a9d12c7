import ArgumentParser
import Glibc
import LocalPostgres
import Logging
import PostgreSQL
import QuakeStore

/// Which database a command works on, and how to reach it.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The database to use.", valueName: "url"))
    var database: String?

    @Flag(help: "Use the private local cluster, and start it if necessary.")
    var local = false

    func validate() throws {
        if local, database != nil { throw ValidationError("--local cannot be used with --database") }
    }

    var isGiven: Bool { local || database != nil }

    /// Opens a connection to the database for `body`.
    func withConnection<Result>(
        for use: Database.Use, _ logger: Logger, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await located().withConnection(for: use, logger, body)
    }

    /// Opens a connection without checking the schema.
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

    /// - Throws: `NoDatabase` when nothing names a database and nobody is at a terminal to see a private one start. A
    ///   scheduled job that lost its secret must not fill a database that nobody reads.
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

    /// Finds the database. Starts the private cluster if that is the one.
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
