import Feed
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Forgetting a source")
struct ForgettingTests {
    let server = TestServer.shared

    @Test(
        "A source's runs and feed state are deleted; earthquakes, history, rejects and other sources stay"
    )
    func forgotten() async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document([
                SmallFeed.feature("a"), SmallFeed.feature("b", magnitude: "\"x\""),
            ])
            try await database.execute(
                """
                insert into import.run (source, outcome, finished) values
                    ('https://host/a', 'done', now()), ('https://host/b', 'done', now());
                insert into import.feed (source, checked_at) values ('https://host/a', now()), ('https://host/b', now())
                """)
            try await SmallFeed.withFile(document) { path in
                try await database.importFile(path)
                try await database.importFile(path)
                let before = try await database.query("select * from report.reject").count

                #expect(try await database.forget("https://host/a") == 1)
                #expect(try await database.forget(path) == 2)

                let left = try await database.query("select source from import.last_run")
                #expect(try left.map { try $0.decode("source") } == ["https://host/b"])
                #expect(try await database.query("select from report.feed_health").count == 1)
                #expect(try await database.query("select from report.import_run").count == 1)
                #expect(try await database.count("import.feed") == 1)
                #expect(try await database.count("quake") == 1)
                #expect(try await database.count("history.change") == 1)
                #expect(try await database.query("select * from report.reject").count == before)
                let rejected = try await database.query("select distinct source from report.reject")
                #expect(try rejected.map { try $0.decode("source") } == [path])

                // A later import of the same source counts as new.
                try await database.importFile(path)
                #expect(try await database.query("select from import.last_run").count == 2)
                #expect(try await database.query("select from report.import_run").count == 2)
            }
        }
    }

    @Test("A backfill can be forgotten like a source")
    func backfill() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                """
                insert into import.run (source, outcome) values ('backfill https://host/1', 'failed');
                insert into import.backfill (service, window_start, window_end, newest_first, reached)
                values ('https://host/1', now(), now(), false, now()), ('https://host/2', now(), now(), false, now())
                """)
            #expect(try await database.forget("backfill https://host/1") == 1)
            #expect(try await database.count("import.backfill") == 1)
        }
    }

    @Test("A source with a running import can't be forgotten, and nothing is deleted")
    func busy() async throws {
        try await server.withDatabase { database in
            for name in ["https://host/a", "-"] {
                try await database.withConnection { holder in
                    let log = RunLog(connection: holder, source: FeedSource(name), name: name)
                    try await log.lock()
                    _ = try await log.begin()
                    await #expect(throws: SourceBusy.self) { try await database.forget(name) }
                }
            }
            #expect(try await database.query("select from import.last_run").count == 2)
        }
    }

    @Test("Forgetting a source that was never imported is an error")
    func unknown() async throws {
        try await server.withDatabase { database in
            let error = await #expect(throws: Failure.self) { try await database.forget("all_day") }
            #expect(
                error?.description
                    == "nothing was ever imported from all_day; quakes status lists the imported sources")
        }
    }
}

extension TestDatabase {
    fileprivate func forget(_ source: String) async throws -> Int {
        try await withConnection { try await Forgetting.forget(FeedSource(source), on: $0) }
    }
}
