import Logging
import PostgreSQL

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

    public func options() throws -> ConnectionOptions {
        var options = try ConnectionOptions(url)
        if let settings { options["options"] = settings }
        if let socketDirectory { options["host"] = socketDirectory }
        return options
    }

    /// The same database, with settings such as `-csearch_path=evil` for its sessions.
    public func with(_ settings: String) -> TestDatabase {
        var database = self
        database.settings = settings
        return database
    }

    /// The same database, reached through another socket.
    public func through(_ socketDirectory: String) -> TestDatabase {
        var database = self
        database.socketDirectory = socketDirectory
        return database
    }

    public func withConnection<Result>(
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await Connection.with(try options(), logger: .quiet, body)
    }

    /// Runs one statement on its own connection and returns its rows.
    @discardableResult
    public func query(_ query: Query) async throws -> [Row] {
        try await withConnection { try await $0.query(query, to: "run a test's query") }
    }
}

extension Logger {
    /// A logger that discards every message.
    public static var quiet: Logger {
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }
}
