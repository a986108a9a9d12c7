import Foundation
import LocalPostgres
import PostgreSQL
import QuakeStore
import Synchronization
import Testing

/// The PostgreSQL server of this test process. The first test that needs the server starts it. The server ends with the process,
/// even if the process crashes.
public actor TestServer {
    public static let shared = TestServer()

    private var starting: Task<TemporaryCluster, any Error>?
    /// The tasks that create the databases which exist until the server ends, by the names of these databases.
    private var preparing: [String: Task<Void, any Error>] = [:]

    /// Returns the server, after starting it if necessary.
    public func cluster() async throws -> LocalCluster {
        let task = starting ?? Task { try await TemporaryCluster.start() }
        starting = task
        return try await task.value.cluster
    }

    /// Runs `body` with a fresh database that is cloned from the migrated template and dropped afterwards. Tests can
    /// run concurrently, because notifications, locks and tables of one database have no effect in another.
    nonisolated public func withDatabase<Result>(_ body: (TestDatabase) async throws -> Result) async throws
        -> Result
    {
        try await prepareMigrated()
        return try await withDatabase(template: Self.migrated, body)
    }

    private static let migrated = "quakes_template"

    nonisolated private func prepareMigrated() async throws {
        try await prepare(Self.migrated) { template in
            try await template.withConnection { _ = try await Migrator($0).migrate() }
        }
    }

    /// Runs `body` with a copy of a migrated database that `fill` has filled, once for all tests that give the same name.
    nonisolated public func withDatabase<Result>(
        like name: String, filledBy fill: @escaping @Sendable (TestDatabase) async throws -> Void,
        _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        try await prepareMigrated()
        try await prepare(name, template: Self.migrated, fill)
        return try await withDatabase(template: name, body)
    }

    /// Runs `body` with an empty database.
    nonisolated public func withEmptyDatabase<Result>(
        _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        // A first session writes pg_internal.init, a cache of the system tables. Every clone gets a copy of that file.
        try await prepare("empty_template") { template in try await template.query("select 1") }
        return try await withDatabase(template: "empty_template", body)
    }

    /// Runs `body` with an empty database that other tests use at the same time. For a short test, the creation of its own
    /// database would take most of the time.
    ///
    /// The test must leave nothing behind and disturb no other test: its tables are temporary, it looks only at its own sessions,
    /// and no other test uses its channels. The database exists until the server ends.
    nonisolated public func withSharedDatabase<Result>(
        _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        try await prepare("test_shared") { _ in }
        return try await takingTurn { try await withSession(of: "test_shared", body) }
    }

    /// Runs `body` with a migrated database that has an ICU locale. Does nothing on a server that was built without ICU.
    nonisolated public func withDatabase(
        icuLocale locale: String, _ body: (TestDatabase) async throws -> Void
    ) async throws {
        let postgres = TestDatabase(url: try await cluster().url(database: "postgres"))
        guard try await !postgres.query("select from pg_collation where collname = 'und-x-icu'").isEmpty
        else {
            print("skipped: this server was built without ICU")
            return
        }
        try await withDatabase(template: "template0 locale_provider icu icu_locale '\(locale)'") { database in
            try await database.withConnection { _ = try await Migrator($0).migrate() }
            try await body(database)
        }
    }

    /// Runs `body` with a copy of another database, as after a restore from a backup. The original must have no sessions.
    nonisolated public func withCopy<Result>(
        of database: TestDatabase, _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        let name: String = try await database.query("select current_database() as name")[0].decode("name")
        await database.closeSessions()
        return try await withDatabase(template: name, body)
    }

    nonisolated private func withDatabase<Result>(
        template: String, _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        try await takingTurn { try await withNewDatabase(template: template, body) }
    }

    nonisolated private func takingTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        // A test that holds a turn must not wait for a second turn, because two such tests could deadlock.
        if Self.hasTurn { return try await body() }
        return try await turns.run {
            let start = ContinuousClock.now
            defer { record(since: start) }
            return try await Self.$hasTurn.withValue(true) { try await body() }
        }
    }

    @TaskLocal private static var hasTurn = false

    nonisolated private func withNewDatabase<Result>(
        template: String, _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        let name = Self.databaseName()
        do {
            // PostgreSQL's other strategy copies the database through the log, which takes twice the time.
            try await administer("create database \(name) template \(template) strategy file_copy")
            let result = try await withSession(of: name, body)
            try await administer("drop database \(name) with (force)")
            return result
        } catch {
            try await administer("drop database if exists \(name) with (force)")
            throw error
        }
    }

    /// Runs `body` with sessions for the test's queries and imports, which are closed afterwards.
    nonisolated private func withSession<Result>(
        of name: String, _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        let database = TestDatabase(sharingSessions: try await cluster().url(database: name))
        do {
            let result = try await body(database)
            await database.closeSessions()
            return result
        } catch {
            await database.closeSessions()
            throw error
        }
    }

    /// Swift Testing starts all tests at once. More than a few concurrent tests only slow each other down.
    private let turns = Turns(8)
    /// The file for the time that each test took, without its wait for a turn. (Swift Testing's times include that wait.)
    private let times = ProcessInfo.processInfo.environment["TEST_TIMES"].flatMap(
        FileHandle.init(forWritingAtPath:))

    nonisolated private func record(since start: ContinuousClock.Instant) {
        guard let times else { return }
        let line =
            "\((.now - start) / .seconds(1)) \(Test.current?.displayName ?? Test.current?.name ?? "?")\n"
        try? times.write(contentsOf: Data(line.utf8))
    }

    private static let counter = Atomic(0)

    /// A database name that contains the test's name, so that the list of processes shows which tests run.
    private static func databaseName() -> String {
        let test = (Test.current?.name ?? "").prefix { $0.isLetter }.lowercased().prefix(40)
        return "test_\(counter.add(1, ordering: .relaxed).newValue)_\(test)"
    }

    /// Creates a database that exists until the server ends, if this was not done yet.
    private func prepare(
        _ name: String, template: String = "template0",
        _ fill: @escaping @Sendable (TestDatabase) async throws -> Void
    ) async throws {
        let task =
            preparing[name]
            ?? Task {
                try await administer("create database \(name) template \(template)")
                try await fill(TestDatabase(url: try await cluster().url(database: name)))
            }
        preparing[name] = task
        try await task.value
    }

    /// Whether the server has a library. Some packages of PostgreSQL lack the additional modules.
    nonisolated public func hasLibrary(_ name: String) async throws -> Bool {
        do {
            try await administer("load '\(name)'")
            return true
        } catch let error as PostgresError where error.sqlState == "58P01" {
            return false
        }
    }

    nonisolated private func administer(_ statement: String) async throws {
        let options = try ConnectionOptions(try await cluster().url(database: "postgres"))
        try await waitUntil {
            do {
                _ = try await administrationTurn.run {
                    try await administration.use(options) {
                        try await $0.query("\(unescaped: statement)", to: "prepare a test's database")
                    }
                }
                return true
            } catch let error as PostgresError where error.sqlState == "55006" {
                // The database is still in use: PostgreSQL waits only 5 s for its sessions to end. Try again.
                return false
            }
        }
    }

    private let administration = TestSession()
    private let administrationTurn = Turns(1)
}
