import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import Feed

@Suite("Comparing agencies")
struct AgencyComparisonTests {
    let server = TestServer.shared

    /// The rows of a report as text, with blanks between the columns.
    private func rows(_ database: TestDatabase, _ columns: String, _ source: String) async throws -> [String]
    {
        try await database.query(
            "select concat_ws(' ', \(unescaped: columns)) as text from \(unescaped: source)"
        ).map { try $0.decode("text") }
    }

    private func insert(_ database: TestDatabase, _ events: String) async throws {
        try await database.query(
            """
            insert into quake (code, net, net_code, time, latitude, longitude, depth, magnitude, magnitude_type, updated, place)
            select e.*, now(), 'p' from (values \(unescaped: events))
                as e (code, net, net_code, time, latitude, longitude, depth, magnitude, magnitude_type)
            """)
    }

    private func associate(_ database: TestDatabase) async throws {
        try await database.withConnection { _ = try await Associator(logger: .quiet).associate(on: $0) }
    }

    @Test(
        "The comparison pairs two agencies' events of one earthquake, and shows the differences between them")
    func pair() async throws {
        try await server.withDatabase { database in
            try await insert(
                database,
                """
                ('nc1', 'nc', '1', timestamptz '2020-01-01 00:00:00+00', 0.0, 179.9, 10.0, 4.0, 'ml'),
                ('emsc:1', 'emsc', '1', '2020-01-01 00:00:02.5+00', 0.0, -179.9, 12.5, 4.25, 'mb'),
                ('emsc:late', 'emsc', '2', '2020-01-01 00:05:00+00', 0.0, 179.9, 10, 4, 'mb'),
                ('gfz:1', 'gfz', '1', '2020-01-01 00:00:01+00', 0.0, 179.9, null, null, null)
                """)
            let all = "report.agency_comparison('usgs', 'emsc')"
            #expect(try await rows(database, "code_1", all) == [], "the events are not associated yet")
            try await associate(database)
            let columns =
                "code_1, code_2, time_difference_s, round(distance_km::numeric, 1), depth_difference_km, magnitude_difference, magnitude_type_1, magnitude_type_2, is_doubtful"
            #expect(
                try await rows(database, columns, "report.agency_comparison('usgs', 'EMSC')") == [
                    "nc1 emsc:1 2.5 22.2 2.5 0.25 ml mb f"
                ])
            #expect(
                try await rows(
                    database, "code_2, depth_difference_km", "report.agency_comparison('nc', 'gfz')")
                    == [])
            #expect(
                try await rows(database, columns, "report.agency_comparison('gfz', 'usgs')") == [
                    "gfz:1 nc1 -1 0.0 ml f"
                ])
            for window in [
                "'2020-01-01 00:00:00.001+00'", "until => '2020-01-01+00'", "minimum_magnitude => 4.1",
            ] {
                #expect(
                    try await rows(database, "code_1", "report.agency_comparison('usgs', 'emsc', \(window))")
                        == [],
                    "\(window)")
            }
            #expect(
                try await rows(
                    database, "code_2", "report.agency_comparison('usgs', 'gfz', null, null, null)") == [
                        "gfz:1"
                    ], "null is the same as not given")
        }
    }

    /// A wrong plan would compare every event of one agency with every event of the other: at least 900,000,000 pairs.
    @Test("Tens of thousands of events of each of two agencies can be compared, with and without statistics")
    func many() async throws {
        let count = rounds(3, of: 10).count * 10_000
        try await server.withDatabase { database in
            try await database.execute(
                """
                alter table quake disable trigger user;
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select agency.prefix || n, agency.net, n::text, 4, '2020-01-01+00'::timestamptz + n * interval '5 minutes' + agency.delay,
                       now(), (n * 7919) % 180, (n * 104729) % 80
                from generate_series(1, \(count)::bigint) as n,
                     (values ('us', 'us', interval '0'), ('gfz:', 'gfz', interval '3 seconds')) as agency (prefix, net, delay);
                alter table quake enable trigger user
                """)
            try await associate(database)
            for _ in 1...2 {
                let pairs = try await rows(
                    database, "count(*), count(*) filter (where time_difference_s = 3)",
                    "report.agency_comparison('usgs', 'gfz')")
                #expect(pairs == ["\(count) \(count)"])
                try await database.query("analyze quake, earthquake, earthquake_member")
            }
        }
    }

    @Test("SQL and Swift assign networks to the same agencies")
    func agencies() async throws {
        try await server.withDatabase { database in
            let networks = Agency.networksOfComCat.union(Agency.known.map(\.name)).union([
                "q0", "iscx", "XX", "US", "GFZ",
            ])
            .sorted()
            for network in networks {
                let known: String = try await database.query("select report.agency(\(network)) as name")[0]
                    .decode("name")
                // Networks in ComCat belong to the USGS.
                let agency = Agency.known.first { $0.networks.contains(network.lowercased()) }
                #expect(known == agency?.name ?? network.lowercased(), "\(network)")
                #expect(known == Agency.name(ofNetwork: network))
            }
            let list: String = try await database.query(
                "select substring(pg_get_functiondef('report.agency'::regproc) from '{([^}]*)}') as list")[0]
                .decode("list")
            let inSQL = Set(list.split { !$0.isLetter }.map(String.init))
            #expect(inSQL == Agency.networksOfComCat.union(["usgs"]))
        }
    }
}
