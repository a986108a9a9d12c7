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

    @Test(
        "A report counts what an agency reports, and with merge it counts each earthquake once",
        arguments: reports)
    func counts(report: String) async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.query("update quake set magnitude = 4 where magnitude is null")
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            func counted(_ agency: String, _ merge: Bool) async throws -> Int {
                try await database.query(
                    """
                    select coalesce((select \(unescaped: report)agency => \(unescaped: agency), merge => \(merge))), 0)::bigint as n
                    """)[0].decode("n")
            }
            #expect(try await counted("null", false) == 5)
            #expect(try await counted("null", true) == 3)
            #expect(try await counted("'GFZ'", false) == 1)
            #expect(try await counted("'gfz'", true) == 1)
            #expect(try await counted("'emsc'", true) == 2)
            #expect(try await counted("'usgs'", true) == 2)
            #expect(try await counted("'none'", true) == 0)
        }
    }

    @Test("A monthly fit is made from the earthquakes of its month")
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

    @Test("Aftershocks are found by any code of the mainshock, and with merge they are counted once")
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
            #expect(try await codes("emsc:c", "false") == ["us2", "emsc:b", "us1", "gfz:a"])
            #expect(try await codes("emsc:c", "true") == ["us1"])
            #expect(try await codes("us2", "true") == ["us1"])
            let rate = try await database.query(
                "select max(cumulative_aftershocks)::bigint as n from report.aftershock_rate('us2', 500, 1, merge => true)"
            )[0]
            #expect(try rate.decode("n", as: Int.self) == 1)
        }
    }

    @Test("Without merge, the planner drops the merging, and a view reads only the table quake")
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
