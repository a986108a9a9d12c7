import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Parameters of reports")
struct ReportParameterTests {
    let server = TestServer.shared

    @Test(
        "An incomplete circle is refused, even if there are no events",
        arguments: ["magnitude_frequency", "gutenberg_richter"])
    func halfCircle(function: String) async throws {
        try await server.withDatabase { database in
            for isEmpty in [true, false] {
                if !isEmpty { try await database.addEvents() }
                for half in [
                    "latitude => 35", "longitude => 135", "radius_km => 100",
                    "latitude => 35, longitude => 135",
                    "latitude => 35, radius_km => 100", "longitude => 135, radius_km => 100",
                ] {
                    try await database.expectRefusal(
                        "select * from report.\(function)(\(half))", "make a circle together")
                }
                // This plan is made before the values are known.
                try await database.expectRefusal(
                    """
                    set plan_cache_mode = force_generic_plan;
                    prepare report (double precision) as select * from report.\(function)(latitude => $1);
                    execute report (35)
                    """, "make a circle together")
            }
        }
    }

    @Test("Invalid values of parameters are refused")
    func refused() async throws {
        try await server.withDatabase { database in
            try await database.addEvents()
            for (call, message) in Self.refusals {
                try await database.expectRefusal("select * from report.\(call)", message)
            }
        }
    }

    private static let refusals = [
        (
            "magnitude_frequency(since => '2020-01-02', until => '2020-01-01')",
            "until is earlier than since"
        ),
        ("magnitude_frequency(latitude => 91, longitude => 0, radius_km => 1)", "latitude is beyond ±90"),
        (
            "gutenberg_richter(latitude => 'nan', longitude => 0, radius_km => 1)",
            "latitude is beyond ±90"
        ),
        (
            "gutenberg_richter(latitude => 0, longitude => 361, radius_km => 1)",
            "longitude is beyond ±360"
        ),
        ("magnitude_frequency(latitude => 0, longitude => 0, radius_km => 'nan')", "radius_km is not"),
        ("magnitude_frequency(latitude => 0, longitude => 0, radius_km => -1)", "radius_km is not"),
        ("aftershocks('a', radius_km => 'nan')", "radius_km is not a distance"),
        ("aftershocks('a', radius_km => -1)", "radius_km is not a distance"),
        ("aftershocks('none', days => -1)", "days is not between"),
        ("aftershocks('a', days => 4e7)", "days is not between"),
        ("aftershocks('a', days => 'nan')", "days is not between"),
        ("aftershock_rate('a', days => 'nan')", "days is not between"),
        ("gutenberg_richter(completeness => 'nan')", "completeness is not a magnitude"),
        ("gutenberg_richter(completeness => 1e10)", "completeness is not a magnitude"),
        ("aftershock_rate('none', minimum_magnitude => 'nan')", "minimum_magnitude is not a number"),
        ("agency_comparison('a', 'b', '2020-01-02', '2020-01-01')", "until is earlier than since"),
        ("agency_comparison('a', 'b', minimum_magnitude => 'nan')", "minimum_magnitude is not a number"),
    ]

    @Test("Each parameter works alone, and null is the same as not given")
    func alone() async throws {
        try await server.withDatabase { database in
            try await database.addEvents()
            for (call, count) in [
                ("magnitude_frequency()", 4), ("magnitude_frequency(null, null, null, null, null)", 4),
                ("magnitude_frequency(since => '2020-01-02')", 3),
                ("magnitude_frequency(until => '2020-01-02')", 1),
                ("magnitude_frequency('2020-01-02', '2020-01-02')", 0),
                ("magnitude_frequency(latitude => 0, longitude => 0, radius_km => 0)", 1),
                ("magnitude_frequency(latitude => 0, longitude => 360, radius_km => 'infinity')", 4),
                ("aftershocks('a')", 1), ("aftershocks('a', null, null, null)", 1),
                ("aftershocks('a', radius_km => 1000)", 2), ("aftershocks('a', days => 0.5)", 0),
                ("aftershocks('a', minimum_magnitude => 4.5)", 0), ("aftershocks('none')", 0),
                // Without a magnitude, there is no window of Gardner and Knopoff.
                ("aftershocks('unmeasured')", 0), ("aftershocks('unmeasured', radius_km => 1000)", 0),
                ("aftershocks('unmeasured', days => 2)", 0),
                ("aftershocks('unmeasured', radius_km => 1000, days => 1.5)", 1),
            ] {
                let rows = try await database.query("select from report.\(unescaped: call)")
                #expect(rows.count == count, "\(call)")
            }
            let sums = try await database.query(
                """
                select (select earthquakes from report.gutenberg_richter()) as all_of_them,
                       (select earthquakes from report.gutenberg_richter(completeness => 4)) as complete,
                       (select earthquakes from report.gutenberg_richter(null, null, null, null, null, 4)) as nulls,
                       (select sum(aftershocks)::int from report.aftershock_rate('a', null, 3, null)) as aftershocks
                """)[0]
            #expect(try sums.decode("all_of_them", as: Int.self) == 1)
            #expect(try sums.decode("complete", as: Int.self) == 3)
            #expect(try sums.decode("nulls", as: Int.self) == 3)
            #expect(try sums.decode("aftershocks", as: Int.self) == 1)
        }
    }

    @Test("A review status is in lower case, even if a feed writes it in capitals")
    func reviewStatus() async throws {
        try await server.withDatabase { database in
            try await database.addEvents()
            try await database.execute(
                "update quake set status = case when code < 'c' then 'REVIEWED' else 'reviewed' end")
            let statuses = try await database.query("select distinct review_status from report.event")
            #expect(try statuses.map { try $0.decode("review_status", as: String.self) } == ["reviewed"])

            try await database.execute("update quake set status = 'AUTOMATIC' where code = 'a'")
            let row = try await database.query(
                """
                select r.first_review_status, r.review_delay_s is not null as is_reviewed, n.reviewed_percent
                from report.revision r, report.network_contribution n where r.code = 'b'
                """)[0]
            #expect(try row.decode("first_review_status", as: String.self) == "automatic")
            #expect(try row.decode("is_reviewed", as: Bool.self))
            #expect(try row.decode("reviewed_percent", as: Double.self) == 80)
        }
    }
}

extension TestDatabase {
    /// Adds five events, most of them a day apart. b is near a; c and d are far away; `unmeasured` has the time and place of a,
    /// but no magnitude.
    fileprivate func addEvents() async throws {
        try await execute(
            """
            insert into quake (code, net, net_code, magnitude, status, time, updated, longitude, latitude)
            values ('a', 'q', 'a', 3, 'AUTOMATIC', '2020-01-01', now(), 0, 0),
                   ('b', 'q', 'b', 4, 'AUTOMATIC', '2020-01-02', now(), 0.1, 0),
                   ('c', 'q', 'c', 5, null, '2020-01-03', now(), 5, 0),
                   ('d', 'q', 'd', 6, null, '2020-01-04', now(), 120, 50),
                   ('unmeasured', 'q', 'unmeasured', null, null, '2020-01-01', now(), 0, 0)
            """)
    }

    fileprivate func expectRefusal(_ statement: String, _ message: String) async throws {
        do {
            try await execute(statement)
            Issue.record("not refused: \(statement)")
        } catch let error as PostgresError {
            #expect(error.isRefusedValue && error.message.contains(message), "\(statement): \(error)")
        }
    }
}
