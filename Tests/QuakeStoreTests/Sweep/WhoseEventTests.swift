import Feed
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

/// An event that is missing from a service's list is deleted only if the event came from that service. A contribution of the
/// service's agency to the event is not enough.
@Suite("Events that did not come from the service")
struct WhoseEventTests {
    private let server = TestServer.shared
    private static let day = 86_400_000
    private static let hour = 3_600_000
    private static let now = Int(Date().timeIntervalSince1970) * 1000 - 3 * day
    private static let usgs = "http://earthquake.usgs.gov/fdsnws/event/1/"

    private static func iso(_ milliseconds: Int) -> String {
        Instant(milliseconds: Int64(milliseconds)).description
    }

    /// Events of Global CMT, as ObsPy writes them after reading Global CMT's own format.
    private static func globalCMT(_ count: Int) -> String {
        let info = "<creationInfo><agencyID>GCMT</agencyID></creationInfo>"
        let events = (0..<count).map { number in
            let id = "smi:local/ndk/M0101\(number)A"
            return """
                <event publicID="\(id)/event"><type>earthquake</type>\(info)
                <origin publicID="\(id)/origin#cmtorigin"><time><value>\(iso(now - number * hour - 2 * hour))</value></time>
                <latitude><value>-29.25</value></latitude><longitude><value>-176.96</value></longitude>\(info)</origin></event>
                """
        }
        return """
            <q:quakeml xmlns:q="http://quakeml.org/xmlns/quakeml/1.2" xmlns="http://quakeml.org/xmlns/bed/1.2">
            <eventParameters publicID="smi:local/catalogue">\(events.joined())</eventParameters></q:quakeml>
            """
    }

    /// Events as IRIS lists them: EventID is IRIS's number, and ContributorID is the USGS's id.
    private static func iris(_ count: Int) -> String {
        let rows = (0..<count).map { number in
            "\(10_998_811 + number)|\(iso(now - number * hour - 2 * hour).dropLast())|-15.1|-173.4|10.0|us|NEIC PDE|us|us2000j8\(number)f|mb|5.5|us|TONGA\n"
        }
        return
            "#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor|EventLocationName\n"
            + rows.joined()
    }

    /// Runs `body` with a database that has 20 events each of the USGS, Global CMT and IRIS. The USGS's service has deleted its
    /// first event since the import.
    private func withUSGS(
        _ body: (TestDatabase, TestCatalogue, TestFeedServer) async throws -> Void
    ) async throws {
        let catalogue = TestCatalogue(now: Self.now)
        for number in 0..<20 {
            let time = Self.now - number * Self.hour - Self.hour
            catalogue.change { $0.add(.init("us7000aa\(number)", time: time, updated: time + 60_000)) }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                guard case .whole(let status, let body, let headers) = catalogue.answer(request) else {
                    return .silent
                }
                let text = String(decoding: body, as: UTF8.self)
                    .replacing(TestCatalogue.host, with: "earthquake.usgs.gov")
                return .whole(status, Array(text.utf8), headers: headers)
            }) { server in
                try await database.sweep(Self.usgs, through: server)
                #expect(try await database.count("quake") == 20)
                for document in [Self.globalCMT(20), Self.iris(20)] {
                    #expect(try await database.importDocument(document).counts.inserted == 20)
                }
                catalogue.change { state in
                    state.now += 10 * 60_000
                    state.delete("us7000aa0")
                    // The ids name events of the other documents, as if the USGS had once used these codes.
                    state.events["us7000aa1"]?.ids += ["us10998811", "us2000j80f", "gcmtM01010A", "M01010A"]
                    state.events["us7000aa1"]?.updated = state.now
                    for code in ["us10998812", "gcmtM01011A", "10998812", "M01011A"] {
                        state.gone.append(.init(code: code, at: state.now))
                    }
                }
                try await body(database, catalogue, server)
                #expect(try await database.count("quake where net = 'us'") == 19)
                #expect(try await database.count("quake where net in ('local', 'unknown')") == 40)
                #expect(try await database.count("quake where net <> 'us' and url is not null") == 0)
            }
        }
    }

    /// The number of events that a backfill from the USGS deletes with `force`.
    private func retracted(
        byBackfill options: Backfill.Options, of database: TestDatabase, through server: TestFeedServer
    ) async throws -> Int {
        var options = options
        options.service = try #require(EventService(.url(Self.usgs)))
        options.pace = .zero
        var imports = Importer.Options.through(server)
        imports.retraction = .force
        return try await database.withConnection { [options, imports] connection in
            let backfill = try await Backfill(connection, options, imports: imports, logger: .quiet)
            return try await backfill.run().counts.retracted
        }
    }

    @Test("A backfill from the USGS deletes only events that came from the USGS")
    func backfill() async throws {
        try await withUSGS { database, _, server in
            var options = Backfill.Options(from: Instant(milliseconds: Int64(Self.now - 2 * Self.day)))
            options.to = Instant(milliseconds: Int64(Self.now + Self.day))
            let count = try await retracted(byBackfill: options, of: database, through: server)
            #expect(count == 1)
        }
    }

    @Test("A sweep of the USGS deletes only events that came from the USGS")
    func sweep() async throws {
        try await withUSGS { database, _, server in
            let summary = try await database.sweep(Self.usgs, through: server) { $0.retraction = .force }
            #expect(summary.failure == nil && summary.counts.retracted == 1)
            #expect(summary.counts.superseded == 0)
        }
    }

    @Test("A summary feed of the USGS deletes only events that came from the USGS")
    func feed() async throws {
        try await withUSGS { database, _, server in
            let summary = try await database.sweep(
                "http://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson", through: server
            ) { $0.retraction = .force }
            #expect(summary.failure == nil && summary.counts.retracted == 1)
            #expect(summary.counts.superseded == 0)
        }
    }

    @Test(
        "Events of IRIS, the ISC and the USGS with the same number stay separate events, in any order of import"
    )
    func numbers() async throws {
        func quakeML(_ id: String, magnitude: Double) -> String {
            AgencyImportTests.quakeML("x", magnitude: "\(magnitude)", made: "2026-10-01T02:00:00Z")
                .replacing("smi:org.gfz-potsdam.de/geofon/x", with: id).replacing("GFZ", with: "ISC")
        }
        let text = Self.iris(1).replacing("10998811", with: "2844986").replacing("|us|", with: "|ISC|")
        let documents = [
            quakeML("smi:www.iris.edu/ws/event/query?eventId=2844986", magnitude: 8.8),
            quakeML("smi:ISC/evid=2844986", magnitude: 3.9), text,
            SmallFeed.document([SmallFeed.feature("2844986", net: "us", magnitude: "1.5")]),
        ]
        for order in documents.indices.map({ $0 }).permutations {
            try await server.withDatabase { database in
                for index in order {
                    let summary = try await database.importDocument(documents[index])
                    #expect(summary.counts.inserted == 1 && summary.failure == nil)
                }
                let rows = try await database.query(
                    "select split_part(code, '@', 1) as code, magnitude from quake order by magnitude")
                #expect(
                    try rows.map { try $0.decode("code", as: String.self) } == [
                        "us2844986", "isc:2844986", "unknown:2844986", "www.iris.edu:2844986",
                    ])
            }
        }
    }

    @Test(
        "If a document does not say which agency gave its ids, a warning says so, and the run keeps the warning"
    )
    func said() async throws {
        try await server.withDatabase { database in
            let summary = try await database.importDocument(Self.iris(3))
            #expect(
                summary.warning?.contains(
                    "the document does not say which agency gave the ids of 3 events") == true)
            let error: String = try await database.query("select error from import.run")[0].decode("error")
            #expect(error == summary.warning)
        }
    }

    @Test("A backfill from the USGS does not delete the events of imported sample files", .needsFieldSamples)
    func samples() async throws {
        try await withUSGS { database, catalogue, server in
            for name in ["gcmt-as-obspy-writes-it.xml", "text-contributor-is-not-owner.txt"] {
                #expect(try await database.importFile(FieldSamples.path(name)).counts.inserted == 1)
            }
            let options = Backfill.Options(from: try #require(Instant("1976-01-01T00:00:00Z")))
            let count = try await retracted(byBackfill: options, of: database, through: server)
            #expect(count == 1)
            let gone = try await database.query(
                "delete from quake where time < '2020-01-01' returning code, url")
            #expect(gone.count == 2)
        }
    }
}
