import Logging
import PostgreSQL
import QuakeStore

/// The database that a command works on. Connections to it can be opened as often as necessary.
struct Database: Sendable {
    let options: ConnectionOptions
    /// The private cluster is migrated automatically.
    let isLocal: Bool

    /// What a command does with the database. A worker needs the schema of its own version; a reader can use a newer
    /// one too.
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

    /// If the login lacks a privilege, the error says which role to grant.
    func namingGrants<Result>(
        for use: Use, _ logger: Logger, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch var error as PostgresError where error.sqlState == "42501" {
            // A login that may not even connect cannot look up the role, so its error says less.
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
