import Feed
import Foundation
import Logging
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Retries after conflicts with other transactions")
struct RepetitionTests {
    let server = TestServer.shared

    private static let written = [
        "quake", "import.run", "import.reject", "import.feed", "import.settled",
        "import.withdrawn", "import.backfill", "history.transaction", "history.change", "history.reader",
        "history.store",
    ]

    /// A deadlock, a serialization failure and an unavailable lock. A write is attempted five times, so it can meet all three.
    private static let conflicts = ["40P01", "40001", "55P03"]

    /// The first write to the table fails with each conflict in turn.
    @Test(
        "Every write to a table is retried after a conflict with another transaction", arguments: written
    )
    func everyWrite(table: String) async throws {
        try await server.withDatabase { database in
            try await database.failing(with: Self.conflicts)
            try await database.execute(
                """
                create trigger fail after insert or update or delete on \(table)
                    for each statement execute function fail_trigger()
                """)

            try await writeEverything(to: database)

            let calls = try await database.failures()
            #expect(calls > Self.conflicts.count, "\(table) was written to only \(calls) times")
        }
    }

    private func writeEverything(to database: TestDatabase) async throws {
        let events = [Event("us1"), Event("us2")]
        for feed in [
            Feed("all_day", at: 100, events, more: SmallFeed.feature("b", magnitude: "true")),
            Feed("all_day", at: 200, [Event("us1", updated: 3)]),
        ] {
            let summary = try await database.settle(feed)
            if let failure = summary.failure { throw failure }
        }
        #expect(try await database.column("code").count == 1)

        let service = TestEventService(count: 50, limit: 40)
        let answer: @Sendable (TestRequest) -> TestFeedServer.Answer = { request in
            if !request.uri.hasPrefix("/feed") { return service.answer(request) }
            let document = SmallFeed.document([SmallFeed.feature("a")])
            return request.headers.contains(name: "if-none-match")
                ? .whole(.notModified, []) : .whole(.ok, Array(document.utf8), headers: ["etag": "\"1\""])
        }
        try await TestFeedServer.run(answering: answer) { http in
            try await database.withConnection { connection in
                let importer = try await Importer(connection, logger: .quiet)
                for outcome in [ImportSummary.Outcome.done, .notModified] {
                    let summary = try await importer.run(.url(http.url("/feed")))
                    #expect(summary.outcome == outcome)
                }
                _ = try await Forgetting.forget(.url(http.url("/feed")), on: connection)

                var options = Backfill.Options(from: Instant(milliseconds: 0))
                options.to = Instant(milliseconds: 50 * Int64(TestEventService.interval))
                options.service = try #require(EventService(.url(http.url("/fdsnws/event/1/"))))
                (options.pace, options.service.limit, options.startsOver) = (.zero, 40, true)
                let backfill = try await Backfill(
                    connection, options, imports: Importer.Options(), logger: .quiet)
                #expect(try await backfill.run().events == 50)
            }
        }
        try await database.catchUp(MemoryView(), name: "a reader")
        try await database.withConnection { connection in
            try await Deletion.delete(["us1"], reason: nil, on: connection)
            var pruning = Pruning(keep: .zero, keepAtMost: .zero)
            pruning.keepRuns = .zero
            let outcome = try await pruning.run(on: connection)
            #expect(outcome.transactions > 0 && outcome.rejects == 1)
        }
    }

    @Test("Migrations and the creation of roles are retried, too")
    func migration() async throws {
        try await server.withRoles { roles in
            for purpose in ["migrate", "roles"] {
                try await server.withEmptyDatabase { database in
                    if purpose == "roles" {
                        try await database.withConnection { _ = try await Migrator($0).migrate() }
                    }
                    try await database.failing(with: Self.conflicts)
                    try await database.execute(
                        """
                        create function fail_command() returns event_trigger language plpgsql as $$
                        begin
                            perform public.fail();
                        end $$;
                        create event trigger fail on ddl_command_start execute function fail_command()
                        """)
                    try await database.withConnection { connection in
                        if purpose == "migrate" {
                            #expect(try await Migrator(connection).migrate().count > 1)
                        } else {
                            _ = try await roles.roles.establish(on: connection)
                        }
                    }
                    #expect(try await database.failures() > Self.conflicts.count, "\(purpose)")
                    try await database.execute(
                        "drop event trigger fail; drop owned by \(roles.loginName(.owner))")
                    for purpose in Roles.Purpose.allCases {
                        try await database.execute("drop owned by \(roles.roles.name(purpose)) cascade")
                    }
                }
            }
        }
    }

    /// SERIALIZABLE workers would conflict with each other on shared pages of small tables.
    @Test("Twenty concurrent imports all succeed where SERIALIZABLE is the default")
    func serializable() async throws {
        try await server.withDatabase { database in
            let database = database.with("-cdefault_transaction_isolation=serializable")
            let failures = try await withThrowingTaskGroup(of: (any Error)?.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let feature = SmallFeed.feature("c\(number)")
                        let broken = SmallFeed.feature("b\(number)", magnitude: "true")
                        return try await database.importDocument(
                            SmallFeed.document([feature, broken, SmallFeed.feature("all")])
                        ).failure
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(failures.compactMap(\.self).map { "\($0)" } == [])
            #expect(try await database.count("quake") == 21)
            #expect(try await database.query("select from import.run where outcome = 'done'").count == 20)
        }
    }

    @Test("A hot standby, which refuses SERIALIZABLE, can be read even where SERIALIZABLE is the default")
    func serializableStandby() async throws {
        let primary = try await TemporaryServer.start()
        let database = TestDatabase(url: primary.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        try await database.importFeatures([SmallFeed.feature("a")])
        try await withStandby(of: primary.cluster) { standby in
            try await standby.catchUp()
            let view = MemoryView()
            try await TestDatabase(url: standby.url()).with("-cdefault_transaction_isolation=serializable")
                .catchUp(view)
            #expect(view.now.rows.count == 1)
        }
    }

    @Test("A lasting failure is thrown after five attempts, or after one attempt in an open transaction")
    func lasting() async throws {
        try await server.withDatabase { database in
            try await database.failing(with: Array(repeating: "40P01", count: 100))
            try await database.execute(
                "create trigger fail before delete on quake for each statement execute function fail_trigger()"
            )
            try await database.withConnection { connection in
                let error = await #expect(throws: PostgresError.self) {
                    try await Deletion.delete(["us1"], reason: nil, on: connection)
                }
                let calls = try await database.failures()
                #expect(error?.sqlState == "40P01")
                #expect(calls == 5)

                await #expect(throws: PostgresError.self) {
                    try await connection.transaction(to: "delete") {
                        try await connection.repeating {
                            _ = try await connection.execute("delete from quake", to: "delete")
                        }
                    }
                }
                let callsThen = try await database.failures()
                #expect(callsThen == 6)
            }
        }
    }

    // MARK: The search for refused values

    @Test("A deadlock during the search for a refused value repeats the search")
    func deadlockInSearch() async throws {
        try await server.withDatabase { database in
            try await database.refusing("new.place = 'forbidden'", sqlState: "22000")
            // The first statement is the merge, and the second is the search.
            try await database.failing(with: ["40P01"], from: 2)
            try await database.execute(
                "create trigger fail before insert on quake for each statement execute function fail_trigger()"
            )

            let summary = try await database.importFeatures([
                SmallFeed.feature("a"), SmallFeed.feature("b", place: "forbidden"), SmallFeed.feature("c"),
            ])

            #expect(summary.figures == [2, 0, 0, 0, 1])
        }
    }

    /// A search by halving would take at least two transactions for each refused value.
    @Test("Thousands of refused values are found in a few transactions, and kept as rejects")
    func manyRefused() async throws {
        try await server.withDatabase { database in
            try await database.execute("alter table quake add check (place <> 'forbidden')")
            let features = (0..<4000).map {
                SmallFeed.feature("c\($0)", place: $0.isMultiple(of: 2) ? "forbidden" : "fine")
            }
            let before = try await database.transactions()

            let summary = try await database.importDocument(SmallFeed.document(features))

            #expect(summary.figures == [2000, 0, 0, 0, 2000])
            #expect((summary.failure as? Failure)?.kind == .badData)
            #expect(try await database.count("import.reject") == 2000)
            #expect(try await database.transactions() - before < 100)
        }
    }

    /// The server does not keep the copied rows in the order in which they were sent: a short row can fill an earlier page.
    @Test("Exactly the refused features are rejected, however long the rows of several batches are")
    func refusedAmongLongAndShort() async throws {
        try await server.withDatabase { database in
            try await database.execute("alter table quake add check (place not like 'forbidden%')")
            let features = (0..<6000).map { number in
                SmallFeed.feature(
                    "c\(number)",
                    place: (number.isMultiple(of: 13) ? "forbidden" : "fine")
                        + String(repeating: "x", count: number * 7919 % 400))
            }
            var options = Importer.Options()
            (options.batchSize, options.lanes, options.rejectLimit) = (1500, 1, .percent(50))

            let summary = try await database.importDocument(SmallFeed.document(features), options)

            #expect(summary.counts.rejected == 462 && summary.counts.inserted == 5538)
            let wrong = try await database.query(
                "select count(*) as count from import.reject where convert_from(raw, 'UTF8') not like '%forbidden%'"
            )
            #expect(try wrong[0].decode("count") == 0)
        }
    }

    @Test(
        "Refused versions of one event are found in a few transactions, and the newest valid one is imported")
    func refusedVersions() async throws {
        try await server.withDatabase { database in
            try await database.execute("alter table quake add check (place <> 'forbidden')")
            let features = (0..<500).map {
                SmallFeed.feature("a", updated: 1000 + $0, place: $0 == 7 ? "fine" : "forbidden")
            }
            let before = try await database.transactions()

            let summary = try await database.importDocument(SmallFeed.document(features))

            #expect(summary.counts.inserted == 1)
            #expect(try await database.column("place") == ["q0a": "fine"])
            #expect(try await database.transactions() - before < 100)
        }
    }

    @Test(
        "A feature that a constraint refuses is rejected alone, even if all features are new",
        arguments: [1, 3, 20_000])
    func constrained(batchSize: Int) async throws {
        try await server.withDatabase { database in
            try await database.execute("alter table quake add constraint short check (length(place) < 9)")
            var options = Importer.Options()
            options.batchSize = batchSize
            options.rejectLimit = .count(5)
            let features = (0..<20).map {
                SmallFeed.feature("c\($0)", place: [11, 17].contains($0) ? "too long a name" : "fits")
            }

            let summary = try await database.importDocument(SmallFeed.document(features), options)

            #expect(summary.failure == nil)
            #expect(summary.figures == [18, 0, 0, 0, 2])
            let messages = try await database.query("select distinct message from import.reject")
            #expect(
                try messages.map { try $0.decode("message") } == [
                    "the server refused a value: new row for relation \"quake\" violates check constraint \"short\" (SQLSTATE 23514)"
                ])
        }
    }
}

extension TestDatabase {
    /// Creates a function that fails with one SQLSTATE after the other, starting with call number `call`, and a trigger function
    /// that calls it. A sequence counts the calls, because a rollback does not reset a sequence.
    fileprivate func failing(with sqlStates: [String], from call: Int = 1) async throws {
        try await execute(
            """
            create sequence public.failures;
            create function public.fail() returns void language plpgsql as $$
            declare
                state text := ('{\(sqlStates.joined(separator: ","))}'::text[])[nextval('public.failures') - \(call - 1)];
            begin
                if state is not null then
                    raise exception 'ended' using errcode = state;
                end if;
            end $$;
            create function public.fail_trigger() returns trigger language plpgsql as $$
            begin
                perform public.fail();
                return null;
            end $$
            """)
    }

    /// How often the function `fail` was called.
    fileprivate func failures() async throws -> Int {
        try await query(
            "select case when is_called then last_value else 0 end as calls from public.failures")[0]
            .decode("calls")
    }

    /// How many transactions have ended, including those of sessions that have ended.
    fileprivate func transactions() async throws -> Int {
        try await waitUntil { try await otherSessions().isEmpty }
        return try await query(
            """
            select (xact_commit + xact_rollback)::bigint as count from pg_stat_database
            where datname = current_database()
            """)[0].decode("count")
    }
}
