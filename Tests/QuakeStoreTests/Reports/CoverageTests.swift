import Feed
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Coverage")
struct CoverageTests {
    let server = TestServer.shared

    /// A document of the summary feed `name` that was generated at `made`. Its only event lies outside every window. Without any
    /// event, the document would not be settled.
    private func feed(_ name: String, made: String) throws -> String {
        let generated = try #require(Instant(made)).milliseconds
        return """
            {"type":"FeatureCollection","metadata":{"generated":\(generated),\
            "url":"https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/\(name).geojson"},"features":[\(SmallFeed.feature("a"))]}
            """
    }

    @Test(
        "A summary feed covers its period from its smallest magnitude up, and overlapping periods are merged")
    func feeds() async throws {
        try await server.withDatabase { database in
            // A month in which Berlin's offset changes.
            try await database.execute(
                "do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Europe/Berlin'); end $$"
            )
            for (name, made) in [
                ("all_day", "2026-01-02T00:00:00Z"), ("all_day", "2026-01-02T12:00:00Z"),
                ("all_day", "2026-01-09T00:00:00Z"), ("2.5_week", "2026-01-08T00:00:00Z"),
                ("significant_month", "2026-01-08T00:00:00Z"), ("1.0_month", "2025-11-10T00:00:00Z"),
            ] {
                try await database.importDocument(try feed(name, made: made))
            }
            #expect(
                try await held(database) == [
                    "2025-10-11 00:00:00+00 2025-11-10 00:00:00+00 1 world",
                    "2026-01-01 00:00:00+00 2026-01-02 12:00:00+00 all world",
                    "2026-01-01 00:00:00+00 2026-01-08 00:00:00+00 2.5 world",
                    "2026-01-08 00:00:00+00 2026-01-09 00:00:00+00 all world",
                ])
        }
    }

    @Test("A document from the future and a document without metadata cover nothing")
    func notSettled() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(try feed("all_day", made: "2106-01-02T00:00:00Z"))
            try await database.importDocument(SmallFeed.document([SmallFeed.feature("a")]))
            #expect(try await held(database) == [])
        }
    }

    @Test("Coverage never reaches into the future, even if a later period was requested")
    func future() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                """
                insert into import.backfill (service, window_start, window_end, newest_first, reached)
                values ('https://one.example/fdsnws/event/1', '2020-01-01+00', '2300-01-01+00', false, '2020-01-01+00'),
                       ('https://two.example/fdsnws/event/1', '2020-01-01+00', '2300-01-01+00', true, '2300-01-01+00');
                update import.backfill set reached = '2250-01-01+00';
                update import.backfill set reached = '2021-01-01+00' where newest_first;
                insert into import.settled (service, feed, generated, covers)
                values ('three.example', 'backfill', '2026-01-02+00', '[2026-01-01 00:00+00, 2027-01-01 00:00+00]')
                """)
            let rows = try await database.query(
                """
                select count(*) as count, count(*) filter (where held_until <= now()) as past,
                       max(held_until) filter (where service = 'three.example') = '2026-01-02+00' as is_of_document
                from report.coverage
                """)[0]
            #expect(try rows.decode("count") == 3 && rows.decode("past") == 3)
            #expect(try rows.decode("is_of_document") == true)
        }
    }

    @Test("A backfill covers the time that it has read, oldest or newest first, even after it is deleted")
    func backfills() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                """
                insert into import.backfill (service, window_start, window_end, minimum_magnitude, newest_first, reached)
                values ('https://example.org/fdsnws/event/1', '2020-01-01+00', '2021-01-01+00', 4, false, '2020-01-01+00'),
                       ('https://example.org/fdsnws/event/1', '2010-01-01+00', '2011-01-01+00', null, true, '2011-01-01+00');
                update import.backfill set reached = '2020-03-01+00' where not newest_first;
                update import.backfill set reached = '2020-04-01+00' where not newest_first;
                update import.backfill set reached = '2010-11-01+00' where newest_first;
                delete from import.backfill
                """)
            #expect(
                try await held(database) == [
                    "2010-11-01 00:00:00+00 2011-01-01 00:00:00+00 all world",
                    "2020-01-01 00:00:00+00 2020-04-01 00:00:00+00 4 world",
                ])
        }
    }

    @Test("A query counts as coverage if it selects only by time, box and magnitude, and if its run is done")
    func queries() async throws {
        try await server.withDatabase { database in
            let base = "https://example.org/fdsnws/event/1/query?format=geojson"
            let box = "&minlatitude=30&maxlatitude=40&minlongitude=-120&maxlongitude=-110"
            for (parameters, outcome) in [
                ("&starttime=2019-07-01&endtime=2019-08-01T12:00:00&minmagnitude=3\(box)", "done"),
                ("&start=2018-07-01&end=2018-07-02", "failed"),
                ("&starttime=2017-07-01&endtime=2017-08-01&mindepth=5", "done"),
                ("&starttime=2016-07-01&endtime=2016-08-01&limit=100", "done"),
                ("&starttime=soon&endtime=2016-08-01", "done"),
                ("&endtime=2016-08-01", "done"),
                ("&starttime=-infinity&endtime=2016-08-01", "done"),
                ("&starttime=epoch&endtime=2016-08-01", "done"),
                ("&starttime=2015-07-01&endtime=2015-08-01&minlatitude=nan", "done"),
                ("&starttime=2015-07-01&endtime=2015-08-01&minmagnitude=infinity", "done"),
                ("&starttime=2015-07-01&endtime=2015-08-01&minlatitude=50&maxlatitude=40", "done"),
                ("&starttime=2014-07-01&endtime=2014-08-01&minlongitude=170&maxlongitude=190", "done"),
                ("&starttime=2013-07-01&endtime=2013-08-01&minlongitude=-200&maxlongitude=-170", "done"),
                ("&starttime=2011-07-01&endtime=2011-08-01&minlongitude=180&maxlongitude=180", "done"),
                ("&starttime=2011-07-01&endtime=2011-08-01&minlongitude=350&maxlongitude=-350", "done"),
                ("&starttime=2012-07-01&endtime=2012-08-01&minlongitude=0&maxlongitude=1e300", "done"),
            ] {
                try await database.query(
                    "insert into import.run (source, feed) values (\(base + parameters), \(base + parameters))"
                )
                try await database.query(
                    "update import.run set outcome = \(outcome), seen = 1 where outcome = 'running'")
            }
            #expect(
                try await held(database) == [
                    "2012-07-01 00:00:00+00 2012-08-01 00:00:00+00 all world",
                    "2013-07-01 00:00:00+00 2013-08-01 00:00:00+00 all -90 160 90 -170",
                    "2014-07-01 00:00:00+00 2014-08-01 00:00:00+00 all -90 170 90 -170",
                    "2019-07-01 00:00:00+00 2019-08-01 12:00:00+00 3 30 -120 40 -110",
                ])
        }
    }

    @Test(
        "The text of a query to an event service covers the query's window, unless the text is cut off",
        arguments: [false, true])
    func textQuery(isCut: Bool) async throws {
        let text = """
            #EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor|EventLocationName
            us1|2019-07-01T03:00:00|1|2|3|us|us|us|us1|mw|5|us|here

            """
        try await server.withDatabase { database in
            let answer = isCut ? Array(text.utf8.dropLast()) : Array(text.utf8)
            try await TestFeedServer.run(script: [.whole(.ok, answer)]) { http in
                let url = http.url(
                    "/fdsnws/event/1/query?format=text&starttime=2019-07-01&endtime=2019-07-02&minmagnitude=3"
                )
                try await database.withConnection { connection in
                    let summary = try await Importer(connection, logger: .quiet).run(.url(url))
                    #expect(summary.failure == nil && summary.counts.inserted == 1)
                }
                #expect(
                    try await held(database)
                        == (isCut ? [] : ["2019-07-01 00:00:00+00 2019-07-02 00:00:00+00 3 world"]))
            }
        }
    }

    /// The metadata of a response may say anything, and a broken service may send an empty response.
    @Test(
        "A file covers nothing after it was made, and nothing without that time, without valid events, or with fewer events than it counts, whatever period its metadata names"
    )
    func empty() async throws {
        try await server.withDatabase { database in
            let url =
                "https://example.org/fdsnws/event/1/query?format=geojson&starttime=1900-01-01&endtime=2020-01-01"
            let made = try #require(Instant("2019-06-01")).milliseconds
            for (features, metadata) in [
                ("", "\"generated\":\(made),"),
                (SmallFeed.feature("a", magnitude: "[]"), "\"generated\":\(made),"),
                (SmallFeed.feature("a"), ""), (SmallFeed.feature("a"), "\"generated\":\(made),\"count\":2,"),
                (SmallFeed.feature("a"), "\"generated\":\(made),\"count\":1,"),
            ] {
                #expect(try await held(database) == [])
                try await database.importDocument(
                    """
                    {"type":"FeatureCollection","metadata":{\(metadata)"url":"\(url)"},"features":[\(features)]}
                    """)
            }
            #expect(try await held(database) == ["1900-01-01 00:00:00+00 2019-06-01 00:00:00+00 all world"])
        }
    }

    @Test("The coverage of a place and a magnitude lasts until the first gap between periods")
    func heldUntil() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                """
                select import.note_coverage('a', 2.5, '[2020-01-01+00,2020-02-01+00)'),
                       import.note_coverage('b', null, '[2020-01-20+00,2020-02-10+00)'),
                       import.note_coverage('a', 5, '[2020-02-10+00,2020-03-01+00)'),
                       import.note_coverage('a', 2.5, '[2020-02-10+00,2020-02-20+00)', 0, 170, 10, -170),
                       import.note_coverage('c', 2.5, '[2020-02-10+00,2020-02-20+00)', 10, 170, 20, 180)
                """)
            for (time, latitude, longitude, magnitude, expected) in [
                ("2020-01-05", 50.0, 0.0, "-infinity", "2020-02-10"),
                ("2020-01-25", 50, 0, "-infinity", "2020-02-10"),
                ("2020-01-05", 50, 0, "5", "2020-03-01"),
                ("2020-01-05", 5, 175, "-infinity", "2020-02-20"),
                ("2020-01-05", 5, -175, "-infinity", "2020-02-20"),
                ("2020-01-25", 5, -175, "-infinity", "2020-02-10"),
                ("2020-01-05", 5, 185, "-infinity", "2020-02-20"),
                ("2020-01-05", 5, -185, "-infinity", "2020-02-20"),
                ("2020-01-05", 5, 200, "-infinity", "2020-02-10"),
                ("2020-01-05", 5, -300, "-infinity", "2020-02-10"),
                ("2020-01-05", 15, -180, "-infinity", "2020-02-20"),
                ("2020-01-05", 15, 180, "-infinity", "2020-02-20"),
                ("2020-01-05", 15, -170, "-infinity", "2020-02-10"),
                ("2019-12-31", 50, 0, "-infinity", ""),
            ] as [(String, Double, Double, String, String)] {
                let found: String? = try await database.query(
                    """
                    select to_char(report.held_until((\(time)::text || '+00')::timestamptz, \(latitude), \(longitude),
                                                     \(magnitude)::text::double precision) at time zone 'UTC',
                                   'YYYY-MM-DD') as found
                    """)[0].decodeIfPresent("found")
                #expect(found ?? "" == expected, "\(time) \(latitude) \(longitude) \(magnitude)")
            }
        }
    }

    @Test("The aftershock rate ends at a gap in the coverage, and not at an event after the gap")
    func aftershocks() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select 'q' || n, 'q', '', case when n = 0 then 7 else 3 end,
                       timestamptz '2020-01-01+00' + case when n < 50 then n * interval '2 hours' else interval '400 days' end,
                       now(), 0, 0
                from generate_series(0, 50) as n
                """)
            func end() async throws -> Double {
                try await database.query("select max(to_days) as days from report.aftershock_rate('q0')")[0]
                    .decode("days")
            }
            #expect(abs(try await end() - 400) < 1e-9)
            try await database.query(
                "select import.note_coverage('a', null, '[2019-12-01+00,2020-01-09+00)')")
            #expect(abs(try await end() - 8) < 1e-9)

            // The coverage of the service of other events says nothing about the events of the agency R.
            try await database.execute(
                "update quake set url = 'https://a/' || code where net = 'q' and code <> 'q7'")
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, url)
                select 'R:' || n, 'R', '', 3, timestamptz '2020-01-02+00' + n * interval '1 day', now(), 0, 0, 'https://r.org:80/' || n
                from generate_series(1, 2) as n
                """)
            func endOfR() async throws -> Double {
                try await database.query(
                    "select max(to_days) as days from report.aftershock_rate('q0', agency => 'R')")[0]
                    .decode("days")
            }
            #expect(abs(try await endOfR() - 3) < 1e-9)
            try await database.query(
                "select import.note_coverage('r.org', null, '[2019-12-01+00,2020-01-06+00)')")
            #expect(abs(try await endOfR() - 5) < 1e-9)
            #expect(abs(try await end() - 8) < 1e-9)
            #expect(
                try await database.query("select from report.aftershock_rate('q0', agency => 'none')").isEmpty
            )

            // Another Quakes may have the events of any agency.
            try await database.query(
                "select import.note_coverage('mirror', null, '[2019-12-01+00,2020-01-07+00)')")
            #expect(abs(try await endOfR() - 6) < 1e-9)

            // Without an agency, a regional service that has not published the mainshock says nothing about it.
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, url)
                values ('k:1', 'k', '1', 1, '2020-01-03+00', now(), 50, 50, 'https://k.org/1')
                """)
            try await database.query(
                "select import.note_coverage('k.org', null, '[2019-12-01+00,2020-03-01+00)')")
            #expect(abs(try await end() - 8) < 1e-9)
            try await database.group(["q0", "k:1"])
            #expect(abs(try await end() - 60) < 1e-9)

            try await database.execute("update quake set magnitude = null where code = 'q0'")
            for missing in ["days => 10", "radius_km => 10"] {
                #expect(
                    try await database.query(
                        "select from report.aftershock_rate('q0', \(unescaped: missing))"
                    ).isEmpty)
            }
        }
    }

    @Test("A writer's role can record coverage, and a reader's or a writer's role can read it")
    func roles() async throws {
        try await server.withRoles { roles in
            let writer = roles.login(.writer)
            try await writer.importDocument(try feed("all_day", made: "2026-01-02T00:00:00Z"))
            for purpose in [Roles.Purpose.reader, .writer] {
                let held = try await roles.login(purpose).withConnection { try await HeldPeriod.all(on: $0) }
                #expect(held.count == 1 && held.first?.minimumMagnitude == nil && held.first?.box == nil)
            }
            await #expect(throws: PostgresError.self) {
                try await writer.query("delete from import.coverage")
            }
        }
    }

    private func held(_ database: TestDatabase) async throws -> [String] {
        try await database.query(
            """
            select concat_ws(' ', held_from at time zone 'UTC' || '+00', held_until at time zone 'UTC' || '+00',
                             coalesce(minimum_magnitude::text, 'all'), coalesce(south::text, 'world'), west, north, east)
                   as text
            from report.coverage order by held_from, held_until
            """
        ).map { try $0.decode("text") }
    }
}
