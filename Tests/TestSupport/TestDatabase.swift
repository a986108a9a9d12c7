import Logging
import PostgreSQL

/// One test's database.
public struct TestDatabase: Sendable {
    /// A URL for libpq, psql and `quakes --database`.
    public let url: String

    public init(url: String) {
        self.url = url
    }

    public func options() throws -> ConnectionOptions {
        try ConnectionOptions(url)
    }

    nonisolated(nonsending)
        public func withConnection<Result>(
            _ body: (Connection) async throws -> Result
        ) async throws -> Result
    {
        try await Connection.with(try options(), logger: .quiet, body)
    }

    /// Runs one statement on a connection of its own and returns its rows.
    @discardableResult
    nonisolated(nonsending)
        public func query(_ query: Query) async throws -> [Row]
    {
        try await withConnection { try await $0.query(query, to: "run a test's query") }
    }
}

extension Logger {
    /// Says nothing.
    public static var quiet: Logger {
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }
}
