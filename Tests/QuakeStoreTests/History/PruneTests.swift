import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Pruning runs and rejects")
struct PruneTests {
    let server = TestServer.shared

    /// Runs of three sources in the last five months. The last number is how many days ago a run started.
    private static let past = """
        insert into import.run (source, outcome, started, finished)
        select source, outcome, now() - make_interval(days => days),
               case when outcome <> 'running' then now() - make_interval(days => days) + interval '1 second' end
        from (values (1, 'a', 'done', 150), (2, 'a', 'done', 149), (3, 'a', 'done', 120), (4, 'a', 'failed', 119),
                     (5, 'a', 'cancelled', 118),
                     (6, 'b', 'done', 150), (7, 'b', 'running', 140), (8, 'b', 'done', 95), (9, 'b', 'done', 10),
                     (10, 'c', 'failed', 100)
             ) as run (number, source, outcome, days)
        order by number;
        insert into import.reject (run, source, ordinal, byte_offset, reason, message, raw, size, last_seen)
        values (1, 'a', 1, 0, 'type', '', 'gone', 4, now() - interval '150 days'),
               (2, 'a', 1, 0, 'type', '', 'kept', 4, now() - interval '10 days')
        """

    private func runs(_ database: TestDatabase) async throws -> [Int] {
        try await database.query("select id from import.run order by id").map { try $0.decode("id") }
    }

    @Test(
        "Old runs and rejects are deleted, except unfinished runs and each source's last run and last success"
    )
    func old() async throws {
        try await server.withDatabase { database in
            try await database.execute(Self.past)
            let before = try await database.query("select * from import.last_run order by source").map {
                "\($0)"
            }

            let outcome = try await database.withConnection {
                try await Pruning(keep: .zero, keepAtMost: nil).run(on: $0)
            }

            // Runs 3 and 9 are the last successes of their sources. Runs 5, 9 and 10 are the last runs of
            // their sources. Run 7 is unfinished.
            #expect(try await runs(database) == [3, 5, 7, 9, 10])
            #expect(outcome.runs == 5 && outcome.rejects == 1)
            #expect(try await database.query("select from import.reject").count == 1)
            let after = try await database.query("select * from import.last_run order by source").map {
                "\($0)"
            }
            #expect(after == before)
        }
    }

    @Test("A limit of a year deletes no run, and a limit of zero deletes every run that is not needed")
    func ages() async throws {
        try await server.withDatabase { database in
            try await database.execute(Self.past)
            var pruning = Pruning(keep: .zero, keepAtMost: nil)
            pruning.keepRuns = .seconds(365 * 86_400)
            let none = try await database.withConnection { [pruning] in try await pruning.run(on: $0) }
            #expect(none.runs == 0 && none.rejects == 0)
            pruning.keepRuns = .zero
            let all = try await database.withConnection { [pruning] in try await pruning.run(on: $0) }
            #expect(all.rejects == 2)
            #expect(try await runs(database) == [3, 5, 7, 9, 10])
        }
    }

    @Test("The history keeps the number of a run that was pruned")
    func context() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.importSample(1)
            try await database.execute(
                "update import.run set source = 'a', started = started - interval '1 year', finished = finished - interval '1 year'"
            )
            let outcome = try await database.withConnection {
                try await Pruning(keep: .seconds(86_400), keepAtMost: nil).run(on: $0)
            }
            #expect(outcome.runs == 1)
            let contexts = try await database.query("select context from history.transaction order by token")
            #expect(try contexts.map { try $0.decode("context") } == ["run 1", "run 2"])
        }
    }

    @Test("The owner's role can prune runs")
    func roles() async throws {
        try await server.withRoles { roles in
            try await roles.database.execute(Self.past)
            let outcome = try await roles.login(.owner).withConnection {
                try await Pruning(keep: .zero, keepAtMost: nil).run(on: $0)
            }
            #expect(outcome.runs == 5)
        }
    }
}

@Suite("Pruning the history")
struct HistoryPruneTests {
    let server = TestServer.shared

    @Test("A pruning step ends once it has enough changes, and never divides a transaction")
    func steps() async throws {
        try await server.withNotes { database in
            for changes in [3, 2, 4, 9, 1, 1] {
                try await database.execute(
                    "insert into note select gen_random_uuid() from generate_series(1, \(changes))")
            }
            var steps: [[Int]] = []
            repeat {
                let step = try await database.query("select * from history.prune('0', null, 3, 5)")[0]
                steps.append([try step.decode("transactions"), try step.decode("changes")])
            } while steps.last != [0, 0]
            #expect(steps == [[2, 5], [2, 13], [2, 2], [0, 0]])
        }
    }

    @Test("No history is kept for a reader whose next changes are pruned already")
    func overtaken() async throws {
        try await server.withNotes { database in
            func write() async throws {
                try await database.execute("insert into note select gen_random_uuid()")
            }
            func prune(atMost: Duration?) async throws -> Pruning.Outcome {
                try await database.withConnection {
                    try await Pruning(keep: .zero, keepAtMost: atMost).run(on: $0)
                }
            }
            try await write()
            try await database.query("select history.report('late', history.current_token())")
            try await write()
            let kept = try await prune(atMost: nil)
            #expect(kept.transactions == 1 && kept.keptFor == "late")
            try await write()
            #expect(try await prune(atMost: .zero).transactions == 2)
            try await write()
            let overtaken = try await prune(atMost: nil)
            #expect(overtaken.transactions == 1 && overtaken.keptFor == nil)
        }
    }

    @Test(
        "A pruning step reads only what it deletes, and not the whole history, even with misleading statistics",
        .enabled("this server comes without auto_explain") {
            try await TestServer.shared.hasLibrary("auto_explain")
        })
    func plan() async throws {
        try await server.withNotes { database in
            // According to the planner's statistics, the history is one long transaction, so a sequential scan looks cheaper.
            try await database.execute("insert into note select n from generate_series(1, 5000) as n")
            try await database.execute("analyze")
            for _ in 1...5 { try await database.execute("update note set number = 1 where key = '7'") }

            let log = RecordedLog()
            let explained = database.with(
                """
                -csession_preload_libraries=auto_explain -cauto_explain.log_min_duration=0 \
                -cauto_explain.log_nested_statements=on -cclient_min_messages=log
                """)
            try await Connection.with(try explained.options(), logger: log.logger) { connection in
                _ = try await connection.query("select history.prune('0', null, 2)", to: "prune")
            }

            let deletions = log.lines.filter { $0.contains("plan:") && $0.contains("delete from") }
            #expect(deletions.count == 2)
            #expect(deletions.contains { $0.contains("Index Cond: (transaction = ANY") })
            #expect(deletions.contains { $0.contains("Index Cond: (id = ANY") })
            #expect(
                log.lines.contains {
                    $0.contains("limit at_most") && $0.contains("using transaction_token")
                })
        }
    }
}
