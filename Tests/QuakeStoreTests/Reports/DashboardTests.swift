import Foundation
import PostgreSQL
import TestSupport
import Testing

/// Runs the queries of Grafana's dashboard as Grafana would: their macros and variables are expanded as described in
/// https://grafana.com/docs/grafana/latest/datasources/postgres/.
@Suite("Dashboard")
struct DashboardTests {
    let server = TestServer.shared

    /// The choices at the top of the dashboard.
    struct Choice: Sendable, CustomTestStringConvertible {
        var from: String
        var interval: String
        var regions = "coalesce(region, '')"  // the value of the variable that stands for all regions
        var magnitude = "-10"

        var testDescription: String { "from \(from), \(regions), magnitude \(magnitude)" }
    }

    /// The windows end in the evening, so that no day begins within a window of six hours.
    private static let end = "2026-01-15T20:00:00Z"
    private static let sixHours = Choice(from: "2026-01-15T14:00:00Z", interval: "10m")
    private static let sevenDays = Choice(from: "2026-01-08T20:00:00Z", interval: "3h")

    @Test(
        "With the report role, every panel shows data of six hours and of seven days, with and without filters",
        arguments: [
            sixHours, sevenDays,
            Choice(from: sixHours.from, interval: "10m", regions: "'Calidora','here'", magnitude: "1"),
            Choice(from: sevenDays.from, interval: "3h", regions: "'Calidora','here'", magnitude: "2.5"),
        ])
    func panels(_ choice: Choice) async throws {
        let panels = try Self.panels()
        #expect(panels.count >= 20)
        try await withCatalogue { report in
            for (title, query) in panels {
                let sql = try Self.expanded(query, choice)
                // A row of nulls and zeros would show nothing.
                let rows = try await report.query(
                    """
                    select from (\(unescaped: sql)) as panel
                    where exists (select from jsonb_each_text(to_jsonb(panel)) where value <> '0')
                    """)
                #expect(!rows.isEmpty, "\(title): \(sql)")
            }
        }
    }

    @Test("The dashboard offers the regions that have events in the window, without duplicates")
    func regions() async throws {
        let variable = try #require(try Self.variables().first { $0["name"] as? String == "region" })
        let query = try #require(variable["query"] as? String)
        #expect(variable["allValue"] as? String == Self.sixHours.regions)
        try await withCatalogue { report in
            let offered = try await report.query("\(unescaped: try Self.expanded(query, Self.sixHours))")
                .map { try $0.decode("region", as: String.self) }
            #expect(offered.contains("Calidora") && offered.contains("here"))
            #expect(Set(offered).count == offered.count)
        }
    }

    @Test("The age of a feed that was never imported counts from its first run")
    func neverCameIn() async throws {
        let query = try #require(try Self.panels().first { $0.title == "Oldest feed" }).query
        try await withCatalogue { report in
            let before: Double = try await report.query("\(unescaped: query)")[0].decode("age")
            try await report.owner.query(
                """
                insert into import.run (source, started, finished, outcome)
                select 'http://127.0.0.1/never', now() - days * interval '1 day', now(), 'failed'
                from unnest(array[9000, 1]) as days
                """)
            let after: Double = try await report.query("\(unescaped: query)")[0].decode("age")
            #expect(before < 9000 * 86_400 && after >= 9000 * 86_400)
        }
    }

    // MARK: The catalogue

    /// Runs `body` with the login for reports, on a catalogue that ends at `end`, with runs, a reject, a reader and a removed
    /// event.
    private func withCatalogue(_ body: @Sendable (ReportLogin) async throws -> Void) async throws {
        try await server.withRoles { roles in
            try await roles.login(.writer).importSample(3_000)
            let owner = roles.database
            try await owner.importDocument(
                SmallFeed.document([SmallFeed.feature("a"), SmallFeed.feature("b", magnitude: "\"one\"")]))
            try await owner.query("delete from quake where code in (select min(code) from quake)")
            try await roles.login(.reader).query("select history.report('reader', 0)")
            try await owner.query(
                "update quake set time = time + (\(Self.end)::timestamptz - (select max(time) from quake))")
            try await owner.query(
                """
                update quake set time = \(Self.end)::timestamptz - interval '1 hour', magnitude = 5,
                                 place = '1 km N of here, here'
                where code = 'q0a'
                """)
            try await owner.query("update quake set imported_at = time + interval '5 minutes'")
            try await owner.query(
                """
                update import.run set source = 'http://127.0.0.1/feed', finished = \(Self.end)::timestamptz,
                                      started = \(Self.end)::timestamptz - interval '1 hour'
                where id = 1
                """)
            try await body(ReportLogin(owner: owner, login: roles.login(.report)))
        }
    }

    private struct ReportLogin: Sendable {
        let owner: TestDatabase
        let login: TestDatabase

        func query(_ query: Query) async throws -> [Row] { try await login.query(query) }
    }

    // MARK: The dashboard's file

    private static func panels() throws -> [(title: String, query: String)] {
        let panels = try #require(try dashboard()["panels"] as? [[String: Any]])
        return try panels.map { panel in
            let targets = try #require(panel["targets"] as? [[String: Any]])
            #expect(targets.count == 1)
            return (try #require(panel["title"] as? String), try #require(targets[0]["rawSql"] as? String))
        }
    }

    private static func variables() throws -> [[String: Any]] {
        try #require((try dashboard()["templating"] as? [String: Any])?["list"] as? [[String: Any]])
    }

    private static func dashboard() throws -> [String: Any] {
        let file = projectFile("deploy/grafana/quakes.json")
        return try #require(JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }

    /// Replaces the macros and variables as Grafana would.
    private static func expanded(_ query: String, _ choice: Choice) throws -> String {
        let (from, to) = ("'\(choice.from)'", "'\(end)'")
        let seconds = try #require(["10m": 600, "3h": 10_800][choice.interval])
        let sql =
            query
            .replacing(/\$__timeGroupAlias\((\w+), \$__interval\)/) {
                "floor(extract(epoch from \($0.output.1))/\(seconds))*\(seconds) AS \"time\""
            }
            .replacing(/\$__timeFilter\(([^)]*)\)/) { "\($0.output.1) BETWEEN \(from) AND \(to)" }
            .replacing("$__timeFrom()", with: from).replacing("$__timeTo()", with: to)
            .replacing("$region", with: choice.regions).replacing("$magnitude", with: choice.magnitude)
        #expect(!sql.contains("$"), "\(sql)")
        return sql
    }
}
