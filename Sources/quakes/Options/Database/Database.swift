import Feed
import Logging
import PostgreSQL
import QuakeStore

/// The database that a command works on. Connections to it can be opened as often as necessary.
struct Database: Sendable {
    let options: ConnectionOptions
    /// The private cluster is migrated automatically.
    let isLocal: Bool
    let logger: Logger

    /// Opens a connection, and checks the schema. A writer needs the schema of this version; a reader can use a newer one, too.
    func withConnection<Result>(
        for purpose: Roles.Purpose, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await namingGrants(for: purpose) {
            try await Connection.with(options, logger: logger) { connection in
                let migrator = Migrator(connection)
                switch try await migrator.difference() {
                case nil: break
                case .ahead? where [.reader, .report].contains(purpose): break
                case .behind? where isLocal: try await migrator.migrate()
                case let error?: throw error
                }
                return try await body(connection)
            }
        }
    }

    /// Checks the login and the schema before the first query of a command that runs until it is stopped. Fails at once if they
    /// do not suit the command, and waits while the database can't be reached.
    func waitUntilFit(for purpose: Roles.Purpose) async throws {
        var backoff = Backoff.reconnecting
        var failure = RepeatedFailure()
        while true {
            do {
                return try await withConnection(for: purpose) { _ in }
            } catch let error as PostgresError where error.isOutage {
                if failure.isToBeSaid("\(error)") {
                    logger.warning("\(error); trying again until the database is available")
                }
                try await Task.sleep(for: backoff.next())
            }
        }
    }

    /// If the login lacks a privilege, the error says which role to grant.
    func namingGrants<Result>(
        for purpose: Roles.Purpose, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw await Roles.naming(purpose, in: error, options, logger: logger)
        }
    }
}
