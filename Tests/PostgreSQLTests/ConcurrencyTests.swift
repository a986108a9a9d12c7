import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("Concurrent connections")
struct ConcurrencyTests {
    @Test("Six connections wait for the server at the same time, while other tasks continue")
    func sixConnections() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            let sleeping = Task {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<6 {
                        group.addTask {
                            try await database.withConnection {
                                try await $0.query("select pg_sleep(3600)", to: "sleep")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }

            // This task needs a thread of the cooperative pool. If the connections blocked such threads, a machine with up to six
            // cores would have none left.
            try await waitUntil {
                try await database.query(
                    "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
                ).count == 6
            }
            sleeping.cancel()

            await #expect(throws: CancellationError.self) { try await sleeping.value }
        }
    }

    @Test("Tasks that share a connection each get their own result")
    func shared() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<50 {
                        group.addTask {
                            try await connection.query("select \(number) as number", to: "ask")[0]
                                .decode("number") == number
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.count == 50 && answers.allSatisfy { $0 })
            }
        }
    }
}
