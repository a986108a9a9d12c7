import QuakeServer
import TestSupport
import Testing

/// Real client programs, written for other services.
@Suite("Clients of the event service and of the feeds", .needsClients)
struct EventClientTests {
    @Test("ObsPy gets the right events with each of its parameters, and finds the QuakeML valid")
    func obsPy() async throws {
        try await withSample { site in
            let said = try await Clients.run("fdsnevent.py", [site.url("")])
            #expect(said.contains("requests agree"))
        }
    }

    @Test("The function in docs/obspy.md reads more events than one answer may have, each exactly once")
    func obsPyPages() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importSample(100)
            var settings = ServerSettings.patient
            settings.maxEvents = 30
            try await TestSite.run(of: database, settings) { site in
                let said = try await Clients.run("pages.py", [site.url("")])
                #expect(said == "100 events\n")
            }
        }
    }

    @Test("QQuake, a plugin of QGIS, can read the answers to its requests")
    func qquake() async throws {
        try await withSample { site in
            let said = try await Clients.run("qquake.py", [site.url("")])
            #expect(said.contains("requests agree"))
        }
    }

    @Test("Programs written for the USGS's service also work with this one")
    func usgs() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(Self.feed.document)
            try await database.insertAndDelete("usgone")
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: ["libcomcat", "quakefeeds", "homeassistant", "gdal"]) { client in
                    let found = try await Clients.run("usgs.py", [site.url(""), client])
                    #expect(Int(found.split(separator: "\n").last ?? "") ?? 0 > 10, "\(client)")
                }
            }
        }
    }

    @Test("feedparser, ObsPy and GDAL read every form of the USGS's feeds, and find the same events in each")
    func forms() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(Self.feed.document)
            try await TestSite.run(of: database) { site in
                let said = try await Clients.run("feeds.py", [site.url("")])
                #expect(said.contains("60 events are the same in all forms"))
            }
        }
    }

    /// A day feed whose events have all the properties that the USGS publishes.
    private static let feed: DayFeed = {
        var feed = DayFeed()
        for number in 0..<60 {
            let type = number % 20 == 7 ? "quarry blast" : "earthquake"
            let more = """
                "status":"reviewed","sig":\(number * 15),"alert":\(number % 3 == 0 ? "\"green\"" : "null"),"magType":"ml",\
                "gap":\(number),"nst":12,"rms":0.5,"type":"\(type)","title":"M \(number)",\
                "detail":"https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/usd\(number).geojson"
                """
            feed.add("d\(number)", minutesAgo: number * 20 + 1, magnitude: "\(number % 55)e-1", more: more)
        }
        return feed
    }()

    /// Serves earthquakes of all kinds, and a deleted event.
    private func withSample(_ body: @escaping @Sendable (TestSite) async throws -> Void) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importSample(100)
            try await database.importFeatures([
                SmallFeed.feature("bare", magnitude: "null").replacing(
                    #""place":"somewhere""#, with: #""place":null"#)
            ])
            try await database.insertAndDelete("q0gone")
            try await TestSite.run(of: database) { site in try await body(site) }
        }
    }
}

extension TestDatabase {
    fileprivate func insertAndDelete(_ code: String) async throws {
        try await query(
            """
            insert into quake (code, net, net_code, time, updated, longitude, latitude)
            values (\(code), left(\(code), 2), substr(\(code), 3), now(), now(), 0, 0)
            """)
        try await query("delete from quake where code = \(code)")
    }
}
