import Logging
import PostgreSQL
import QuakeStore

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
