import Feed
import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Lanes")
struct LaneTests {
    let server = TestServer.shared

    @Test("A long document is imported over one connection per lane, and each code over only one connection")
    func sideBySide() async throws {
        try await server.withDatabase { database in
            try await database.noteBackends()
            let first = (0..<20).map { SmallFeed.feature("first\($0)") }
            let versions = (1...4).flatMap { version in
                (0..<60).map { SmallFeed.feature("c\($0)", updated: 1000 + version, place: "\(version)") }
            }

            let summary = try await database.importFeatures(first + versions, batchSize: 20, lanes: 3)

            #expect(summary.figures == [80, 180, 0, 0, 0])
            #expect(try await Set(database.column("place").values) == ["somewhere", "4"])
            let backends = try await database.query(
                "select code, count(distinct pid) as pids from backend group by code")
            #expect(try backends.allSatisfy { try $0.decode("pids") == 1 })
            let all = try await database.query("select count(distinct pid) as pids from backend")[0]
            #expect(try all.decode("pids") == 3)
        }
    }

    @Test("A document continues with fewer lanes if the server has no connections left", arguments: [1, 2])
    func noRoom(connections: Int) async throws {
        try await server.withRoles { roles in
            let writer = roles.login(.writer)
            try await roles.database.execute(
                "alter role \(roles.loginName(.writer)) connection limit \(connections)")
            let log = RecordedLog()
            var options = Importer.Options()
            (options.batchSize, options.lanes, options.retraction) = (20, 3, .never)
            let document = SmallFeed.document((0..<200).map { SmallFeed.feature("c\($0)") })

            let summary = try await SmallFeed.withFile(document) { path in
                try await writer.withConnection { [options] connection in
                    try await Importer(connection, options: options, logger: log.logger).run(.file(path))
                }
            }

            #expect(summary.failure == nil)
            #expect(summary.figures == [200, 0, 0, 0, 0])
            #expect(log.lines.contains { $0.contains("continues with \(connections) of 3 connections") })
        }
    }

    @Test("A document of one batch is one transaction on one connection, however many lanes are allowed")
    func oneBatch() async throws {
        try await server.withDatabase { database in
            try await database.noteBackends()

            let summary = try await database.importFeatures(
                (0..<19).map { SmallFeed.feature("c\($0)") }, batchSize: 20, lanes: 4)

            #expect(summary.figures == [19, 0, 0, 0, 0])
            #expect(try await database.count("history.transaction") == 1)
            let backends = try await database.query("select distinct pid from backend")
            #expect(backends.count == 1)
        }
    }

    @Test("A document that settles uses only one connection", arguments: [1, 4])
    func settles(batchSize: Int) async throws {
        try await server.withDatabase { database in
            let url = "\"url\":\"https://example.org/event\""
            try await database.importFeatures([SmallFeed.feature("old", more: url)])
            try await database.noteBackends()
            let features = (0..<12).map { SmallFeed.feature("c\($0)") }
            var options = Importer.Options()
            options.batchSize = batchSize
            options.lanes = 3

            let summary = try await database.importDocument(
                """
                {"type":"FeatureCollection",
                 "metadata":{"generated":1000000,"url":"https://example.org/summary/2.5_day.geojson"},
                 "features":[\(features.joined(separator: ",")),
                 \(SmallFeed.feature("new", more: "\"ids\":\",q0new,q0old,\""))]}
                """, options)

            #expect(summary.counts.superseded == 1)
            let backends = try await database.query("select distinct pid from backend")
            #expect(backends.count == 1)
        }
    }

    @Test("A batch that turns out to have known events is merged like any other", arguments: [1, 3])
    func notNewAfterAll(lanes: Int) async throws {
        try await server.withDatabase { database in
            // Three of the last events already have a row: one row is older than the document's version, one is equal, and one is
            // newer.
            try await database.importFeatures([
                SmallFeed.feature("c197", updated: 500, place: "old"), SmallFeed.feature("c198"),
                SmallFeed.feature("c199", updated: 2000, place: "new"),
            ])

            let summary = try await database.importFeatures(
                (0..<200).map { SmallFeed.feature("c\($0)") }, batchSize: 20, lanes: lanes)

            #expect(summary.figures == [197, 1, 1, 1, 0])
            let places = try await database.column("place")
            #expect(places.count == 200)
            #expect(places["q0c197"] == "somewhere")
            #expect(places["q0c199"] == "new")
            #expect(try await database.count("history.change") == 3 + 198)
        }
    }

    @Test("A long document does not bring back an event that a newer document has removed")
    func withdrawnStaysAway() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into import.withdrawn (code, generated, reason)
                values ('q0c150', to_timestamp(2000), 'retracted by all_day')
                """)
            var options = Importer.Options()
            options.batchSize = 20
            options.lanes = 2
            func document(generated: Int) -> String {
                let features = (0..<200).map { SmallFeed.feature("c\($0)") }
                return """
                    {"type":"FeatureCollection","metadata":{"generated":\(generated),"url":"https://example.org/x"},
                     "features":[\(features.joined(separator: ","))]}
                    """
            }

            let older = try await database.importDocument(document(generated: 1_000_000), options)
            #expect(older.figures == [199, 0, 0, 1, 0])

            let newer = try await database.importDocument(document(generated: 3_000_000), options)
            #expect(newer.figures == [1, 0, 199, 0, 0])
        }
    }

    @Test("A run's tokens span the transactions of all lanes")
    func tokens() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures(
                (0..<200).map { SmallFeed.feature("c\($0)") }, batchSize: 10, lanes: 4)

            let row = try await database.query(
                """
                select first_token = (select min(token) from history.transaction)
                       and last_token = (select max(token) from history.transaction) as spans,
                       (select count(distinct context) from history.transaction) as contexts
                from import.run
                """)[0]
            #expect(try row.decode("spans"))
            #expect(try row.decode("contexts") == 1)
        }
    }

    @Test("Rejects of all lanes are kept and counted, including those that the server refused")
    func rejects() async throws {
        try await server.withDatabase { database in
            try await database.refusing("new.place = 'forbidden'", sqlState: "22000")
            let features = (0..<300).map { index in
                index % 50 == 7
                    ? "{\"broken\":\(index)}"
                    : SmallFeed.feature("c\(index)", place: index % 50 == 8 ? "forbidden" : "fine")
            }
            var options = Importer.Options()
            options.batchSize = 24
            options.lanes = 3
            options.retraction = .never
            options.rejectLimit = .count(12)

            let summary = try await database.importDocument(SmallFeed.document(features), options)

            #expect(summary.outcome == .done)
            #expect(summary.figures == [288, 0, 0, 0, 12])
            let ordinals = try await database.query("select ordinal from import.reject order by ordinal")
            #expect(
                try ordinals.map { try $0.decode("ordinal", as: Int.self) }
                    == (0..<6).flatMap { [$0 * 50 + 8, $0 * 50 + 9] })
            let run = try await database.query("select seen, bytes from import.run")[0]
            #expect(try run.decode("seen") == 300)
            #expect(try run.decode("bytes") == SmallFeed.document(features).utf8.count)
        }
    }

    @Test(
        "A failure in one lane ends the run; the lanes' commits are counted, and nothing else is stored"
    )
    func failure() async throws {
        try await server.withDatabase { database in
            try await database.refusing("new.code = 'q0c150'", sqlState: "0A000")
            let document = SmallFeed.document((0..<300).map { SmallFeed.feature("c\($0)") })
            var options = Importer.Options()
            options.batchSize = 24
            options.lanes = 3
            options.retraction = .never

            let summary = try await database.importDocument(document, options)

            #expect(summary.outcome == .failed)
            #expect((summary.failure as? PostgresError)?.sqlState == "0A000")
            #expect(summary.counts.inserted > 24 && summary.counts.inserted < 299)
            #expect(try await database.count("quake") == summary.counts.inserted)
            let run = try await database.query("select outcome, inserted from import.run")[0]
            #expect(try run.decode("outcome") == "failed")
            #expect(try run.decode("inserted") == summary.counts.inserted)
        }
    }

    /// source:  writes two batches ─────────────────────────────── writes nothing more, and stays open
    /// reader:    hands the second batch to the lane ── waits for the source
    /// lane:                                               fails at c30: the run ends
    @Test("A failure in one lane ends the run even if the reader is waiting for the source")
    func failureWhileWaiting() async throws {
        try await server.withDatabase { database in
            try await database.refusing("new.code = 'q0c30'", sqlState: "0A000")
            var options = Importer.Options()
            options.batchSize = 20
            options.retraction = .never
            let beginning = SmallFeed.document((0..<40).map { SmallFeed.feature("c\($0)") }).dropLast(2)
            let path = FileManager.default.temporaryDirectory.appending(path: "pipe-\(UUID())").path
            try #require(mkfifo(path, 0o600) == 0)
            let writer = open(path, O_RDWR)
            defer {
                close(writer)
                unlink(path)
            }
            // The whole beginning fits into the pipe.
            try #require(write(writer, Array(beginning.utf8), beginning.utf8.count) == beginning.utf8.count)

            let summary = try await database.importFile(path, options)

            #expect(summary.outcome == .failed)
            #expect((summary.failure as? PostgresError)?.sqlState == "0A000")
        }
    }

    @Test("If a lane loses its connection, the run fails, and the first connection records the failure")
    func lostLane() async throws {
        try await server.withDatabase { database in
            try await database.withBlockedLanes { run in
                // A session whose wait for the lock times out asks again, and is not waiting in between. So the query acts only
                // if both sessions wait. pg_terminate_backend waits until the session has ended. The run then cancels the other
                // lane.
                try await waitUntil {
                    try await database.query(
                        """
                        select pg_terminate_backend(pid, 600000)
                        from (select pid, row_number() over (order by backend_start desc) as rank, count(*) over () as count
                              from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waiting
                        where rank = 1 and count = 2
                        """
                    ).count == 1
                }
                return run
            } after: { summary in
                #expect(summary.outcome == .failed)
                #expect((summary.failure as? PostgresError)?.connectionLost == true)
                #expect(try await database.count("quake") == summary.counts.inserted)
                let row = try await database.query("select outcome, inserted from import.run")[0]
                #expect(try row.decode("outcome") == "failed")
                #expect(try row.decode("inserted") == summary.counts.inserted)
            }
        }
    }

    @Test("A cancelled run ends in all lanes, and counts what was committed")
    func cancelled() async throws {
        try await server.withDatabase { database in
            try await database.withBlockedLanes { run in
                run.cancel()
                try await waitUntil { try await database.blockedSessions() == 0 }
                return run
            } after: { summary in
                #expect(summary.outcome == .cancelled)
                #expect(try await database.count("quake") == summary.counts.inserted)
                let row = try await database.query("select outcome from import.run")[0]
                #expect(try row.decode("outcome") == "cancelled")
            }
        }
    }
}

extension TestDatabase {
    /// Records each inserted or updated code, and the server process, in the table `backend`.
    fileprivate func noteBackends() async throws {
        try await withConnection { connection in
            try await connection.execute(
                script: """
                    create table backend (code text, pid integer);
                    create function note() returns trigger language plpgsql as $$
                    begin
                        insert into backend values (new.code, pg_backend_pid());
                        return new;
                    end $$;
                    create trigger note after insert or update on quake for each row execute function note();
                    """, to: "prepare the test")
        }
    }

    /// Runs an import over two lanes. Both wait for keys that another session holds until `body` has ended.
    fileprivate func withBlockedLanes(
        _ body: (Task<ImportSummary, any Error>) async throws -> Task<ImportSummary, any Error>,
        after check: (ImportSummary) async throws -> Void
    ) async throws {
        let document = SmallFeed.document((0..<200).map { SmallFeed.feature("c\($0)") })
        var options = Importer.Options()
        options.batchSize = 40
        options.lanes = 2
        options.retraction = .never
        try await SmallFeed.withFile(document) { [options] path in
            let summary = try await withConnection { blocker in
                try await blocker.execute(
                    script: """
                        begin;
                        insert into quake (code, net, net_code, time, updated, longitude, latitude)
                        select 'q0c' || i, 'q0', 'c' || i, now(), now(), 0, 0 from generate_series(100, 199) as i
                        """, to: "hold keys")
                let run = Task { try await self.importFile(path, options) }
                try await waitUntil { try await blockedSessions() == 2 }
                let running = try await body(run)
                try await blocker.execute(script: "rollback", to: "let go")
                return try await running.value
            }
            try await check(summary)
        }
    }
}
