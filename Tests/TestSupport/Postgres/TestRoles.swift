import Foundation
import PostgreSQL
import QuakeStore

/// A database with roles, and a login for each role.
public struct TestRoles: Sendable {
    public let database: TestDatabase
    public let roles: Roles

    /// The database, accessed with the login that has the role `purpose`; nil selects the login without roles.
    public func login(_ purpose: Roles.Purpose?) -> TestDatabase {
        TestDatabase(url: database.url.replacing(/user=[^&]*/, with: "user=\(loginName(purpose))"))
    }

    public func loginName(_ purpose: Roles.Purpose?) -> String {
        "\(roles.prefix)login_\(purpose?.rawValue ?? "none")"
    }

    fileprivate var logins: [String] { ([nil] + Roles.Purpose.allCases).map(loginName) }
}

extension TestServer {
    /// Runs `body` with a fresh database and fresh roles, and drops them afterwards.
    public func withRoles<Result>(_ body: (TestRoles) async throws -> Result) async throws -> Result {
        let maintenance = TestDatabase(url: try await cluster().url(database: "postgres"))
        let name = "t\(UUID().uuidString.lowercased().prefix(8))_"
        var made: TestRoles?
        do {
            let result = try await withDatabase { database in
                let roles = TestRoles(database: database, roles: try Roles(prefix: name))
                made = roles
                try await database.withConnection { connection in
                    _ = try await roles.roles.establish(on: connection)
                    try await connection.execute(script: roles.creation, to: "create the test's logins")
                }
                return try await body(roles)
            }
            try await made?.drop(on: maintenance)
            return result
        } catch {
            try await made?.drop(on: maintenance)
            throw error
        }
    }
}

extension TestRoles {
    /// A script that creates the logins and grants them their roles. It needs only one round trip.
    fileprivate var creation: String {
        let created = logins.map { "create role \($0) login" }
        let granted = Roles.Purpose.allCases.map { "grant \(roles.name($0)) to \(loginName($0))" }
        return (created + granted).joined(separator: ";")
    }

    fileprivate func drop(on maintenance: TestDatabase) async throws {
        let names = logins + Roles.Purpose.allCases.map(roles.name)
        try await maintenance.execute("drop role if exists \(names.joined(separator: ", "))")
    }
}

extension TestDatabase {
    /// Runs statements without parameters on a separate connection.
    public func execute(_ script: String) async throws {
        try await withConnection { try await $0.execute(script: script, to: "run a test's script") }
    }
}
