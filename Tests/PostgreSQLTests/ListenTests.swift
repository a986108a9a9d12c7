import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("Waiting for notifications")
struct ListenTests {
    /// During the wait of two seconds, a connection that polls ten times a second would wake up 20 times. The wait is in a
    /// separate process, so that the threads of other tests are not counted.
    @Test("A connection that waits for a notification sleeps instead of polling", .countsWakeups)
    func sleeping() async throws {
        try await TestServer.shared.withSharedDatabase { (database) async throws in
            _ = await #expect(processExitsWith: .success) { [url = database.url as String] in
                try await TestDatabase(url: url).withConnection { connection in
                    try await connection.listen(to: "nothing") { notifications in
                        _ = try await notifications.next(within: .zero)
                        let before = switches()
                        let heard = try await notifications.next(within: .seconds(2))
                        #expect(heard == nil)
                        #expect(switches() - before < 10)
                    }
                }
            }
        }
    }

    @Test("Cancellation ends a wait, and the connection can still be used")
    func cancelled() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let pid = try await backend(of: connection)
                let waiting = Task {
                    try await connection.listen(to: "nothing") { try await $0.next(within: .seconds(3600)) }
                }
                try await waitUntil {
                    try await database.query(
                        """
                        select from pg_stat_activity
                        where pid = \(Int(pid)) and query = 'listen nothing' and state = 'idle'
                        """
                    ).count == 1
                }
                waiting.cancel()
                await #expect(throws: CancellationError.self) { try await waiting.value }
                try await connection.expectUsable()
            }
        }
    }

    @Test(
        "A notification ends even a very long wait, and so does the end of the server's session")
    func woken() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let pid = try await backend(of: connection)
                let heard = Task {
                    try await connection.listen(to: "news") { try await $0.next(within: .seconds(3600)) }
                }
                try await waitUntil {
                    try await database.query(
                        """
                        select pg_notify('news', 'x') from pg_stat_activity
                        where pid = \(Int(pid)) and query = 'listen news' and state = 'idle'
                        """
                    ).count == 1
                }
                #expect(try await heard.value == "x")
                let lost = Task {
                    try await connection.listen(to: "news") { try await $0.next(within: .seconds(3600)) }
                }
                try await waitUntil {
                    try await database.query(
                        """
                        select pg_terminate_backend(pid) from pg_stat_activity
                        where pid = \(Int(pid)) and query = 'listen news' and state = 'idle'
                        """
                    ).count == 1
                }
                await #expect(throws: PostgresError.self) { try await lost.value }
            }
        }
    }
}

/// The number of times that this process has gone to sleep.
private func switches() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_nvcsw
}
