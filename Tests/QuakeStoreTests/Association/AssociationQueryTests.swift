import Association
import Feed
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Queries about the association")
struct AssociationQueryTests {
    let server = TestServer.shared

    @Test("The code of a deleted event does not lead to an earthquake that the event had left before")
    func leftBefore() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.withConnection { connection in
                let table = AssociatedTable(connection: connection)
                try await table.execute(
                    """
                    insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, imported_at)
                    select code, split_part(code, ':', 1), split_part(code, ':', 2), 3, '2026-01-01+00', '2026-01-01+00',
                           longitude, 40, '2026-01-01+00'::timestamptz + place * interval '1 s'
                    from (values ('gfz:y', 10, 1), ('geonet:x', 50, 2), ('emsc:z', 50, 3)) as event (code, longitude, place)
                    """)
                try await table.associate()
                try await table.execute(
                    "update quake set longitude = 10 where code in ('geonet:x', 'emsc:z')")
                try await table.associate()
                func newCode() async throws -> String? {
                    try await QuakeSelection().read(on: connection) { try await $0.newCode(of: "geonet:x") }
                }
                try await table.execute("delete from quake where code = 'emsc:z'")
                try await table.execute("update quake set longitude = 50 where code = 'geonet:x'")
                try await table.associate()
                try await table.execute(
                    "begin; set local history.reason = 'retracted by geonet'; delete from quake where code = 'geonet:x'; commit"
                )
                try await table.associate()
                #expect(try await newCode() == nil)
            }
        }
    }

    @Test("A second agency is noticed; networks of one catalogue count as one agency")
    func agencies() async throws {
        try await server.withAssociatedTable { table in
            func areSeveral() async throws -> Bool {
                try await AssociationQueries.hasSeveralAgencies(on: table.connection)
            }
            #expect(try await !areSeveral())
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("ci1", "ci").statement)
            #expect(try await !areSeveral())
            try await table.execute(ReportedEvent("gfz:1").statement)
            #expect(try await areSeveral())
        }
    }

    @Test(
        "An explanation lists the compared pairs, their costs and their outcomes")
    func why() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1", seconds: 1).statement
                    + ReportedEvent("gfz:2", seconds: 5).statement
                    + ReportedEvent("emsc:9", seconds: 900).statement)
            let why = try await AssociationQueries.explain("us1", on: table.connection)
            #expect(why.earthquake.members.map(\.code) == ["gfz:1", "us1"])
            #expect(why.steps.map { [$0.a, $0.b] } == [["us1", "gfz:1"], ["us1", "gfz:2"]])
            #expect(
                why.steps.map(\.outcome) == [.joined, .sameAgency("gfz:1", "gfz:2")]
                    || why.steps.map(\.outcome) == [.joined, .sameAgency("gfz:2", "gfz:1")])
            #expect(why.steps[0].difference.cost < why.steps[1].difference.cost)
            #expect(try await AssociationQueries.explain("emsc:9", on: table.connection).steps.isEmpty)
            await #expect(throws: Failure.self) {
                try await AssociationQueries.explain("us7", on: table.connection)
            }
        }
    }

    @Test("A row that fits a second earthquake nearly as well as its own is doubtful")
    func doubtful() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1", seconds: 3).statement
                    + ReportedEvent("gfz:2", seconds: -3.2).statement)
            try await table.associate()
            let doubtful = try await AssociationQueries.doubtful(on: table.connection)
            #expect(doubtful.map(\.code) == ["us1"])
            #expect(doubtful.first?.partner == "gfz:1" && doubtful.first?.difference.seconds == -3)
            #expect(try await AssociationQueries.counts(on: table.connection) == (1, 1))
        }
    }

    /// EMSC copies one agency's solution and later another agency's under the same code, so each change links the two agencies.
    @Test(
        "The scatter is fitted to pairs that the history links, and association accepts the fitted parameters"
    )
    func fit() async throws {
        try await server.withAssociatedTable { table in
            for number in 0..<40 {
                var row = ReportedEvent("emsc:\(number)", seconds: Double(number) * 1000)
                row.auth = "GFZ"
                try await table.execute(row.statement)
                row.auth = "WEL"
                // The median difference is 4 s and about 20 km.
                row.seconds += Double(number % 9)
                row.latitude += Double(number % 5) * 0.09
                row.magnitude = 4 + Double(number % 7) * 0.1
                try await table.execute(row.statement)
            }
            let text = try await FittedParameters.text(on: table.connection)
            let fitted = try Parameters(text: text)
            let row = try #require(fitted.scatter.rows["gfz"]?.first)
            #expect(row.pairs == 40)
            #expect((2.0...6).contains(row.scatter.seconds), "\(row)")
            #expect(fitted.scatter.rows["geonet"]?.first?.pairs == 40)
            #expect(fitted.ranks == Parameters.shipped.ranks && fitted.cost == Parameters.shipped.cost)
            try await FittedParameters.keep(text, on: table.connection)
            #expect(try await table.associate().rebuilt != nil)
        }
    }

    @Test("Two rows that are each other's partners count as one pair in the fit")
    func fitOnce() async throws {
        try await server.withAssociatedTable { table in
            for number in 0..<20 {
                let seconds = Double(number) * 1000
                try await table.execute(
                    ReportedEvent("us\(number)", "us", seconds: seconds).statement
                        + ReportedEvent("gfz:\(number)", seconds: seconds).statement)
                try await Overrides.say(
                    .same(ExactText("us\(number)"), ExactText("gfz:\(number)")), because: nil,
                    on: table.connection)
            }
            try await table.associate()
            #expect(try await FittedParameters.text(on: table.connection).contains("# Fitted to 20 pairs"))
        }
    }

    @Test(
        "report.earthquake has one row for each earthquake, even before a pass has seen that the preferred row was deleted"
    )
    func reports() async throws {
        try await server.withAssociatedTable { table in
            var gfz = ReportedEvent("gfz:1", seconds: 1)
            (gfz.magnitude, gfz.magnitudeType, gfz.firstSeen) = (4.3, "Mw", 7)
            try await table.execute(
                ReportedEvent("us1", "us").statement + gfz.statement
                    + ReportedEvent("emsc:5", seconds: 900).statement)
            try await table.associate()
            let columns =
                "code || ' ' || preferred || ' ' || magnitude || ' ' || magnitude_agency || ' ' || agencies || ' ' || agency_list || ' ' || solutions || ' ' || extract(epoch from first_known_at - '2020-01-01+00')::integer"
            func rows() async throws -> String {
                try await table.text(
                    "select string_agg(\(columns), ', ' order by origin_time) from report.earthquake")
            }
            #expect(try await rows() == "us1 us1 4.3 gfz 2 gfz usgs 2 0, emsc:5 emsc:5 4 emsc 1 emsc 1 0")
            #expect(
                try await table.text(
                    "select string_agg(code || ' ' || is_preferred || ' ' || time_difference_s, ', ' order by code) from report.solution"
                )
                    == "gfz:1 false 1, us1 true -1")
            #expect(
                try await table.text(
                    "select string_agg(code_1 || ' ' || code_2 || ' ' || time_difference_s || ' ' || round(magnitude_difference::numeric, 1), ', ') from report.agency_comparison('usgs', 'GFZ')"
                )
                    == "us1 gfz:1 1 0.3")
            try await table.execute("delete from quake where code = 'us1'")
            #expect(try await rows() == "us1 gfz:1 4.3 gfz 2 gfz 1 7, emsc:5 emsc:5 4 emsc 1 emsc 1 0")
            try await table.associate()
            #expect(try await rows() == "gfz:1 gfz:1 4.3 gfz 1 gfz 1 7, emsc:5 emsc:5 4 emsc 1 emsc 1 0")
        }
    }
}
