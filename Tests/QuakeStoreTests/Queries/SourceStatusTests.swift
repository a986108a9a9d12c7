import Feed
import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import QuakeStore

@Suite("The status of sources")
struct SourceStatusTests {
    let server = TestServer.shared

    @Test(
        "The label of a summary feed or an event service is its short name, and that of another source its name"
    )
    func labels() async throws {
        let usgs = "https://earthquake.usgs.gov/fdsnws/event/1/"
        let long = "https://feeds.example.org/\(String(repeating: "long/", count: 30))week.geojson"
        let expected = [
            "\(FeedSource("all_hour"))": "all_hour", usgs: "usgs", "backfill \(usgs)": "backfill usgs",
            "verify \(usgs)": "verify usgs", "backfill \(long)": "backfill \(long)", long: long, "-": "-",
            "week.geojson": "week.geojson",
        ]
        try await server.withDatabase { database in
            for name in expected.keys {
                try await database.query("insert into import.run (source) values (\(name))")
            }
            let status = try await database.withConnection { try await ImportStatus.read(on: $0) }
            let labels = status.sources.map { ($0.name, $0.label) }
            #expect(Dictionary(uniqueKeysWithValues: labels) == expected)
        }
    }

    @Test(
        "Sources of a daemon and URLs that once succeeded are monitored, but files and misspelt URLs are not")
    func monitored() async throws {
        try await server.withDatabase { database in
            var expected: [String: Bool] = [:]
            for (source, outcome, every, isMonitored) in [
                ("https://host/done", "done", nil, true), ("https://host/failed", "failed", nil, false),
                ("https://host/daemon", "failed", "1 minute", true), ("file", "done", nil, false),
                ("daemon-file", "done", "1 minute", true), ("-", "done", nil, false),
            ] as [(String, String, String?, Bool)] {
                try await database.query(
                    """
                    insert into import.run (source, outcome, finished, every)
                    values (\(source), \(outcome), now(), \(every)::interval)
                    """)
                expected[source] = isMonitored
            }
            let status = try await database.withConnection { try await ImportStatus.read(on: $0) }
            let stated = status.sources.map { ($0.name, $0.isMonitored) }
            #expect(Dictionary(uniqueKeysWithValues: stated) == expected)
            let rows = try await database.query("select source, is_monitored from report.feed_health")
            let reported = try rows.map {
                try ($0.decode("source", as: String.self), $0.decode("is_monitored", as: Bool.self))
            }
            #expect(Dictionary(uniqueKeysWithValues: reported) == expected)
        }
    }

    @Test("A failure after a success does not end the monitoring of a URL")
    func failingAfterSuccess() async throws {
        try await server.withDatabase { database in
            for outcome in ["done", "failed"] {
                try await database.query(
                    "insert into import.run (source, outcome, finished) values ('https://host/a', \(outcome), now())"
                )
            }
            let status = try await database.withConnection { try await ImportStatus.read(on: $0) }
            #expect(status.sources.map(\.isMonitored) == [true])
            #expect(status.sources.map(\.outcome) == ["failed"])
        }
    }

    @Test("A daemon's run records its interval")
    func interval() async throws {
        try await server.withDatabase { database in
            var options = Importer.Options()
            options.every = .seconds(90)
            try await database.importDocument(SmallFeed.document([SmallFeed.feature("a")]), options)

            let status = try await database.withConnection { try await ImportStatus.read(on: $0) }
            #expect(status.sources.map(\.every) == [.seconds(90)])
            #expect(status.sources.map(\.isMonitored) == [true])
        }
    }

    @Test("The status shows when a feed's newest document was made, and when the feed was last checked")
    func documentAge() async throws {
        try await server.withDatabase { database in
            let made = Instant(milliseconds: Instant.now.milliseconds - 600_000)
            let document = """
                {"type":"FeatureCollection","metadata":{"generated":\(made.milliseconds)},"features":[]}
                """
            try await TestFeedServer.run(script: [.whole(.ok, Array(document.utf8))]) { http in
                let source = FeedSource(http.url("/feed"))
                try await database.withConnection { connection in
                    _ = try await Importer(connection, logger: .quiet).run(source)
                    let status = try await ImportStatus.read(of: [source], on: connection)
                    let feed = try #require(status.sources.first)
                    #expect(feed.generated == made)
                    #expect(try #require(feed.documentAge) > .seconds(599))
                    #expect(try #require(feed.freshAt) > made)
                }
            }
        }
    }

    @Test(
        "A source is found by its name or its short name; any other name is an error with a hint"
    )
    func named() async throws {
        try await server.withDatabase { database in
            let long = "https://host/\(String(repeating: "long/", count: 10))feed"
            for name in ["\(FeedSource("all_day"))", long] {
                try await database.query("insert into import.run (source) values (\(name))")
            }
            try await database.withConnection { connection in
                for name in ["all_day", "\(FeedSource("all_day"))", long] {
                    let found = try await ImportStatus.read(of: [FeedSource(name)], on: connection)
                    #expect(found.sources.count == 1, "\(name)")
                }
                for (name, message) in [
                    (
                        "all_hour",
                        "nothing was ever imported from all_hour; quakes status lists the imported sources"
                    ),
                    ("all_dya", "nothing was ever imported from all_dya; did you mean all_day?"),
                ] {
                    let error = await #expect(throws: Failure.self) {
                        try await ImportStatus.read(of: [FeedSource(name)], on: connection)
                    }
                    #expect(error?.description == message)
                }
            }
        }
    }

    @Test(
        "A small table is counted and a large one is estimated; the newest event is the one with the latest origin"
    )
    func catalogue() async throws {
        try await server.withDatabase { database in
            try await database.withConnection { connection in
                let empty = try await CatalogueStatus.read(on: connection)
                #expect(empty.count == 0 && empty.newest == nil && !empty.isEstimate)
            }
            try await database.importSample(20_000)
            try await database.withConnection { connection in
                let exact = try await CatalogueStatus.read(on: connection)
                #expect(exact.count == 20_000 && !exact.isEstimate)
                let newest = try await connection.query(
                    "select code from quake order by time desc limit 1", to: "look")
                #expect(try exact.newest?.code == newest[0].decode("code"))

                let plan = try await connection.query("explain \(CatalogueStatus.newestQuery)", to: "explain")
                    .map { try $0.decode("QUERY PLAN", as: String.self) }.joined(separator: "\n")
                #expect(plan.contains("quake_time"), "\(plan)")

                let estimate = try await CatalogueStatus.count(upTo: 0, on: connection)
                #expect(estimate.isEstimate)
                #expect((18_000...22_000).contains(estimate.count), "\(estimate.count)")
            }
        }
    }
}
