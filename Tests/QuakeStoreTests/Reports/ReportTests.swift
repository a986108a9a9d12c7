import Foundation
import PostgreSQL
import QuakeStore
import Subprocess
import TestSupport
import Testing

@Suite("Reports")
struct ReportTests {
    let server = TestServer.shared

    // MARK: Figures

    @Test(
        "Reports on the Ridgecrest sequence equal numpy's results, and the comparison notices a changed row",
        .needsRealFeeds, .enabled("needs python3 with numpy", hasNumpy))
    func ridgecrest() async throws {
        try await server.withDatabase { database in
            let feed = RealFeeds.path("2019-07-19_2.5_month.geojson")
            try await database.importFile(feed)

            let same = try await compare(feed, database)
            #expect(same.status == 0, "\(same.output)")
            #expect(same.output.split(separator: "\n").filter { $0.hasPrefix("same") }.count == 11)

            try await database.query("update quake set magnitude = 7.0 where code = 'ci38457511'")
            let other = try await compare(feed, database)
            #expect(other.status == 1)
            #expect(other.output.contains("DIFFERENT  100 largest"))
        }
    }

    @Test("The b value, its error and the completeness match their formulas")
    func gutenbergRichter() async throws {
        try await server.withDatabase { database in
            // The bins 2.0 and 3.5 have one event each, and the bins 2.5 and 2.6 have three. The higher of the two fullest bins
            // is the completeness.
            try await database.insert(magnitudes: [2.0, 2.45, 2.5, 2.549, 2.55, 2.6, 2.64, 3.5])

            let row = try await database.query("select * from report.gutenberg_richter()")[0]

            let mean = (2.6 * 3 + 3.5) / 4
            let b = log10(M_E) / (mean - (2.6 - 0.05))
            let variance = (3 * pow(2.6 - mean, 2) + pow(3.5 - mean, 2)) / (4 * 3)
            let expected: [(String, Double)] = [
                ("completeness", 2.6), ("mean_magnitude", mean), ("b_value", b),
                ("b_standard_error", log(10) * b * b * sqrt(variance)), ("a_value", log10(4) + b * 2.6),
            ]
            for (column, value) in expected {
                #expect(abs(try row.decode(column, as: Double.self) - value) < 1e-12, "\(column)")
            }
            #expect(try row.decode("earthquakes") == 4)
            let given = try await database.query(
                "select * from report.gutenberg_richter(completeness => 2.0)")[0]
            #expect(try given.decode("earthquakes") == 8)
        }
    }

    @Test("Empty bins of a histogram do not change a fit")
    func emptyBins() async throws {
        try await server.withDatabase { database in
            let fit = "select b_value, earthquakes from report.gutenberg_richter_fit"
            let (filled, empty) = (
                "(array[25,27,28], array[5,3,1]::bigint[])",
                "(array[24,25,26,27,28,29], array[0,5,0,3,1,0]::bigint[])"
            )
            let found = try await database.query("\(unescaped: fit + filled) union \(unescaped: fit + empty)")
            #expect(try found.map { try $0.decode("earthquakes", as: Int.self) } == [9])
            let none = try await database.query("\(unescaped: fit)(array[1, 2], array[0, 0]::bigint[])")[0]
            #expect(try none.decodeIfPresent("b_value", as: Double.self) == nil)
        }
    }

    @Test(
        "Without earthquakes there is no completeness, and with a single earthquake there is no b value",
        arguments: [[], [4.0]])
    func fewEarthquakes(_ magnitudes: [Double]) async throws {
        try await server.withDatabase { database in
            try await database.insert(magnitudes: magnitudes)
            let row = try await database.query("select * from report.gutenberg_richter()")[0]
            #expect(try row.decode("earthquakes") == magnitudes.count)
            #expect(try row.decodeIfPresent("completeness", as: Double.self) == magnitudes.first)
            #expect(try row.decodeIfPresent("b_value", as: Double.self) == nil)
        }
    }

    @Test("Every magnitude with two decimals is in the bin that decimal arithmetic gives")
    func bins() async throws {
        try await server.withDatabase { database in
            let wrong = try await database.query(
                """
                select n from generate_series(-300, 1000) as n
                where report.magnitude_bin(n / 100.0::double precision) <> floor(n / 10.0 + 0.5)
                """)
            #expect(wrong.isEmpty)
        }
    }

    @Test("A magnitude class includes its lower limit, and classes sort by size")
    func classes() async throws {
        try await server.withDatabase { database in
            let rows = try await database.query(
                """
                select m, report.magnitude_class(m)::text as class
                from unnest('{-1, 2.99, 3, 4, 5, 6, 7, 8, 9.5, null}'::double precision[]) as m
                order by report.magnitude_class(m), m
                """)
            #expect(
                try rows.map { try $0.decodeIfPresent("class", as: String.self) } == [
                    "micro", "micro", "minor", "light", "moderate", "strong", "major", "great", "great", nil,
                ])
        }
    }

    /// Two places, each as latitude and longitude, and the great-circle distance between them, in degrees.
    private static let arcs: [([Double], Double)] = [
        ([0, 0, 0, 0], 0), ([0, 0, 0, 90], 90), ([90, 0, -90, 0], 180), ([0, 179.5, 0, -179.5], 1),
        ([35.7, -117.5, -35.7, 62.5], 180),
        // The distance from Paris to London is computed by the spherical law of cosines.
        ([48.8566, 2.3522, 51.5074, -0.1278], 3.089673879090),
    ]

    @Test("Distances follow the great circle, even across the date line and between antipodes")
    func distance() async throws {
        try await server.withDatabase { database in
            for (places, degrees) in Self.arcs {
                let row = try await database.query(
                    """
                    select report.distance_km(\(places[0]), \(places[1]), \(places[2]), \(places[3])) as there,
                           report.distance_km(\(places[2]), \(places[3]), \(places[0]), \(places[1])) as back
                    """)[0]
                // Near the antipodes, the formula is accurate to a metre.
                let tolerance = degrees == 180 ? 1e-3 : 1e-8
                for column in ["there", "back"] {
                    let km: Double = try row.decode(column)
                    #expect(abs(km - degrees / 180 * .pi * 6371) < tolerance, "\(places)")
                }
            }
        }
    }

    @Test("Days and months are in UTC, regardless of the session's time zone, even before 1970")
    func days() async throws {
        try await server.withDatabase { database in
            for zone in ["UTC", "Asia/Tokyo", "America/Los_Angeles"] {
                let row = try await database.with("-ctimezone=\(zone)").query(
                    """
                    select report.day('1969-12-31 23:59:59.999+00') = '1969-12-31 00:00+00' as before,
                           report.day('2020-02-29 00:00+00') = '2020-02-29 00:00+00' as at,
                           report.month('2020-02-29 23:00+00') = '2020-02-01 00:00+00' as month
                    """)[0]
                for column in ["before", "at", "month"] { #expect(try row.decode(column) == true, "\(zone)") }
            }
        }
    }

    @Test("A day's energy is the sum over its earthquakes, and an explosion adds nothing")
    func energy() async throws {
        try await server.withDatabase { database in
            try await database.insert(magnitudes: [5, 6, 6])
            try await database.query("update quake set type = 'explosion' where code = '2'")
            let (five, six) = (pow(10, 4.8 + 7.5), pow(10, 4.8 + 9))

            let day = try await database.query("select * from report.daily_energy")[0]
            #expect(abs(try day.decode("energy_joule", as: Double.self) / (five + six) - 1) < 1e-12)
            #expect(try day.decode("earthquakes") == 2)
            #expect(
                abs(try day.decode("equivalent_magnitude", as: Double.self) - (log10(five + six) - 4.8) / 1.5)
                    < 1e-12)
            let classes = try await database.query(
                "select energy_joule from report.daily_activity order by magnitude_class")
            #expect(classes.count == 2)
            #expect(abs(try classes[0].decode("energy_joule", as: Double.self) / five - 1) < 1e-12)
            let blast = try await database.query("select energy_joule from report.event where code = '2'")[0]
            #expect(try blast.decodeIfPresent("energy_joule", as: Double.self) == nil)
        }
    }

    @Test("Energy is the same to the last digit in any order of the rows")
    func energyInAnyOrder() async throws {
        try await server.withDatabase { database in
            // All events are of one day, region and class.
            let magnitudes = (0..<50).map { 1 + Double($0) * 0.03 }
            var found: Set<String> = []
            for order in [magnitudes, magnitudes.reversed(), magnitudes.shuffled()] {
                try await database.execute("delete from quake")
                try await database.insert(magnitudes: order)
                for report in ["daily_activity", "daily_energy"] {
                    let rows = try await database.query(
                        "select energy_joule::text as joule from report.\(unescaped: report)")
                    found.formUnion(try rows.map { try $0.decode("joule") })
                }
            }
            #expect(found.count == 1, "\(found)")
        }
    }

    @Test("Equally large earthquakes share a rank, and blasts are left out")
    func largest() async throws {
        try await server.withDatabase { database in
            try await database.insert(magnitudes: [4, 6, 6, 5] + Array(repeating: 1, count: 120))
            try await database.query("update quake set type = 'quarry blast' where magnitude = 5")

            let rows = try await database.query("select rank, magnitude from report.largest_event")

            #expect(rows.count == 100)
            #expect(try rows.prefix(3).map { try $0.decode("rank", as: Int.self) } == [1, 1, 3])
            #expect(try rows.prefix(3).map { try $0.decode("magnitude", as: Double.self) } == [6, 6, 4])
        }
    }

    // MARK: Revised and removed events

    @Test("A revised event shows its first magnitude, its revisions, and when it was reviewed")
    func revisions() async throws {
        try await server.withDatabase { database in
            for (updated, magnitude, status) in [
                (1000, "1.5", "automatic"), (2000, "1.8", "automatic"), (3000, "1.7", "reviewed"),
                (4000, "1.7", "reviewed"),
            ] {
                try await database.importFeatures([
                    SmallFeed.feature(
                        "a", updated: updated, magnitude: magnitude, more: "\"status\":\"\(status)\""),
                    SmallFeed.feature("b", more: "\"status\":\"reviewed\""),
                    SmallFeed.feature("c", more: "\"status\":\"automatic\""),
                ])
            }
            let reviewed = try await database.query(
                "select extract(epoch from committed_at)::double precision - 1 as delay from history.transaction order by token"
            ).map { try $0.decode("delay", as: Double.self) }

            let rows = try await database.query("select * from report.revision order by code")

            #expect(try rows.map { try $0.decode("first_magnitude", as: Double.self) } == [1.5, 1.5, 1.5])
            #expect(try rows.map { try $0.decode("last_magnitude", as: Double.self) } == [1.7, 1.5, 1.5])
            #expect(try rows.map { try $0.decode("revisions", as: Int.self) } == [3, 0, 0])
            #expect(
                try rows.map { try $0.decode("first_review_status", as: String.self) } == [
                    "automatic", "reviewed", "automatic",
                ])
            // The origin is one second after the beginning of 1970, and the third transaction brings the review.
            #expect(abs(try rows[0].decode("review_delay_s", as: Double.self) - reviewed[2]) < 1e-3)
            #expect(
                try rows[1].decode("review_delay_s", as: Double.self)
                    == rows[1].decode("import_delay_s", as: Double.self))
            #expect(try rows[2].decodeIfPresent("review_delay_s", as: Double.self) == nil)
        }
    }

    @Test("An event that arrived without a review status has no first review status")
    func noStatusAtFirst() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.importFeatures([
                SmallFeed.feature("a", updated: 2000, more: "\"status\":\"reviewed\"")
            ])
            let row = try await database.query(
                """
                select r.first_review_status, r.import_delay_s < r.review_delay_s as is_later,
                       abs(r.review_delay_s - (select extract(epoch from max(committed_at)) - 1 from history.transaction)) < 1e-3
                           as is_of_revision
                from report.revision r
                """)[0]
            #expect(try row.decodeIfPresent("first_review_status", as: String.self) == nil)
            #expect(try row.decode("is_later") == true && row.decode("is_of_revision") == true)
        }
    }

    @Test("An event that was deleted and imported again has a new first magnitude and no revisions")
    func cameBack() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a", magnitude: "1.1")])
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "1.2")])
            try await database.query("delete from quake")
            try await database.importFeatures([SmallFeed.feature("a", updated: 3000, magnitude: "1.3")])

            let row = try await database.query("select * from report.revision")[0]
            #expect(try row.decode("first_magnitude") == 1.3)
            #expect(try row.decode("revisions") == 0)
            #expect(
                try await database.query("select * from report.removed_event")[0].decode("is_back") == true)
        }
    }

    @Test("The revisions of an event that is gone and back within a transaction belong to its two lives")
    func twoLives() async throws {
        try await server.withDatabase { database in
            let insert =
                "insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude) values ('a', 'q', 'a',"
            try await database.execute(
                """
                begin;
                \(insert) 3, now(), now(), 0, 0);
                update quake set magnitude = 4;
                delete from quake;
                \(insert) 5, now(), now(), 0, 0);
                update quake set magnitude = 6;
                commit
                """)
            let row = try await database.query("select * from report.revision")[0]
            #expect(try row.decode("first_magnitude") == 5.0 && row.decode("revisions") == 1)
            let lives = try await database.query(
                """
                select string_agg(magnitude || ' ' || coalesce(ended, 'now'), ', ' order by magnitude) as lives
                from report.magnitude_history
                """)[0]
            #expect(try lives.decode("lives") == "3 revised, 4 deleted, 5 revised, 6 now")
        }
    }

    @Test("A removed event shows why it was removed, which code replaces it, and its last values")
    func removed() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures(
                ["a", "b", "c"].map { SmallFeed.feature($0, place: "at \($0)") })
            for (code, reason) in [
                ("q0a", "superseded by q0x"), ("q0b", "retracted by all_day"), ("q0c", ""),
            ] {
                try await database.withConnection {
                    try await Deletion.delete([code], reason: reason, on: $0)
                }
            }

            let rows = try await database.query("select * from report.removed_event order by code")

            #expect(
                try rows.map { try $0.decode("kind", as: String.self) } == [
                    "renamed", "withdrawn", "deleted",
                ])
            #expect(try rows[0].decode("new_code") == "q0x")
            #expect(try rows[1].decode("feed") == "all_day")
            #expect(try rows.map { try $0.decode("place", as: String.self) } == ["at a", "at b", "at c"])
            #expect(try rows.map { try $0.decode("magnitude", as: Double.self) } == [1.5, 1.5, 1.5])
            #expect(try rows.allSatisfy { try $0.decode("is_back") == false })
        }
    }

    @Test("For each network, the report counts its preferred events, and the events it contributed to")
    func networks() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([
                SmallFeed.feature("a", net: "us", more: "\"sources\":\",us,ci,\",\"status\":\"reviewed\""),
                SmallFeed.feature("b", net: "us", more: "\"sources\":\",us,us,\",\"status\":\"automatic\""),
                SmallFeed.feature("c", net: "ak"),
            ])

            let rows = try await database.query("select * from report.network_contribution order by network")

            #expect(try rows.map { try $0.decode("network", as: String.self) } == ["ak", "ci", "us"])
            #expect(try rows.map { try $0.decode("preferred_events", as: Int.self) } == [1, 0, 2])
            #expect(try rows.map { try $0.decode("contributed_events", as: Int.self) } == [1, 1, 2])
            #expect(try rows[2].decode("reviewed_percent") == 50.0)
            #expect(abs(try rows[2].decode("preferred_percent", as: Double.self) - 200.0 / 3) < 1e-9)
        }
    }

    // MARK: Operation

    @Test(
        "A source shows when it was last fresh, the runs of the last 24 hours, and the last outcome and error"
    )
    func feedHealth() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                """
                insert into import.run (source, started, finished, outcome, rejected, error) values
                    ('https://a', now() - interval '2 days', now() - interval '2 days', 'failed', 7, 'old'),
                    ('https://a', now() - interval '3 hours', now() - interval '2 hours', 'done', 2, null),
                    ('https://a', now() - interval '1 hour', now() - interval '1 hour', 'failed', 1, 'broken'),
                    ('https://b', now() - interval '2 days', null, 'running', 0, null),
                    ('https://c', now() - interval '1 hour', now() - interval '1 hour', 'done', 0, null);
                insert into import.feed (source, generated, checked_at)
                values ('https://c', now() - interval '3 minutes', now() - interval '1 minute')
                """)

            let rows = try await database.query("select * from report.feed_health order by source")

            #expect(
                try rows.map { try $0.decode("source", as: String.self) } == [
                    "https://a", "https://b", "https://c",
                ])
            #expect(abs(try rows[0].decode("age_s", as: Double.self) - 7200) < 60)
            #expect(try rows[0].decode("last_outcome") == "failed")
            #expect(try rows[0].decode("last_error") == "broken")
            #expect(try rows[0].decode("runs_24h") == 2)
            #expect(try rows[0].decode("failed_24h") == 1)
            #expect(try rows[0].decode("rejected_24h") == 3)
            #expect(try rows[1].decodeIfPresent("fresh_at", as: String.self) == nil)
            #expect(abs(try rows[2].decode("age_s", as: Double.self) - 60) < 60)
            #expect(try rows[2].decode("document_age_s") == 120.0)

            // A run whose clock was ahead says nothing about the present.
            try await database.execute(
                """
                insert into import.run (source, started, finished, outcome)
                    values ('https://a', now() + interval '2 days', now() + interval '2 days', 'done');
                update import.feed set checked_at = now() + interval '2 days'
                """)
            let ages = try await database.query("select age_s from report.feed_health order by source")
            #expect(abs(try ages[0].decode("age_s", as: Double.self) - 7200) < 60)
            #expect(abs(try ages[2].decode("age_s", as: Double.self) - 3600) < 60)
        }
    }

    @Test("Import delays leave out backfilled events and events in the future, which are counted separately")
    func importLatency() async throws {
        try await server.withDatabase { database in
            try await database.insert(magnitudes: Array(repeating: 1, count: 22))
            try await database.query(
                """
                update quake set imported_at = '2020-01-02 12:00+00',
                    time = case code when '0' then timestamptz '2019-01-01 00:00+00' when '21' then '2036-11-12 00:00+00'
                           else timestamptz '2020-01-02 12:00+00' - code::integer * interval '10 seconds' end
                """)
            let row = try await database.query("select * from report.import_latency")[0]
            #expect(try row.decode("events") == 22)
            #expect(try row.decode("late_events") == 2)
            #expect(try row.decode("median_delay_s") == 100.0)
            #expect(try row.decode("p95_delay_s") == 190.0)
        }
    }

    @Test("The lag report shows how many tokens a reader is behind, and whether the reader needs a snapshot")
    func readerLag() async throws {
        try await server.withDatabase { database in
            for code in ["a", "b", "c"] { try await database.importFeatures([SmallFeed.feature(code)]) }
            try await database.query("select history.report('near', 3), history.report('far', 1)")

            let rows = try await database.query("select * from report.reader_lag order by reader")
            #expect(try rows.map { try $0.decode("tokens_behind", as: Int.self) } == [2, 0])
            #expect(try rows[0].decode("behind_s", as: Double.self) > 0)
            #expect(try rows[1].decode("behind_s") == 0.0)
            #expect(try rows.allSatisfy { try $0.decode("needs_snapshot") == false })

            // A commit that fails after it has drawn its token leaves a gap.
            try await database.query("select nextval('history.token')")
            #expect(try await database.tokensBehind() == [2, 0])
            try await database.execute("update quake set felt = 2")
            #expect(try await database.tokensBehind() == [4, 2])

            try await database.query("select history.prune('0', '0')")
            #expect(try await database.tokensBehind() == [4, 2])
            let later = try await database.query("select * from report.reader_lag order by reader")
            #expect(try later.map { try $0.decode("behind_s", as: Double.self) } == [0, 0])
            #expect(try later[0].decode("needs_snapshot") == true)
        }
    }

    // MARK: Plans

    /// Frequent queries, and the index that each of them uses.
    private static let plans = [
        ("select * from report.daily_activity where day >= '2025-12-30'", "quake_day"),
        ("select * from report.daily_energy where day >= '2025-12-30'", "quake_day"),
        ("select * from report.event where origin_time >= '2025-12-30'", "quake_time"),
        ("select * from report.event where code = 'q0x'", "quake_pkey"),
        ("select * from report.gutenberg_richter('2025-12-30', '2025-12-31')", "quake_time"),
        ("select * from report.aftershocks('q0x', 10, 1)", "quake_time"),
        ("select * from report.feed_health", "run_source"),
        (
            "update import.run set outcome = 'failed' where source = 's1' and outcome = 'running'",
            "run_running"
        ),
        (
            "select max(finished) from import.run where source = 's1' and outcome = 'done'",
            "run_done"
        ),
        ("select * from report.removed_event", "change_deletion"),
    ]

    @Test("Each frequent query uses an index")
    func indexes() async throws {
        try await server.withDatabase { database in
            try await database.importSample(20_000)
            try await database.execute(
                """
                insert into import.run (source, outcome, started, finished)
                select 's' || i % 5, 'done', now() - i * interval '1 minute', now() from generate_series(1, 20000) as i;
                update quake set felt = 7;
                delete from quake where code in (select code from quake limit 3);
                analyze
                """)
            for (statement, index) in Self.plans {
                let plan = try await database.query("explain \(unescaped: statement)")
                    .map { try $0.decode("QUERY PLAN", as: String.self) }.joined(separator: "\n")
                #expect(plan.contains(index), "\(plan)")
                #expect(
                    !plan.contains("Seq Scan on quake") && !plan.contains("Seq Scan on run"), "\(plan)")
            }
        }
    }

    @Test("Most revisions stay on their page and change no index")
    func inPlace() async throws {
        try await server.withDatabase { database in
            try await database.importSample(5_000)
            try await database.withConnection { connection in
                try await connection.transaction(to: "revise") {
                    let revised = try await connection.execute(
                        "update quake set magnitude = 9 where hashtext(code) % 20 = 0", to: "revise")
                    let inPlace: Int = try await connection.query(
                        "select pg_stat_get_xact_tuples_hot_updated('quake'::regclass) as count", to: "count")[
                            0
                        ]
                        .decode("count")
                    #expect(revised > 100 && inPlace > revised * 3 / 4, "\(inPlace) of \(revised)")
                }
            }
        }
    }

    // MARK: The independent computation

    private func compare(
        _ feed: String, _ database: TestDatabase
    ) async throws -> (status: Int32, output: String) {
        let script = projectFile("Tests/ridgecrest.py")
        let psql = try await server.cluster().program("psql")
        let result = try await Subprocess.run(
            .name("python3"), arguments: [script.path, feed, database.url, psql],
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 16))
        guard case .exited(let status) = result.terminationStatus else { return (-1, result.standardError) }
        return (status, result.standardOutput + result.standardError)
    }

    private static func hasNumpy() async throws -> Bool {
        try await Subprocess.run(
            .name("python3"), arguments: ["-c", "import numpy"], output: .discarded, error: .discarded
        ).terminationStatus.isSuccess
    }
}

extension TestDatabase {
    fileprivate func tokensBehind() async throws -> [Int] {
        try await query("select tokens_behind from report.reader_lag order by reader").map {
            try $0.decode("tokens_behind")
        }
    }

    /// Inserts earthquakes with the codes 0, 1, … and these magnitudes, a minute apart, at one place.
    fileprivate func insert(magnitudes: [Double]) async throws {
        for (number, magnitude) in magnitudes.enumerated() {
            try await query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                values (\(number)::text, 'q0', \(number)::text, \(magnitude),
                        timestamptz '2020-01-01 00:00+00' + \(number) * interval '1 minute', now(), 0, 0)
                """)
        }
    }
}
