import Feed
import Foundation
import Glibc
import PostgreSQL
import Subprocess
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// A test whose fault affects every connection of a server has its own server.
@Suite("Following through faults")
struct FollowFaultTests {
    @Test("A follower whose backend is killed reconnects, and needs no fresh snapshot", arguments: 1...3)
    func killedBackends(_ round: Int) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let (view, log) = (MemoryView(), RecordedLog())
            try await database.following(view, logger: log.logger) {
                try await waitUntil { view.now.position != nil }
                for magnitude in 1...5 {
                    _ = try await database.otherSessions(ending: true)
                    try await database.setMagnitude(Double(magnitude))
                    try await database.waitForCatchUp(of: view)
                }
            }
            #expect(view.now.starts == [.first])
            #expect(
                log.lines.contains {
                    $0.hasPrefix("warning: ") && $0.contains("; reconnecting until it succeeds")
                })
            #expect(log.lines.contains("notice: reconnected"))
        }
    }

    @Test("Notifications of a login without rights neither hide a change nor delay the poll")
    func forgedNotifications() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let view = MemoryView()
            try await database.following(view, poll: PollInterval(listening: .milliseconds(200))) {
                try await database.waitForCatchUp(of: view)
                let reached = try #require(view.now.position?.token)
                // The notification of this change is lost.
                try await database.execute(
                    """
                    begin;
                    update quake set felt = 7;
                    do $$ declare silenced history.transaction; begin
                        update history.transaction set channels = '{}' where token is null returning * into strict silenced;
                    end $$;
                    commit
                    """)
                // In the end, the flood is over, and the follower polls in any case.
                try await Connection.with(try database.options(), logger: .quiet) { flood in
                    for _ in 0..<200_000 where view.now.position?.token == reached {
                        try await flood.query(
                            "select pg_notify('quake_changes', \("\(reached)"))", to: "forge")
                    }
                }
                #expect(view.now.position?.token != reached)
            }
        }
    }

    @Test("Fifty followers need at most fifty connections")
    func fiftyFollowers() async throws {
        // Three connections are reserved for superusers, so two connections for each follower would be too many.
        try await withServer(["max_connections": "60"]) { server, database in
            let options = try database.options()
            let views = (0..<50).map { _ in MemoryView() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for view in views {
                    group.addTask { try await Follower(options, view: view, name: nil, logger: .quiet).run() }
                }
                for view in views { try await database.waitForCatchUp(of: view) }
                try await waitUntil { try await database.otherSessions().count == views.count }

                try await database.setMagnitude(7)
                for view in views { try await database.waitForCatchUp(of: view) }
                group.cancelAll()
            }
            for view in views { #expect(view.now.starts == [.first]) }
        }
    }

    /// follower: begins a pass ─────────────────────── ends it ── is notified ── reads the rest
    /// writer:                   commits and notifies
    @Test("A notification that is sent during a pass is received after the pass, over the same connection")
    func notifiedDuringPass() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let magnitude = Mutex(0.0)
            let view = MemoryView(duringPass: {
                let next = magnitude.withLock { value in
                    value += 1
                    return value
                }
                if next <= 5 { try await database.setMagnitude(next) }
            })
            try await database.following(view, poll: PollInterval(listening: .seconds(3600))) {
                try await waitUntil { magnitude.withLock { $0 } == 6 }
                try await database.waitForCatchUp(of: view)
            }
            #expect(view.now.passes == 6 && view.now.changes.count == 5)
        }
    }

    @Test(
        "Following continues after a restart of the server, clean or not",
        arguments: [SIGINT, SIGQUIT])
    func restarted(_ signal: Int32) async throws {
        // With synchronous_commit off, the server might lose a commit that the view already contains.
        try await withServer(["synchronous_commit": "on"]) { server, database in
            let view = MemoryView()
            try await database.following(view) {
                try await waitUntil { view.now.position != nil }
                for magnitude in 1...3 {
                    try await server.cluster.stop(signal: signal)
                    try await server.cluster.start()
                    try await database.setMagnitude(Double(magnitude))
                    try await database.waitForCatchUp(of: view)
                }
            }
            #expect(view.now.starts == [.first])
            #expect(view.now.changes.count == 3)
        }
    }

    /// follower: waits for notifications ───────────────── probes ── no answer: reconnects ── catches up
    /// network:                       swallows packets
    /// server:                                  commits a change
    @Test("The probe notices a network path that swallows packets")
    func swallowedPackets() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let proxy = try SwallowingProxy(
                to: try await TestServer.shared.cluster().socketDirectory)
            let path = database.through(proxy.directory)
            let (view, log) = (MemoryView(), RecordedLog())
            let poll = PollInterval(listening: .milliseconds(200), answer: .milliseconds(500))
            try await path.following(view, poll: poll, logger: log.logger) {
                try await waitUntil { view.now.position != nil }
                for magnitude in 1...3 {
                    proxy.silenceConnections()
                    try await database.setMagnitude(Double(magnitude))
                    try await database.waitForCatchUp(of: view)
                }
            }
            #expect(view.now.starts == [.first])
            #expect(log.lines.contains { $0.contains("no answer from the server within 0.5 seconds") })
            try proxy.remove()
        }
    }

    @Test(
        "A follower retries after an I/O error, an internal error and a full disk",
        arguments: ["58030", "XX000", "53100"])
    func trouble(_ sqlState: String) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let (view, log) = (MemoryView(), RecordedLog())
            try await database.following(view, logger: log.logger) {
                try await waitUntil { view.now.position != nil }
                try await database.breakChecks(sqlState)
                try await database.setMagnitude(2)
                try await waitUntil { log.lines.contains { $0.contains("SQLSTATE \(sqlState)") } }
                try await database.mendChecks()
                try await database.waitForCatchUp(of: view)
            }
            #expect(view.now.starts == [.first])
        }
    }

    @Test("Following ends after an error that a new connection can't fix, unless the follower is persistent")
    func hopeless() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let (view, log) = (MemoryView(), RecordedLog())
            let follower = Follower(
                try database.options(), view: view, name: nil,
                backoff: Backoff(from: .milliseconds(10), to: .milliseconds(100)), logger: log.logger)
            try await follower.catchUp()
            try await database.breakChecks("42501")
            let error = await #expect(throws: PostgresError.self) { try await follower.run() }
            #expect(error?.sqlState == "42501")

            let running = Task { try await follower.run(persistently: true) }
            try await waitUntil { log.lines.count > 2 }
            try await database.mendChecks()
            try await database.setMagnitude(2)
            try await database.waitForCatchUp(of: view)
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }

    // MARK: Histories that diverge

    /// With synchronous_commit off, a crash loses the last commits, which the reader has already seen.
    @Test(
        "A reader notices that a crash has lost transactions, even when their tokens are used again"
    )
    func lostTransactions() async throws {
        // With these settings, only the WAL writer writes a commit's log record to the disk. The test stops the WAL writer, and
        // kills it while the record is still in memory.
        let settings = ["autovacuum": "off", "bgwriter_lru_maxpages": "0"]
        try await withServer(settings) { server, database in
            let view = MemoryView()
            try await database.catchUp(view)
            for again in 0..<3 {
                try await database.query("checkpoint")
                let writer = try await database.walWriter()
                kill(writer, SIGSTOP)
                try await database.setMagnitude(Double(again))
                try await database.catchUp(view)
                kill(writer, SIGKILL)
                try await database.waitForRestart(without: writer)
                try #require(try await database.isUnknown(view.now.position))
                let starts = view.now.starts.count
                for _ in 0..<again { try await database.setMagnitude(-1) }

                // At each pass, the view compares itself with the table.
                try await database.catchUp(view)
                #expect(view.now.starts.count == starts + 1)
            }
        }
    }

    @Test(
        "A reader whose position is in a dump can follow the restored database; other readers get a fresh snapshot"
    )
    func dumpAndRestore() async throws {
        try await withServer { server, database in
            let (early, late) = (MemoryView(), MemoryView())
            try await database.setMagnitude(2)
            try await database.catchUp(early)
            let dump = try await server.dump()
            try await database.setMagnitude(3)
            try await database.catchUp(late)

            try await TestServer.shared.withEmptyDatabase { restored in
                try await TestServer.shared.restore(dump, into: restored)
                // In this database, the token of `late` belongs to a different transaction.
                try await restored.setMagnitude(4)

                try await restored.catchUp(early)
                try await restored.catchUp(late)

                #expect(early.now.starts == [.first])
                #expect(early.now.changes == ["3.1"])
                #expect(late.now.starts == [.first, .otherTransaction(3)])
            }
        }
    }

    // MARK: Standbys

    @Test("On a hot standby, which refuses LISTEN, a follower polls often and survives a promotion")
    func standby() async throws {
        try await withServer { server, primary in
            try await withStandby(of: server.cluster) { standby in
                let copy = TestDatabase(url: standby.url())
                let (view, log) = (MemoryView(), RecordedLog())
                let poll = PollInterval(listening: .seconds(3600), standby: .milliseconds(50))
                try await copy.following(view, name: "on a standby", poll: poll, logger: log.logger) {
                    try await waitUntil { view.now.position != nil }
                    try await primary.setMagnitude(2)
                    try await standby.catchUp()
                    try await copy.waitForCatchUp(of: view)
                    #expect(view.now.changes == ["2.1"])

                    try await standby.promote()
                    // From now on the follower listens, and would poll only once an hour.
                    try await waitUntil { log.lines.contains("debug: listening for changes") }
                    try await copy.setMagnitude(3)
                    try await copy.waitForCatchUp(of: view)
                    // The follower can now report its position, which the standby had refused.
                    try await waitUntil {
                        try await !copy.query("select from history.reader where name = 'on a standby'")
                            .isEmpty
                    }
                }
                #expect(view.now.starts == [.first])
            }
        }
    }

    /// follower: reads many rows ── continues: is cancelled ── reads again, over the same connection
    /// primary:                    locks the table
    @Test("A pass that a standby's replay cancels is repeated over the same connection")
    func replayConflict() async throws {
        // Replaying the work of a vacuum would cancel the reader, too.
        try await withServer(["autovacuum": "off"]) { server, primary in
            try await primary.importSample(20_000)
            let settings = ["max_standby_streaming_delay": "0"]
            try await withStandby(of: server.cluster, settings: settings) { standby in
                try await standby.catchUp()
                let copy = TestDatabase(url: standby.url())
                let (view, log) = (HeldView(), RecordedLog())
                let poll = PollInterval(standby: .milliseconds(50))
                try await copy.following(view, poll: poll, logger: log.logger) {
                    try await waitUntil { view.isReading }
                    try await primary.execute("begin; lock table quake in access exclusive mode; commit")
                    // A session that waits for its client to take rows is cancelled once it continues. A session that is still
                    // working is cancelled at once, and replay continues.
                    try await standby.catchUp(
                        or: "exists (select from pg_locks where mode = 'AccessExclusiveLock')")
                    view.release()
                    try await waitUntil { view.position() != nil }
                }
                #expect(log.lines.contains { $0.contains("conflict with recovery") })
                // PostgreSQL 15 also ends the session if replay repeats its request while the statement is being cancelled.
                let isEnded = log.lines.contains { $0.contains("server: terminating connection") }
                #expect(isEnded || !log.lines.contains { $0.contains("reconnecting") }, "\(log.lines)")
            }
        }
    }

    /// primary:  commits 2, 3
    /// standby:  is at 1 ──────────────────────────────────────────── replays 2, 3
    /// follower: is at 3 of the primary ── connects to the standby, waits ──────── continues
    @Test("A reader that is ahead of a standby waits for the standby, and does not start over")
    func standbyBehind() async throws {
        try await withServer { server, primary in
            try await withStandby(of: server.cluster) { standby in
                let copy = TestDatabase(url: standby.url())
                let (view, log) = (MemoryView(), RecordedLog())
                try await standby.catchUp()
                try await copy.query("select pg_wal_replay_pause()")
                try await primary.setMagnitude(2)
                try await primary.setMagnitude(3)
                try await primary.catchUp(view)
                try await copy.following(view, logger: log.logger) {
                    try await waitUntil { log.lines.contains { $0.contains("until it catches up") } }
                    try await copy.query("select pg_wal_replay_resume()")
                    try await primary.setMagnitude(4)
                    try await standby.catchUp()
                    try await copy.waitForCatchUp(of: view)
                }
                #expect(view.now.starts == [.first])
            }
        }
    }

    @Test("A follower that is started while the server is down waits for the server")
    func startedTooEarly() async throws {
        try await withServer { server, database in
            let (view, log) = (MemoryView(), RecordedLog())
            try await server.cluster.stop()
            try await database.following(view, logger: log.logger) {
                try await waitUntil { log.lines.contains { $0.contains("; reconnecting until it succeeds") } }
                try await server.cluster.start()
                try await database.waitForCatchUp(of: view)
            }
            #expect(view.now.starts == [.first])
        }
    }

    @Test("A follower that can't reach the server logs one warning, and not one for each attempt")
    func saidOnce() async throws {
        let port = try ClosingPort()
        let (view, log) = (MemoryView(), RecordedLog())
        let follower = Follower(
            try ConnectionOptions(port.url), view: view, name: nil,
            backoff: Backoff(from: .milliseconds(1), to: .milliseconds(2)), logger: log.logger)
        let running = Task { try await follower.run() }
        try await waitUntil { port.attempts >= 20 }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(log.lines.count { $0.hasPrefix("warning: ") } == 1, "\(log.lines)")
    }

    /// follower: waits for notifications ── probes: no answer ── probes again and again ── continues
    /// server:                            is frozen, but its kernel accepts connections
    @Test("A follower notices that the server has frozen")
    func frozenServer() async throws {
        try await withServer { server, database in
            let (view, log) = (MemoryView(), RecordedLog())
            let poll = PollInterval(listening: .milliseconds(200))
            try await database.following(view, poll: poll, logger: log.logger) {
                try await waitUntil { view.now.position != nil }
                try await server.cluster.frozen {
                    try await waitUntil { log.lines.contains { $0.contains("the server is silent") } }
                }
                try await database.setMagnitude(2)
                try await database.waitForCatchUp(of: view)
            }
            #expect(view.now.starts == [.first])
        }
    }

    @Test("A reader notices that a promoted standby lacks a transaction that the reader had seen")
    func promotedTooEarly() async throws {
        try await withServer { server, primary in
            try await withStandby(of: server.cluster) { standby in
                let view = MemoryView()
                try await standby.catchUp()
                try await standby.disconnect()
                try await primary.setMagnitude(2)
                try await primary.catchUp(view)
                try await server.cluster.stop(signal: SIGQUIT)
                try await standby.promote()
                let promoted = TestDatabase(url: standby.url())

                try await promoted.catchUp(view)
                #expect(view.now.starts == [.first, .future(2, newest: 1)])

                try await promoted.setMagnitude(3)
                try await promoted.catchUp(view)
                #expect(view.now.starts.count == 2)
            }
        }
    }

    /// Runs `body` with a server whose database holds one earthquake.
    private func withServer(
        _ settings: [String: String] = [:],
        _ body: (TemporaryServer, TestDatabase) async throws -> Void
    ) async throws {
        let server = try await TemporaryServer.start(settings: settings)
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        try await database.importFeatures([SmallFeed.feature("a")])
        try await body(server, database)
    }
}

extension TestDatabase {
    /// Makes every check of a position fail with this SQLSTATE.
    fileprivate func breakChecks(_ sqlState: String) async throws {
        try await query("alter function history.check(uuid, bigint, timestamptz, text) rename to kept")
        try await query(
            """
            create function history.check(uuid, bigint, timestamptz, text) returns text language plpgsql as
            $$ begin raise exception 'trouble' using errcode = '\(unescaped: sqlState)'; end $$
            """)
    }

    fileprivate func mendChecks() async throws {
        try await execute(
            """
            begin; drop function history.check(uuid, bigint, timestamptz, text);
            alter function history.kept(uuid, bigint, timestamptz, text) rename to "check"; commit
            """)
    }
}

extension TestDatabase {
    /// Whether the database lacks the transaction of a view's position.
    fileprivate func isUnknown(_ position: QuakeStore.Position?) async throws -> Bool {
        let token = position?.token ?? 0
        return try await query(
            "select exists (select from history.transaction where token = \(token)) as known")[0]
            .decode("known") == false
    }

    fileprivate func walWriter() async throws -> pid_t {
        let row = try await query("select pid from pg_stat_activity where backend_type = 'walwriter'")[0]
        return pid_t(try row.decode("pid", as: Int.self))
    }

    /// Waits until the server has noticed that its WAL writer was killed, and has restarted with another one.
    fileprivate func waitForRestart(without old: pid_t) async throws {
        try await waitUntil {
            do {
                return try await query(
                    "select from pg_stat_activity where backend_type = 'walwriter' and pid <> \(Int(old))"
                ).count == 1
            } catch let error as PostgresError where error.connectionLost {
                return false
            }
        }
    }
}

extension TemporaryServer {
    /// A dump of the server's database, made by pg_dump.
    fileprivate func dump() async throws -> String {
        let result = try await Subprocess.run(
            .path(.init(try await cluster.program("pg_dump"))), arguments: [url],
            output: .string(limit: 16 << 20), error: .string(limit: 1 << 16))
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        return result.standardOutput
    }
}

extension TestServer {
    fileprivate func restore(_ dump: String, into database: TestDatabase) async throws {
        let result = try await Subprocess.run(
            .path(.init(try await cluster().program("psql"))),
            arguments: ["-qXd", database.url, "-vON_ERROR_STOP=1", "--single-transaction"],
            input: .string(dump), output: .discarded, error: .string(limit: 1 << 16))
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
    }
}

/// A view that pauses at the first row of its first pass until `release()` is called. Like other views, it reads each pass with
/// one statement: PostgreSQL cancels a running statement, but ends a session that is idle in a transaction.
private final class HeldView: ReaderView {
    private struct State {
        var isReading = false
        var isReleased = false
        var position: Position?
    }
    private let state = Mutex(State())

    var isReading: Bool { state.withLock { $0.isReading } }
    func release() { state.withLock { $0.isReleased = true } }

    func position() -> Position? { state.withLock { $0.position } }
    func accepts(_ table: TableShape) -> Bool { true }

    func apply(_ pass: Pass) async throws -> Position {
        let position = try await pass.forEachRow { _ in
            state.withLock { $0.isReading = true }
            while !state.withLock({ $0.isReleased }) { usleep(1000) }
        }
        state.withLock { $0.position = position }
        return position
    }
}
