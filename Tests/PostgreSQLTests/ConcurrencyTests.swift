import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("Connections side by side", .timeLimit(.minutes(1)))
struct ConcurrencyTests {
    @Test("Six connections wait for the server together, and other tasks go on meanwhile")
    func sixConnections() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            let ticking = Task {
                var ticks = 0
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(10))
                    ticks += 1
                }
                return ticks
            }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await database.withConnection {
                            try await $0.query("select pg_sleep(2)", to: "sleep")
                        }
                    }
                }
                try await group.waitForAll()
            }
            ticking.cancel()
            let duration = ContinuousClock.now - start
            #expect(duration < .seconds(8), "one after the other it would be 12 s")
            #expect(await ticking.value >= 20)
        }
    }

    @Test("Tasks that share a connection take turns")
    func shared() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
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
