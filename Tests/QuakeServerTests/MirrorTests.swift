import Feed
import Logging
import PostgreSQL
import QuakeServer
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

/// A mirror is a catalogue that imports the changes from the server of another catalogue, its source.
@Suite("A mirror of another catalogue")
struct MirrorTests {
    private let server = TestServer.shared

    @Test(
        "After every import, a mirror has its source's rows, whether rows were inserted, changed or deleted")
    func sameTable() async throws {
        try await withPair { first, second, site in
            var writer = RandomWriter(seededRandom())
            for _ in 0..<12 {
                try await writer.write(1 + writer.random.below(4), to: first)
                // There are only a dozen events, so the brake might hold even a few deletions.
                let summary = try await second.mirror(site) { $0.retraction = .force }
                #expect(summary.failure == nil)
                #expect(try await second.rows() == first.rows())
            }
            // An up-to-date mirror has nothing to do and records no run.
            let runs = try await second.query("select from import.run").count
            #expect(try await second.mirror(site).outcome == .notModified)
            #expect(try await second.query("select from import.run").count == runs)
        }
    }

    @Test("A new grouping of the source's rows into earthquakes changes no rows in the mirror")
    func grouped() async throws {
        try await withPair { first, second, site in
            try await first.importAgencies()
            try await first.group(["us1", "gfz:a"])
            try await second.mirror(site)
            #expect(try await second.rows() == first.rows())
            try await first.group(["us1", "gfz:a", "emsc:b"])
            let summary = try await second.mirror(site)
            #expect(summary.failure == nil && summary.counts.inserted + summary.counts.updated == 0)
            #expect(try await second.rows() == first.rows())
        }
    }

    @Test("A mirror moves past the source's transactions that change no event, and records no run for them")
    func otherTransactions() async throws {
        try await withPair { first, second, site in
            try await first.importAgencies()
            try await second.mirror(site)
            let runs = try await second.query("select from import.run").count
            try await first.query(
                "insert into association_override (a, b, verdict) values ('x', 'y', 'different')")

            #expect(try await second.mirror(site).outcome == .notModified)

            let token = try await second.query(
                "select split_part(position, '_', 1)::int as token from import.mirror")[0].decode(
                    "token", as: Int.self)
            let newest = try await first.query("select history.current_token() as token")[0].decode(
                "token", as: Int.self)
            #expect(token == newest)
            #expect(try await second.query("select from import.run").count == runs)
        }
    }

    @Test("A deletion is copied with its reason and its author, and the source's host is added to the author")
    func authors() async throws {
        try await withPair(namesAuthors: true) { first, second, site in
            try await first.importDocument(DayFeed.of(20).document)
            #expect(try await second.mirror(site).counts.inserted == 20)
            try await first.withConnection { connection in
                try await connection.execute(
                    script: """
                        begin;
                        select set_config('history.author', 'alice', true),
                               set_config('history.reason', 'superseded by usc4', true);
                        delete from quake where code = 'usc3';
                        commit
                        """, to: "delete an event")
            }
            let summary = try await second.mirror(site)
            #expect(summary.counts.retracted == 1 && summary.tokens != nil)
            let row = try await second.query(
                """
                select t.author, c.reason, c.key from history.change c join history.transaction t on t.id = c.transaction
                where c.operation = 'delete'
                """)[0]
            #expect(try row.decode("author") == "alice at 127.0.0.1")
            #expect(try row.decode("reason") == "superseded by usc4")
            #expect(try row.decode("key") == "usc3")
            #expect(try await second.query("select from import.deleted").isEmpty)
        }
    }

    @Test(
        "A mirror with an invalid position reads a snapshot, and deletes rows that the source lacks, unless there are many"
    )
    func anew() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(60).document)
            try await second.mirror(site)
            try await second.query(
                "update import.mirror set position = regexp_replace(position, '_[^_]*$', '_0e2d3c00-0000-0000-0000-000000000000')"
            )
            try await first.query("delete from quake where code in ('usc1', 'usc2')")
            let summary = try await second.mirror(site)
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 2)
            #expect(try await second.rows() == first.rows())

            try await second.query("delete from import.mirror")
            try await first.query("delete from quake where code > 'usc3'")
            let held = try await second.mirror(site)
            #expect(held.failure is BrakeHeld)
            #expect(try await second.rows().count == 58)
            #expect(try await second.mirror(site) { $0.retraction = .force }.failure == nil)
            #expect(try await second.rows() == first.rows())
        }
    }

    @Test(
        "If the source has lost all rows or more than a tenth of them, the mirror keeps its rows unless forced",
        arguments: [(4, 4), (60, 7)], [false, true])
    func brake(_ events: (all: Int, gone: Int), isAnew: Bool) async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(events.all).document)
            try await second.mirror(site)
            let before = try await second.rows()
            if isAnew { try await second.query("delete from import.mirror") }
            try await first.query(
                "delete from quake where code in (select code from quake order by code limit \(events.gone))")

            let held = try await second.mirror(site)
            #expect(held.failure is BrakeHeld && held.counts.retracted == 0)
            #expect(
                "\(held.failure as Any)".contains(
                    "lacks \(events.gone) of the \(events.all) events in this table"))
            #expect(try await second.rows() == before)
            // New events are imported, and the held deletions are reported again.
            var feed = DayFeed()
            feed.add("new")
            try await first.importDocument(feed.document)
            let next = try await second.mirror(site)
            #expect(next.failure is BrakeHeld)
            #expect(try await second.mirror(site).failure is BrakeHeld)
            #expect(next.counts.inserted == 1)

            let forced = try await second.mirror(site) { $0.retraction = .force }
            #expect(forced.failure == nil)
            #expect(try await second.rows() == first.rows())
            #expect(try await second.mirror(site).outcome == .notModified)
        }
    }

    @Test("The brake compares with the rows that were in the table before, however many rows an answer adds")
    func brakeOfManyNewRows() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(600).document)
            let own = (0..<30).map { SmallFeed.feature("own\($0)") }
            try await second.importDocument(SmallFeed.document(own))
            let held = try await second.mirror(site)
            #expect(held.failure is BrakeHeld && held.counts.retracted == 0)
            for _ in 0..<3 {
                #expect(
                    "\(try await second.mirror(site).failure as Any)".contains(
                        "lacks 30 of the 30 events in this table"))
            }
            #expect(try await second.rows().count == 630)
        }
    }

    @Test("The brake does not hold for an event that was renamed, and a reason may have any length")
    func renamedAlone() async throws {
        try await withPair { first, second, site in
            try await first.importFeatures([SmallFeed.feature("a")])
            try await second.mirror(site)
            try await first.execute(
                """
                begin; set local history.reason = 'superseded by q0b'; create temporary table moved as select * from quake;
                delete from quake; update moved set code = 'q0b'; insert into quake select * from moved; commit
                """)
            #expect(try await second.mirror(site).failure == nil)
            #expect(try await second.rows() == first.rows())
            try await first.importFeatures([SmallFeed.feature("c")])
            try await second.mirror(site)
            try await first.execute(
                """
                begin;
                select set_config('history.reason', string_agg(md5(n::text), ''), true) from generate_series(1, 500) as n;
                delete from quake where code = 'q0c'; commit
                """)
            #expect(try await second.mirror(site).failure == nil)
            #expect(try await second.rows() == first.rows())
        }
    }

    @Test("A daemon's request waits for less time than the run may take")
    func patience() {
        var options = Importer.Options()
        #expect(Mirror.patience(options) == 0)
        options.every = .seconds(60)
        #expect(Mirror.patience(options) == 20)
        options.timeout = .seconds(15)
        #expect(Mirror.patience(options) == 7)
        options.timeout = .seconds(600)
        #expect(Mirror.patience(options) == 20)
    }

    @Test(
        "With --retract never, nothing is deleted, and everything else is imported", arguments: [false, true])
    func never(isAnew: Bool) async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(20).document)
            try await second.mirror(site)
            if isAnew { try await second.query("delete from import.mirror") }
            try await first.query("delete from quake where code in ('usc3', 'usc4')")
            try await first.query("update quake set magnitude = 7 where code = 'usc5'")
            let summary = try await second.mirror(site) { $0.retraction = .never }
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 0 && summary.counts.updated == 1)
            #expect(try await second.rows().count == 20)
            #expect(try await second.mirror(site).outcome == .notModified)
        }
    }

    @Test(
        "If a constraint of the mirror refuses an event, nothing is imported, and the error names the constraint"
    )
    func refused() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(20).document)
            try await second.query("alter table quake add constraint few check (code <> 'usc3')")
            let failure = try await second.mirror(site).failure as? Failure
            #expect(failure?.description.contains("the table quake refuses an event") == true)
            #expect(failure?.description.contains("\"few\"") == true)
            #expect(try await second.rows().isEmpty)
        }
    }

    @Test("An answer that is not a stream of changes, or is cut off, changes nothing")
    func broken() async throws {
        try await server.withDatabase { database in
            let position = Self.position
            let answers: [(TestFeedServer.Answer, String)] = [
                (.whole(.ok, Array("<html>\n</html>\n".utf8)), "does not end with a position"),
                (.whole(.ok, Array("{\"snapshot\":\"x\"}\n".utf8)), "does not end with a position"),
                (.whole(.ok, Array("{\"snap\n\(position)\n".utf8)), "does not send the changes"),
                (.cutOff(Array("{\"snapshot\":\"x\"}\n\(position)\n".utf8), promised: 1000), "ended before"),
                (.whole(.serviceUnavailable, []), "503"),
            ]
            for (answer, reason) in answers {
                try await TestFeedServer.run(answering: { _ in answer }) { server in
                    let summary = try await database.mirror(server.url("/changes"))
                    #expect("\(summary.failure.map { "\($0)" } ?? "")".contains(reason))
                    #expect(try await database.query("select from import.mirror").isEmpty)
                }
            }
        }
    }

    /// The lines of malformed answers, each answer with the reason that the failure gives.
    private static let malformedAnswers: [(lines: [String], reason: String)] = [
        (["5", position], "line 1 is not an object"),
        (["[]", position], "line 1 is not an object"),
        (["{}", position], "line 1 is of an unknown kind"),
        ([position, position], "line 1 is a position, but not the last line"),
        ([#"{"store":7}"#], "its last line is not a position"),
        ([position.replacing("7,", with: "-7,")], "its last line is not a position"),
        ([position.replacing("2026-11-21", with: "today")], "its last line is not a position"),
        ([change(), #"{"snapshot":"x"}"#, position], "line 2 begins a snapshot after other lines"),
        ([#"{"row":{"code":"us1"}}"#, position], "line 1 is a row outside a snapshot"),
        ([#"{"snapshot":"x"}"#, #"{"row":{"code":1}}"#, position], "line 2 is a row without a code"),
        ([#"{"snapshot":"x"}"#, #"{"row":{"code":"us1"}}"#, position], "null value in column"),
        ([#"{"snapshot":"x"}"#, #"{"row":[]}"#, position], "line 2 is a row without a code"),
        ([change(operation: #""truncate""#), position], "line 1 is not a change"),
        ([change(operation: "null"), position], "line 1 is not a change"),
        ([change(key: "7"), position], "line 1 is not a change"),
        ([change(row: "[]"), position], "line 1 is not a change"),
        ([change(row: #"{"code":"us2"}"#), position], "line 1 has the row of another event"),
        ([change(row: #"{"code":"us1","time":"noon"}"#), position], "invalid input syntax"),
        ([#"{"operation":"delete","key":"us1"}"#, position], "line 1 is not a change"),
    ]
    private static let position =
        #"{"store":"0e2d3c00-0000-0000-0000-000000000000","token":7,"committed_at":"2026-11-21T09:00:00.123456Z","nonce":"3f9a01c7"}"#

    private static func change(
        operation: String = #""update""#, key: String = #""us1""#, row: String = "null"
    ) -> String {
        #"{"token":7,"operation":\#(operation),"key":\#(key),"reason":null,"row":\#(row)}"#
    }

    @Test("A malformed line is named, and nothing is imported", arguments: malformedAnswers.indices)
    func malformed(_ index: Int) async throws {
        let (lines, reason) = Self.malformedAnswers[index]
        let answer = TestFeedServer.Answer.whole(.ok, Array(lines.map { $0 + "\n" }.joined().utf8))
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { _ in answer }) { server in
                let failure = try await database.mirror(server.url("/changes")).failure
                let text = (failure as? Failure)?.description
                #expect(text?.contains(reason) == true, "\(failure as Any)")
                #expect(try await database.query("select from import.mirror").isEmpty)
            }
        }
    }

    @Test("An endless line is not read to its end")
    func endless() async throws {
        try await server.withDatabase { database in
            // The answer promises more bytes than it ever sends.
            let answer = TestFeedServer.Answer.stalled(
                [UInt8](repeating: UInt8(ascii: "a"), count: 9 << 20), promised: 200 << 20)
            try await TestFeedServer.run(answering: { _ in answer }) { server in
                let failure = try await database.mirror(server.url("/changes")).failure
                let text = (failure as? Failure)?.description
                #expect(text?.contains("line 1 is longer than 8 MiB;") == true)
            }
        }
    }

    @Test("If an import fails because the notification queue is full, the error says so and names a remedy")
    func fullQueue() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(3).document)
            // The trigger raises the error that PostgreSQL raises at a COMMIT when the queue is full.
            try await second.withConnection { connection in
                try await connection.execute(
                    script: """
                        create function refuse() returns trigger language plpgsql as $$
                        begin
                            raise exception 'too many notifications in the NOTIFY queue' using errcode = '54000';
                        end $$;
                        create constraint trigger refuse after insert on quake deferrable initially deferred
                            for each row execute function refuse()
                        """, to: "fill the queue")
            }
            let failure = try #require(try await second.mirror(site).failure as? PostgresError)
            #expect(failure.message == "too many notifications in the NOTIFY queue")
            #expect(failure.remedy?.contains("pg_notification_queue_usage()") == true)
            try await second.query("drop trigger refuse on quake")
            #expect(try await second.mirror(site).counts.inserted == 3)
        }
    }

    @Test("A mirror accepts positions whose tokens have nineteen digits")
    func longTokens() async throws {
        try await withPair { first, second, site in
            try await first.query("select setval('history.token', 1000000000000000000)")
            for count in [3, 5] {
                try await first.importDocument(DayFeed.of(count).document)
                #expect(try await second.mirror(site).failure == nil)
                #expect(try await second.rows() == first.rows())
            }
            #expect(try await second.query("select from import.run").count == 2)
        }
    }

    @Test("A dry run writes nothing")
    func dryRun() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(5).document)
            // A run that imports would close this run of a dead worker.
            try await second.query("insert into import.run (source) values ('https://host/dead')")
            let summary = try await second.mirror(site) { $0.isDryRun = true }
            #expect(summary.counts.inserted == 5)
            #expect(try await second.query("select from import.run where outcome = 'running'").count == 1)
            #expect(try await second.rows().isEmpty)
            #expect(try await second.query("select from import.mirror").isEmpty)
        }
    }

    @Test("A sweep of the source's event service gives the same rows, and copies deletions")
    func sweeps() async throws {
        try await withPair { first, second, site in
            try await first.importDocument(DayFeed.of(40).document)
            let service = site.url("/fdsnws/event/1/")
            func sweep() async throws -> ImportSummary {
                try await second.mirror(service) { $0.sweepsSince = Instant(milliseconds: 0) }
            }
            #expect(try await sweep().counts.inserted == 40)
            try await first.query(
                "update quake set magnitude = 7, updated = date_trunc('milliseconds', now()) where code = 'usc3'"
            )
            try await first.query("delete from quake where code in ('usc4', 'usc5')")
            let summary = try await sweep()
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 2 && summary.counts.updated == 1)
            #expect(try await second.rows() == first.rows())
            let reasons = try await second.query(
                "select distinct reason from history.change where operation = 'delete'")
            #expect(
                try reasons.map { try $0.decode("reason", as: String.self) } == [
                    "deleted by earthquake.usgs.gov"
                ])
        }
    }

    private func withPair(
        namesAuthors: Bool = false,
        _ body: @escaping @Sendable (TestDatabase, TestDatabase, TestSite) async throws -> Void
    ) async throws {
        var settings = ServerSettings.patient
        settings.namesAuthors = namesAuthors
        try await server.withDatabase { first in
            try await server.withDatabase { [settings] second in
                try await TestSite.run(of: first, settings) { site in
                    try await waitUntil { try await site.get("/health").status == 200 }
                    try await body(first, second, site)
                }
            }
        }
    }
}

extension TestDatabase {
    @discardableResult
    fileprivate func mirror(
        _ site: TestSite, _ change: (inout Importer.Options) -> Void = { _ in }
    ) async throws -> ImportSummary {
        try await site.reachNewestChange()
        return try await mirror(site.url("/changes"), change)
    }

    @discardableResult
    fileprivate func mirror(
        _ url: String, _ change: (inout Importer.Options) -> Void = { _ in }
    ) async throws -> ImportSummary {
        var options = Importer.Options()
        options.fetch.sleep = { _ in }
        change(&options)
        return try await importFeed(FeedSource(url), options)
    }

    /// All rows, without the time of their import.
    fileprivate func rows() async throws -> [String] {
        try await query("select (to_jsonb(quake) - 'imported_at')::text as row from quake order by code").map
        {
            try $0.decode("row")
        }
    }
}
