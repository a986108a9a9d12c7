import Feed
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

/// Reports that count events accept an agency, and can count each earthquake once.
@Suite("Counting events, or counting each earthquake once")
struct CountedReportTests {
    let server = TestServer.shared

    /// Each counting report, as an expression that adds up the counts.
    private static let reports = [
        "sum(earthquakes) from report.daily_activity(", "sum(earthquakes) from report.daily_energy(",
        "count(*) from report.largest_event(", "sum(earthquakes) from report.monthly_magnitude_frequency(",
        "sum(earthquakes) from report.magnitude_frequency(",
        "sum(earthquakes) from report.gutenberg_richter(completeness => 0, ",
    ]

    @Test("A report counts the events of one agency or of all; with merge, it counts each earthquake once")
    func counts() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.query("update quake set magnitude = 4 where magnitude is null")
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            for report in Self.reports {
                for (agency, merge, expected) in [
                    ("null", false, 5), ("null", true, 3), ("'GFZ'", false, 1), ("'gfz'", true, 1),
                    ("'emsc'", true, 2), ("'usgs'", true, 2), ("'none'", true, 0),
                ] {
                    let count: Int = try await database.query(
                        """
                        select coalesce((select \(unescaped: report)agency => \(unescaped: agency), merge => \(merge))), 0)::bigint as n
                        """)[0].decode("n")
                    #expect(count == expected, "\(report)agency => \(agency), merge => \(merge))")
                }
            }
        }
    }

    @Test("With merge, a monthly fit uses the magnitudes of earthquakes")
    func monthlyFit() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            let monthly = try await database.query(
                "select completeness, earthquakes from report.monthly_gutenberg_richter('usgs', true)")[0]
            #expect(try monthly.decode("completeness", as: Double.self) == 5.3)
            #expect(try monthly.decode("earthquakes", as: Int.self) == 1)
        }
    }

    @Test("A merged report shows the earthquake's magnitude, even if another agency gives the place")
    func magnitude() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            let largest = try await database.query(
                "select code, magnitude, magnitude_type, place, network from report.largest_event(null, true) limit 1"
            )[0]
            #expect(try largest.decode("code", as: String.self) == "us1")
            #expect(try largest.decode("magnitude", as: Double.self) == 5.3)
            #expect(try largest.decode("magnitude_type", as: String.self) == "Mw")
            #expect(try largest.decode("place", as: String.self) == "Onetown")
        }
    }

    @Test(
        "Aftershocks are found by any code of the mainshock, without its events of other agencies, and with merge each is counted once"
    )
    func aftershocks() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.query(
                "update quake set time = time - interval '1 hour', longitude = 10 where code in ('us2', 'emsc:c')"
            )
            try await database.query("update quake set magnitude = 4 where magnitude is null")
            try await database.group(["us2", "emsc:c"])
            try await database.group(["us1", "gfz:a", "emsc:b"])
            func codes(_ mainshock: String, _ merge: String) async throws -> [String] {
                try await database.query(
                    """
                    select code from report.aftershocks(\(mainshock), 500, 1, merge => \(unescaped: merge)) order by days_after
                    """
                ).map { try $0.decode("code") }
            }
            #expect(try await codes("emsc:c", "false") == ["emsc:b", "us1", "gfz:a"])
            #expect(try await codes("emsc:c", "true") == ["us1"])
            #expect(try await codes("us2", "true") == ["us1"])
            let rate = try await database.query(
                "select max(cumulative_aftershocks)::bigint as n from report.aftershock_rate('us2', 500, 1, merge => true)"
            )[0]
            #expect(try rate.decode("n", as: Int.self) == 1)
        }
    }

    /// With the magnitude of the event emsc:b, 6.4, the window ends after 822 days. With the magnitude of the earthquake, 7.1,
    /// the window ends after 925 days.
    @Test(
        "With merge, the window of aftershocks depends on the magnitude of the earthquake",
        arguments: [6.4, nil] as [Double?])
    func mergedWindow(ownMagnitude: Double?) async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.query("update quake set magnitude = 7.1 where code = 'gfz:a'")
            try await database.query("update quake set magnitude = \(ownMagnitude) where code = 'emsc:b'")
            for (code, days) in [("us2", 900), ("emsc:c", 1000)] {
                try await database.query(
                    """
                    update quake set magnitude = 4, longitude = 10, time = time + \(days) * interval '1 day'
                    where code = \(code)
                    """)
            }
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")

            let rate = try await database.query(
                """
                select max(to_days) = report.aftershock_days(7.1) as is_whole, max(cumulative_aftershocks)::bigint as n
                from report.aftershock_rate('emsc:b', merge => true)
                """)[0]

            #expect(try rate.decodeIfPresent("is_whole", as: Bool.self) == true)
            #expect(try rate.decodeIfPresent("n", as: Int.self) == 1)
            let found = try await database.query(
                "select code from report.aftershocks('emsc:b', merge => true)")
            #expect(try found.map { try $0.decode("code") } == ["us2"])
        }
    }

    @Test("A mainshock needs a magnitude: the event's or, with merge, the earthquake's")
    func mainshock() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.query("update quake set magnitude = null where code = 'emsc:b'")
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            try await database.withConnection { connection in
                let reports = try await Report.all(on: connection).filter {
                    ["aftershocks", "aftershock_rate"].contains($0.name)
                }
                #expect(reports.count == 2)
                let unmeasured = Failure(
                    .usage, "emsc:b has no magnitude: give radius_km=VALUE and days=VALUE")
                for report in reports {
                    for merge in ["true", "on"] {
                        try await report.checkMainshock(
                            ["mainshock": "emsc:b", "merge": merge], on: connection)
                    }
                    for arguments in [["mainshock": "emsc:b"], ["mainshock": "emsc:b", "merge": "false"]] {
                        await #expect(throws: unmeasured) {
                            try await report.checkMainshock(arguments, on: connection)
                        }
                    }
                    await #expect(throws: Failure(.noInput, "no such earthquake: none")) {
                        try await report.checkMainshock(
                            ["mainshock": "none", "merge": "true"], on: connection)
                    }
                    // The report itself refuses the value.
                    try await report.checkMainshock(
                        ["mainshock": "emsc:b", "merge": "perhaps"], on: connection)
                }
            }
        }
    }

    @Test("Without merge, the plan of a view reads the table quake, but not the members of earthquakes")
    func plan() async throws {
        try await server.withDatabase { database in
            for view in ["daily_activity", "daily_energy", "monthly_magnitude_frequency", "largest_event"] {
                let plan = try await database.query("explain select * from report.\(unescaped: view)").map {
                    try $0.decode("QUERY PLAN", as: String.self)
                }.joined(separator: "\n")
                #expect(plan.contains("on quake") && !plan.contains("earthquake_member"), "\(view): \(plan)")
            }
        }
    }
}
