import Foundation
import GRDB
import QuakeStore
import QuakeView
import TestSupport
import Testing

/// Runs `body` with a database and the path of a view's file that is not there yet.
func withView(_ body: (TestDatabase, String) async throws -> Void) async throws {
    try await withFolder { folder in
        try await TestServer.shared.withDatabase { database in
            try await body(database, folder.appending(path: "view.sqlite").path)
        }
    }
}

extension TestDatabase {
    /// Applies one pass.
    @discardableResult
    func catchUp(_ view: some View, log: RecordedLog = RecordedLog()) async throws -> Position {
        try await Follower(try options(), view: view, name: nil, logger: log.logger).catchUp()
    }

    /// The history's position, as `Position.text` has it.
    func positionText() async throws -> String {
        try await query("select store || ' ' || token as position from history.position()")[0]
            .decode("position")
    }

    /// Checks that a view's file holds what the table holds now.
    func expectSame(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let file = try FileState(path)
        let difference = try await tableText().difference(from: file.table)
        #expect(difference == nil, sourceLocation: sourceLocation)
        #expect(try await positionText() == file.position, sourceLocation: sourceLocation)
    }
}

/// What one transaction sees of a view's file.
struct FileState: Equatable {
    let table: TableText
    /// Store and token.
    let position: String?

    init(_ path: String) throws {
        self = try DatabaseQueue(path: path, configuration: .reader).read { try FileState($0) }
    }

    init(_ db: Database) throws {
        // First this: SQLite notices another process's change of columns when a statement runs, and GRDB goes by the
        // columns of the time when it was prepared.
        position = try String.fetchOne(db, sql: "select store || ' ' || token from position")
        table = try TableText(db)
    }
}

extension Configuration {
    /// Another program that reads the file, and holds transactions open.
    static var reader: Configuration {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.allowsUnsafeTransactions = true
        return configuration
    }
}
