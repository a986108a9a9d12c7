import Foundation
import PostgreSQL
import TestSupport

extension TestServer {
    /// Runs `body` with a database that has a second tracked table, which is unrelated to earthquakes.
    func withNotes(_ body: (TestDatabase) async throws -> Void) async throws {
        try await withDatabase { database in
            try await database.execute(
                "create table note (key text primary key, number double precision, text text)")
            try await database.execute("select history.track('note', 'key', 'note_changes')")
            try await body(database)
        }
    }
}

extension TestDatabase {
    /// Creates another tracked table, with a separate channel.
    func addMemo() async throws {
        try await execute("create table memo (key text primary key, number double precision)")
        try await execute("select history.track('memo', 'key', 'memo_changes')")
    }

    /// The notifications, such as `note_changes 1`, that a session on all three channels receives while `body` runs.
    func notifications(_ body: () async throws -> Void) async throws -> [String] {
        let listener = Process()
        let (input, output) = (Pipe(), Pipe())
        listener.executableURL = URL(filePath: try await TestServer.shared.cluster().program("psql"))
        let channels = ["quake_changes", "note_changes", "memo_changes"]
        listener.arguments =
            [url, "-qAt"] + channels.flatMap { ["-c", "listen \($0)"] } + ["-f", "-"]
        listener.standardInput = input
        listener.standardOutput = output
        try listener.run()
        try await waitUntil {
            try await !query(
                "select from pg_stat_activity where datname = current_database() and query = 'listen memo_changes' and state = 'idle'"
            ).isEmpty
        }
        try await body()
        input.fileHandleForWriting.write(Data("select 'end';\n".utf8))
        try input.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.matches(of: /Asynchronous notification "(\w+)" with payload "(\d+)"/).map {
            "\($0.output.1) \($0.output.2)"
        }
    }

    func token() async throws -> Int {
        try await query("select history.current_token() as token")[0].decode("token")
    }

    /// Each change of a table as token, ordinal, key, operation and `before`: for example, `2.1 b update {"number": 2}`.
    func changes(of table: String = "note") async throws -> [String] {
        try await query("select * from history.changes(0, \(table))").map { row in
            let place = try "\(row.decode("token", as: Int.self)).\(row.decode("ordinal", as: Int.self))"
            let before = try row.decodeIfPresent("before", as: String.self) ?? "-"
            return try
                "\(place) \(row.decode("key", as: String.self)) \(row.decode("operation", as: String.self)) \(before)"
        }
    }
}
