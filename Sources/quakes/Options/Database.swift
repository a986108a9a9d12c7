import Logging
import PostgreSQL
import QuakeStore

/// The database that a command works on. Connections to it can be opened as often as necessary.
struct Database: Sendable {
    let options: ConnectionOptions
    /// The private cluster is migrated automatically.
    let isLocal: Bool
    let logger: Logger

    /// A writer needs the schema of its own version; a reader can use a newer one too.
    func withConnection<Result>(
        for purpose: Roles.Purpose, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await namingGrants(for: purpose) {
            try await Connection.with(options, logger: logger) { connection in
                let migrator = Migrator(connection)
                switch try await migrator.state() {
                case .current: break
                case .ahead(let number):
                    if [.owner, .writer].contains(purpose) { throw MigrationError.ahead(number) }
                case .behind(let titles):
                    guard isLocal else { throw MigrationError.behind(titles) }
                    try await migrator.migrate()
                }
                return try await body(connection)
            }
        }
    }

    /// If the login lacks a privilege, the error says which role to grant.
    func namingGrants<Result>(
        for purpose: Roles.Purpose, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch var error as PostgresError where error.sqlState == "42501" {
            // A login that may not even connect cannot look up the role, so its error says less.
            let remedy = try? await Connection.with(options, logger: logger) {
                try await Roles.remedy(for: purpose, on: $0)
            }
            let login = options["user"] ?? "the login"
            error.remedy = remedy ?? "grant \(Roles.standardPrefix)\(purpose) to \(login)"
            throw error
        }
    }
}
