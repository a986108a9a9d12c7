import Glibc
import LocalPostgres
import Logging
import TestSupport
import Testing

@testable import PostgreSQL

/// Each test has its own server, because a fault affects every connection of the server.
@Suite("Server faults")
struct FaultTests {
    @Test("kill -9 of a backend breaks all connections of the server; after the restart, new ones work")
    func killedBackend() async throws {
        try await withServer { options, log in
            try await Connection.with(options, logger: log.logger) { other in
                try await Connection.with(options, logger: log.logger) { connection in
                    let pid = try await backend(of: connection)
                    let sleeping = Task { try await connection.query("select pg_sleep(3600)", to: "sleep") }
                    try await waitForSleep(pid, options)
                    kill(pid, SIGKILL)
                    let error = try await postgresError { _ = try await sleeping.value }
                    #expect(error.connectionLost)
                    #expect("\(error)".hasPrefix("cannot sleep: server closed the connection unexpectedly"))
                    #expect(!"\(error)".contains("\n"))
                    let later = try await postgresError {
                        try await connection.query("select 1", to: "go on")
                    }
                    #expect(later.connectionLost)
                }
                let error = try await postgresError {
                    while true { try await other.query("select 1", to: "ask") }
                }
                #expect(error.connectionLost)
            }
            try await waitUntil {
                do {
                    try await Connection.with(options, logger: .quiet) { try await $0.expectUsable() }
                    return true
                } catch let error as PostgresError where error.connectionLost {
                    return false
                }
            }
        }
    }

    /// task:    sleeps ─────────── cancelled ───────── 5 s ── CancellationError, connection closed
    /// backend: sleeps ─ stopped ─ does not react …
    @Test("A stopped backend is abandoned 5 s after the cancellation, with a warning")
    func stoppedBackend() async throws {
        try await withServer { options, log in
            try await Connection.with(options, logger: log.logger) { connection in
                let pid = try await backend(of: connection)
                let sleeping = Task {
                    try await connection.transaction(to: "sleep") {
                        try await connection.query("select pg_sleep(3600)", to: "sleep")
                    }
                }
                try await waitForSleep(pid, options)
                kill(pid, SIGSTOP)
                defer { kill(pid, SIGCONT) }
                sleeping.cancel()
                await #expect(throws: CancellationError.self) { try await sleeping.value }
                let reason = "the server did not answer a cancellation within 5.0 seconds"
                #expect(log.lines == ["warning: closing a database connection: \(reason)"])
                let later = try await postgresError { try await connection.query("select 1", to: "go on") }
                #expect("\(later)" == "cannot go on: the connection is closed: \(reason)")
            }
        }
    }

    @Test(
        "If the backend is stopped, shieldingFromCancellation ends at its own time limit, and the error names the limit"
    )
    func stoppedBackendDuringCleanup() async throws {
        try await withServer { options, log in
            try await Connection.with(options, logger: log.logger) { connection in
                let pid = try await backend(of: connection)
                defer { kill(pid, SIGCONT) }
                kill(pid, SIGSTOP)
                let last = Task {
                    try await connection.shieldingFromCancellation(within: .milliseconds(500)) {
                        _ = try await connection.query("select 1", to: "record the end")
                    }
                }
                last.cancel()
                let error = try await postgresError { try await last.value }
                #expect("\(error)" == "cannot record the end: no answer from the server within 0.5 seconds")
                #expect(error.connectionLost)
            }
        }
    }

    /// task:   sleeps ─────────────── error: the connection is lost
    /// server: sleeps ─ hangs …, though its kernel still accepts connections
    @Test("A server that hangs during a statement is abandoned, even without a time limit for the statement")
    func frozenServer() async throws {
        let server = try await TemporaryServer.start()
        let log = RecordedLog()
        let options = try ConnectionOptions(server.url)
        try await Connection.with(options, logger: log.logger) { connection in
            try await server.cluster.frozen {
                let error = try await postgresError { try await connection.query("select 1", to: "ask") }
                #expect(error.isOutage)
                let reason = "the server is silent and does not accept a new connection within 5.0 seconds"
                #expect("\(error)" == "cannot ask: \(reason)")
                #expect(log.lines == ["warning: closing a database connection: \(reason)"])
            }
        }
        try await Connection.with(options, logger: .quiet) { try await $0.expectUsable() }
    }

    @Test("A statement has no time limit, even if the server accepts no further connection")
    func longStatement() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        try await database.query("create role quakes_limited login connection limit 1")
        var options = try ConnectionOptions(server.url)
        options["user"] = "quakes_limited"
        try await Connection.with(options, logger: .quiet) { connection in
            let limit = Connection.silenceLimit + Connection.pingLimit + .seconds(1)
            let seconds = Int(limit.components.seconds)
            try await connection.query("select pg_sleep(\(seconds))", to: "sleep")
            try await connection.expectUsable()
        }
    }

    private func waitForSleep(_ pid: pid_t, _ options: ConnectionOptions) async throws {
        try await Connection.with(options, logger: .quiet) { observer in
            try await waitUntil {
                try await observer.query(
                    "select from pg_stat_activity where pid = \(Int(pid)) and wait_event = 'PgSleep'",
                    to: "look"
                ).count == 1
            }
        }
    }

    private func withServer(
        _ body: (ConnectionOptions, RecordedLog) async throws -> Void
    ) async throws {
        let server = try await TemporaryServer.start()
        try await body(ConnectionOptions(server.url), RecordedLog())
        withExtendedLifetime(server) {}
    }
}
