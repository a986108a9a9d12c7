import Feed
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Runs")
struct RunTests {
    let server = TestServer.shared

    @Test("A run records its source, feed, counts and outcome")
    func recorded() async throws {
        try await server.withDatabase { database in
            let document = """
                {"type":"FeatureCollection","metadata":{"url":"https://example.org/x.geojson"},
                "features":[\(SmallFeed.feature("a"))]}
                """
            let summary = try await database.importDocument(document)

            let run = try await database.query("select *, finished >= started as ended from import.run")[0]
            #expect(try run.decode("id") == summary.run)
            #expect(try run.decode("source") == "\(summary.source)")
            #expect(try run.decode("feed") == "https://example.org/x.geojson")
            #expect(try run.decode("outcome") == "done")
            #expect(try run.decode("inserted") == 1)
            #expect(try run.decode("bytes") == document.utf8.count)
            #expect(try run.decode("ended", as: Bool.self))
        }
    }

    @Test("A document that is broken within its first batch leaves only the failed run")
    func brokenWithinABatch() async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document([SmallFeed.feature("a"), SmallFeed.feature("b")])

            let summary = try await database.importDocument(String(document.dropLast(3)))

            #expect(summary.outcome == .failed)
            #expect(try await database.count("quake") == 0)
            let run = try await database.query("select outcome, error, inserted from import.run")[0]
            #expect(try run.decode("outcome") == "failed")
            #expect(try run.decode("error", as: String.self).contains("at byte \(document.utf8.count - 3)"))
            #expect(try run.decode("inserted") == 0)
        }
    }

    @Test("If a longer document turns out to be broken, the batches already committed stay and are counted")
    func brokenLater() async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document((0..<25).map { SmallFeed.feature("c\($0)") })
            var options = Importer.Options()
            options.batchSize = 10

            let summary = try await database.importDocument(String(document.dropLast(2)), options)

            #expect(summary.counts.inserted == 20)
            #expect(try await database.count("quake") == 20)
            let run = try await database.query("select inserted, seen from import.run")[0]
            #expect(try run.decode("inserted") == 20)
            #expect(try run.decode("seen") == 20)
        }
    }

    @Test("A dry run counts as the import would, and writes nothing")
    func dryRun() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([
                SmallFeed.feature("same"), SmallFeed.feature("revised"),
                SmallFeed.feature("newer", updated: 2000),
            ])
            let document = SmallFeed.document([
                SmallFeed.feature("same"), SmallFeed.feature("revised", updated: 2000),
                SmallFeed.feature("newer", updated: 1000), SmallFeed.feature("new"),
                SmallFeed.feature("broken", magnitude: "[]"),
            ])
            var options = Importer.Options()
            options.isDryRun = true
            let before = try await database.column("xmin")

            let dry = try await database.importDocument(document, options)

            #expect(try await database.column("xmin") == before)
            #expect(try await database.count("import.run") == 1)
            #expect(try await database.count("import.reject") == 0)
            let real = try await database.importDocument(document)
            #expect(dry.figures == [1, 1, 1, 1, 1])
            #expect(real.figures == dry.figures)
        }
    }

    @Test("A second run of a source is refused while the first one is still running")
    func oneRunPerSource() async throws {
        try await server.withDatabase { database in
            try await withPipe { path in
                let first = Task { try await database.importFile(path) }
                try await waitUntil { try await database.count("import.run") == 1 }

                await #expect(throws: SourceBusy(source: .file(path))) {
                    try await database.importFile(path)
                }

                first.cancel()
                _ = try await first.value
            }
        }
    }

    @Test("A cancelled run is recorded as cancelled, and its source is free again")
    func cancelled() async throws {
        try await server.withDatabase { database in
            try await withPipe { path in
                let run = Task { try await database.importFile(path) }
                try await waitUntil { try await database.count("import.run") == 1 }
                run.cancel()

                let summary = try await run.value

                #expect(summary.outcome == .cancelled)
                let outcomes = try await database.query("select outcome, error from import.run")
                #expect(try outcomes[0].decode("outcome") == "cancelled")
                #expect(try await database.advisoryLocks() == 0)
            }
        }
    }

    @Test(
        "If the server ends the worker's session mid-import, the batch is lost, and the next run closes the dead run"
    )
    func droppedByTheServer() async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document((0..<20).map { SmallFeed.feature("c\($0)") })
            try await SmallFeed.withFile(document) { path in
                // blocker: holds c5's key   | worker: copies, merges, waits for c5
                //                           | its backend is terminated
                try await database.withConnection { blocker in
                    try await blocker.execute(
                        script: """
                            begin;
                            insert into quake (code, net, net_code, time, updated, longitude, latitude)
                            values ('q0c5', 'q0', 'c5', now(), now(), 0, 0)
                            """, to: "hold a key")
                    let run = Task { try await database.importFile(path) }
                    try await waitUntil {
                        try await !database.query(
                            """
                            select pg_terminate_backend(pid) from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock'
                            """
                        ).isEmpty
                    }
                    let summary = try await run.value
                    #expect(summary.outcome == .failed)
                    #expect((summary.failure as? PostgresError)?.connectionLost == true)
                    try await blocker.execute(script: "rollback", to: "let go")
                }
                #expect(try await database.count("quake") == 0)

                let second = try await database.importFile(path)

                #expect(second.counts.inserted == 20)
                let runs = try await database.query("select outcome, error from import.run order by id")
                #expect(try runs.map { try $0.decode("outcome") } == ["failed", "done"])
                #expect(try runs[0].decode("error") == "the worker died")
            }
        }
    }

    /// other:  locks b                         waits for a ─────────────── gets it, commits
    /// worker:          locks a, waits for 8 ────────────── waits for b: is the victim, retries
    /// third:  holds 8                                   releases 8
    ///                                                   holds 9, which the retried batch waits for,      releases 9
    @Test("After a deadlock with another writer, the batch is retried")
    func deadlock() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.execute(
                """
                create function pause() returns trigger language plpgsql as
                    'begin perform pg_advisory_xact_lock_shared(8); return new; end';
                create trigger pause before update on quake
                    for each row when (old.code = 'q0a') execute function pause();
                create function enter() returns trigger language plpgsql as
                    'begin perform pg_advisory_lock_shared(9), pg_advisory_unlock_shared(9); return null; end';
                create trigger enter before update on quake for each statement execute function enter()
                """)
            let summary = try await database.withConnection { third in
                try await third.query("select pg_advisory_lock(8)", to: "hold 8")
                return try await database.withConnection { other in
                    try await other.execute(
                        script:
                            "set deadlock_timeout = '1h'; begin; update quake set sig = 1 where code = 'q0b'",
                        to: "lock b")
                    let run = Task {
                        try await database.with("-cdeadlock_timeout=10ms").importFeatures([
                            SmallFeed.feature("a", updated: 2000), SmallFeed.feature("b", updated: 2000),
                        ])
                    }
                    try await waitUntil { try await database.blockedSessions() == 1 }
                    let locking = Task {
                        try await other.execute(
                            script: "update quake set sig = 1 where code = 'q0a'; commit", to: "lock a")
                    }
                    try await waitUntil { try await database.blockedSessions() == 2 }
                    try await third.query("select pg_advisory_lock(9), pg_advisory_unlock(8)", to: "let go")
                    try await locking.value
                    try await third.query("select pg_advisory_unlock(9)", to: "let go")
                    return try await run.value
                }
            }

            #expect(summary.figures == [0, 2, 0, 0, 0])
            #expect(try await database.column("sig") == ["q0a": nil, "q0b": nil])
            let deadlocks = try await database.deadlocks()
            #expect(deadlocks == 1)
        }
    }

    /// worker:   imports ── commits, waits for a standby
    /// server:                                              ends the session, which has temporary tables to drop
    @Test("A batch's commit waits for a standby, but the end of the worker's session does not")
    func lostStandbys() async throws {
        let server = try await TemporaryServer.start(settings: ["synchronous_commit": "on"])
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        try await database.importFeatures([SmallFeed.feature("a")])
        try await database.query("alter system set synchronous_standby_names = 'nobody'")
        try await database.query("select pg_reload_conf()")
        let run = Task {
            try await database.importDocument(SmallFeed.document([SmallFeed.feature("a", updated: 2000)]))
        }
        let waiting: Query = "select pid from pg_stat_activity where wait_event = 'SyncRep'"
        try await waitUntil { try await database.query(waiting).count == 1 }
        let worker = try await database.query(waiting)[0].decode("pid", as: Int.self)
        try await database.query("select pg_terminate_backend(\(worker)::int)")
        try await waitUntil {
            try await database.query("select from pg_stat_activity where pid = \(worker)").isEmpty
        }
        #expect((try await run.value.failure as? PostgresError)?.connectionLost == true)
    }

    @Test("A session with a hostile search path and settings gives the same import")
    func hostileSettings() async throws {
        try await server.withDatabase { database in
            try await database.query("create schema evil")
            try await database.query("create table evil.quake (code text)")
            let hostile = database.with(
                "-csearch_path=evil -cDateStyle=German -cTimeZone=Asia/Kathmandu -cextra_float_digits=-15")

            let summary = try await hostile.importFeatures([SmallFeed.feature("a")])

            #expect(summary.figures == [1, 0, 0, 0, 0])
            #expect(try await database.column("extract(epoch from time)") == ["q0a": "1.000000"])
        }
    }

    @Test("The history records changes even in a session with the replica role")
    func replicaSession() async throws {
        try await server.withDatabase { database in
            try await database.with("-csession_replication_role=replica").importFeatures([
                SmallFeed.feature("a")
            ])

            #expect(try await database.count("history.change") == 1)
        }
    }

    /// Runs `body` with a named pipe whose writer sends nothing.
    private func withPipe(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "pipe-\(UUID())").path
        try #require(mkfifo(path, 0o600) == 0)
        let writer = open(path, O_RDWR)
        defer {
            close(writer)
            unlink(path)
        }
        try await body(path)
    }
}

extension TestDatabase {
    /// The number of deadlocks so far. A session reports its deadlocks when it ends.
    fileprivate func deadlocks() async throws -> Int {
        func count() async throws -> Int {
            try await query("select deadlocks from pg_stat_database where datname = current_database()")[0]
                .decode("deadlocks")
        }
        try await waitUntil { try await count() > 0 }
        return try await count()
    }
}
