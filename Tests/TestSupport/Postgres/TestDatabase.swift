import Feed
import Logging
import PostgreSQL
import QuakeStore

/// One test's database.
public struct TestDatabase: Sendable {
    /// A URL for libpq, psql and `quakes --database`.
    public let url: String

    public init(url: String) {
        self.url = url
    }

    /// Settings of the session, in the format of PGOPTIONS.
    private var settings: String?
    private var socketDirectory: String?
    /// The sessions of this test; nil if each query and each import has its own session.
    private var sessions: (queries: TestSession, imports: TestSession)?

    /// A database that exists only for one test. Call `closeSessions()` at the end.
    init(sharingSessions url: String) {
        (self.url, sessions) = (url, (TestSession(), TestSession()))
    }

    /// Closes the sessions for queries and imports. If they are needed again, new ones are opened.
    func closeSessions() async {
        await sessions?.queries.close()
        await sessions?.imports.close()
    }

    func closeIdleImportSession() async { await sessions?.imports.closeIfIdle() }

    public func options() throws -> ConnectionOptions {
        var options = try ConnectionOptions(url)
        if let settings { options["options"] = settings }
        if let socketDirectory { options["host"] = socketDirectory }
        return options
    }

    /// The same database, with settings such as `-csearch_path=evil` for its sessions.
    public func with(_ settings: String) -> TestDatabase {
        var database = self
        (database.settings, database.sessions) = (settings, nil)
        return database
    }

    /// The same database, reached through another socket.
    public func through(_ socketDirectory: String) -> TestDatabase {
        var database = self
        (database.socketDirectory, database.sessions) = (socketDirectory, nil)
        return database
    }

    public func withConnection<Result>(
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await Connection.with(try options(), logger: .quiet, body)
    }

    /// Runs one statement and returns its rows. The statement must not change its session, for example with a session-level
    /// lock, because the next statement may run in the same session or in another one.
    @discardableResult
    public func query(_ query: Query) async throws -> [Row] {
        try await run(in: sessions?.queries) { try await $0.query(query, to: "run a test's query") }
    }

    /// Imports one feed. As in a daemon, imports that follow each other use one session.
    @discardableResult
    public func importFeed(
        _ source: FeedSource, _ options: Importer.Options = Importer.Options()
    ) async throws -> ImportSummary {
        try await run(in: sessions?.imports) {
            try await Importer($0, options: options, logger: .quiet).run(source)
        }
    }

    /// Runs `body` in a shared session, or in a new one if the shared session is busy or there is none.
    private func run<Result: Sendable>(
        in shared: TestSession?, _ body: @Sendable (Connection) async throws -> Result
    ) async throws -> Result {
        if let result = try await shared?.use(options(), body) { return result }
        return try await withConnection(body)
    }
}

extension Logger {
    /// A logger that discards every message.
    public static var quiet: Logger {
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }
}
