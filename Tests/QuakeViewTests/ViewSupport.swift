import Foundation
import GRDB
import QuakeStore
import QuakeView
import TestSupport
import Testing

/// Runs `body` with a database and the path of a view file that does not exist yet.
func withView(_ body: (TestDatabase, String) async throws -> Void) async throws {
    try await withFolder { folder in
        try await TestServer.shared.withDatabase { database in
            try await body(database, folder.appending(path: "view.sqlite").path)
        }
    }
}

extension TestDatabase {
    /// Runs one pass into the view.
    @discardableResult
    func catchUp(_ view: some ReaderView, log: RecordedLog = RecordedLog()) async throws -> Position {
        try await Follower(try options(), view: view, name: nil, logger: log.logger).catchUp()
    }

    /// The position of the history: store and token.
    func positionText() async throws -> String {
        try await query("select store || ' ' || token as position from history.position()")[0]
            .decode("position")
    }

    /// Checks that a view file has the same contents as the table.
    func expectSame(
        _ path: String, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let file = try FileState(path)
        let difference = try await tableText().difference(from: file.table)
        #expect(difference == nil, comment, sourceLocation: sourceLocation)
        #expect(try await positionText() == file.position, comment, sourceLocation: sourceLocation)
    }
}

/// The contents of a view file as one transaction sees them.
struct FileState: Equatable {
    let table: TableText
    /// Store and token.
    let position: String?

    init(_ path: String) throws {
        self = try DatabaseQueue(path: path, configuration: .reader).read { try FileState($0) }
    }

    /// Store and token; nil if the file has no position yet.
    static func position(_ path: String) throws -> String? {
        try DatabaseQueue(path: path, configuration: .reader).read { db in
            guard try db.tableExists("position") else { return nil }
            return try String.fetchOne(db, sql: "select store || ' ' || token from position")
        }
    }

    init(_ db: Database) throws {
        // The position is read first. SQLite notices a change of the columns by another process only when a statement runs, and
        // GRDB uses the columns that it saw when it prepared the statement.
        position = try String.fetchOne(db, sql: "select store || ' ' || token from position")
        table = try TableText(db)
    }
}

extension Configuration {
    /// The configuration of another program that reads the file and keeps transactions open.
    static var reader: Configuration {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.allowsUnsafeTransactions = true
        return configuration
    }
}
