import Feed
import Foundation
import FoundationXML
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("The paths of the USGS's feeds")
struct SummaryFeedTests {
    @Test("A feed writes the events, the metadata and the bounds as the USGS does")
    func form() async throws {
        try await TestServer.shared.withDatabase { database in
            var feed = DayFeed()
            feed.add("early", minutesAgo: 1441)
            feed.add("a", minutesAgo: 20, magnitude: "null", more: #""felt":3,"new":{"x":[1,"é"]}"#)
            feed.add("b", minutesAgo: 10, magnitude: "-0.25", more: #""alert":"green","rms":0.59,"gap":1e3"#)
            try await database.importDocument(feed.document)
            try await TestSite.run(of: database) { site in
                let answer = try await site.get(dayPath)
                #expect(answer.status == 200)
                #expect(answer.headers["content-type"] == "application/json; charset=utf-8")
                let document = try #require(
                    try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
                let metadata = try #require(document["metadata"] as? [String: Any])
                #expect(metadata["generated"] as? Int == DayFeed.morning)
                #expect(metadata["url"] as? String == DayFeed.url)
                #expect(metadata["title"] as? String == "USGS All Earthquakes, Past Day")
                #expect(metadata["count"] as? Int == 2)
                #expect(
                    document["bbox"] as? [Double] == [-153.6282, 57.3254, 28.9, -153.6282, 57.3254, 28.9])
                let features = try #require(document["features"] as? [[String: Any]])
                #expect(features.map { $0["id"] as? String } == ["usb", "usa"])
                let last = try #require(features[1]["properties"] as? [String: Any])
                #expect(last["place"] as? String == #"5 km N of "Ünder\Wood""#)
                #expect(last["ids"] as? String == ",usa,")
                #expect(last["mag"] is NSNull && last["felt"] as? Int == 3)
                #expect((last["new"] as? [String: [Any]])?["x"]?.last as? String == "é")
            }
        }
    }

    @Test("Feeds select events by magnitude, significance and age, as their names say")
    func selections() async throws {
        try await TestServer.shared.withDatabase { database in
            var feed = DayFeed()
            feed.add("small", minutesAgo: 59, magnitude: "4.449", more: #""sig":599"#)
            feed.add("large", minutesAgo: 61, magnitude: "4.45", more: #""sig":600"#)
            try await database.importDocument(feed.document)
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: ["4.5_day", "significant_day", "all_hour"]) { name in
                    let text = try await site.get("/earthquakes/feed/v1.0/summary/\(name).geojson").text
                    #expect(text.contains("\"ussmall\"") == (name == "all_hour"), "\(name)")
                    #expect(text.contains("\"uslarge\"") == (name != "all_hour"), "\(name)")
                }
                #expect(try await site.get("/earthquakes/feed/v1.0/summary/3.0_day.geojson").status == 404)
            }
        }
    }

    @Test("A CSV feed has the text of the event service's answer with the same events")
    func csv() async throws {
        try await TestServer.shared.withDatabase { database in
            var feed = DayFeed()
            feed.add("early", minutesAgo: 1441)
            feed.add("a", minutesAgo: 20)
            feed.add("b", minutesAgo: 10)
            try await database.importDocument(feed.document)
            try await TestSite.run(of: database) { site in
                let answer = try await site.get("/earthquakes/feed/v1.0/summary/all_day.csv")
                #expect(answer.headers["content-type"] == "text/csv; charset=utf-8")
                #expect(answer.headers["etag"] != nil)
                let lines = try await site.get("/fdsnws/event/1/query?format=csv&limit=2").text
                #expect(lines.contains(",usb,") && lines.contains(",usa,"))
                #expect(answer.text == lines)
                #expect(try await site.get("/earthquakes/feed/v1.0/summary/all_day.kml").status == 404)
            }
        }
    }

    /// The texts are from a feed, so they may contain any characters.
    @Test("Atom and KML escape any text, and can describe events with few known properties")
    func hostile() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude, place, magnitude)
                values ('xx<&>]]>', 'x"x', '<&>]]>', now(), now(), 1, 2, ']]><script>' || chr(1) || '&lt;', -0.5)
                """)
            try await TestSite.run(of: database) { site in
                let path = "/earthquakes/feed/v1.0/summary/all/all_hour"
                let atom = try await site.get("\(path).atom")
                #expect(atom.headers["content-type"] == "application/atom+xml; charset=utf-8")
                #expect(
                    atom.text.contains(
                        "<id>smi:local/fdsnws/event/1/query?eventid=xx~3C~26~3E~5D~5D~3E</id>"))
                #expect(atom.text.contains("<title>M -0.5 - ]]&gt;&lt;script&gt;\u{FFFD}&amp;lt;</title>"))
                #expect(
                    atom.text.contains(
                        "href=\"\(site.url(""))/earthquakes/feed/v1.0/detail/all/xx%3C%26%3E%5D%5D%3E.geojson\""
                    ))
                #expect(atom.text.contains("term=\"Magnitude 0\"") && !atom.text.contains("georss:elev"))
                let kml = try await site.get("\(path)_depth.kml")
                #expect(kml.headers["content-type"] == "application/vnd.google-earth.kml+xml")
                #expect(kml.text.contains("<description>&lt;h2&gt;M -0.5 - ]]&amp;gt;&amp;lt;script&amp;gt;"))
                #expect(kml.text.contains("<color>ddffffff</color><scale>0.2</scale>"))
                for document in [atom, kml] {
                    let parser = XMLParser(data: Data(document.body))
                    #expect(parser.parse(), "\(String(describing: parser.parserError))")
                    #expect(document.headers["etag"] != nil)
                }
                for nothing in [".kml", "_age.geojson", "_age.atom", ".xml"] {
                    #expect(try await site.get(path + nothing).status == 404)
                }
            }
        }
    }

    @Test("Only web addresses are linked")
    func links() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                select 'us' || n, 'us', n, url, now(), now(), 1, 2
                from unnest(array['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', ' https://x.org', '//x.org',
                                  'HTTPS://example.org/?a=1&b'])
                    with ordinality as event (url, n)
                """)
            try await TestSite.run(of: database) { site in
                for ending in [".atom", "_age.kml"] {
                    let text = try await site.get(
                        "/earthquakes/feed/v1.0/summary/all_hour\(ending)"
                    ).text
                    #expect(text.contains("HTTPS://example.org/?a=1&amp;"))
                    for address in ["javascript:", "data:", "file:", " https://x", "\"//x", "&quot;//x"] {
                        #expect(!text.contains(address), "\(ending) \(address)")
                    }
                }
            }
        }
    }

    @Test("If the catalogue follows no feed, the metadata has the server's own address")
    func ownFeed() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let text = try await site.get(dayPath).text
                // The URL names the agency, so an import does not take the document for a summary feed of the USGS, and does not
                // delete events that the document lacks.
                let path = dayPath.replacing("all_day", with: "usgs/all_day")
                #expect(text.contains("\"url\":\"\(site.url(path))\""))
                #expect(text.contains("\"count\":0},\"features\":[]}"))
            }
        }
    }

    @Test("A feed has the USGS's address and date only if a document of the USGS has all of its events")
    func uncovered() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(
                DayFeed.of(3).document.replacing("summary/all_day", with: "summary/2.5_day"))
            try await database.query(
                """
                insert into import.settled (service, feed, generated)
                select 'earthquake.usgs.gov', feed, '2023-11-14 22:13:20Z'::timestamptz + age * interval '1 hour'
                from (values ('sweep', 1), ('all_month', -24)) as settled (feed, age)
                """)
            try await TestSite.run(of: database) { site in
                for (name, isOfUSGS) in [
                    ("all_day", false), ("all_hour", false), ("4.5_day", false), ("all_week", false),
                    ("4.5_month", false), ("2.5_day", true),
                    ("2.5_hour", true),
                ] {
                    let path = dayPath.replacing("all_day", with: name)
                    let own = site.url(path.replacing(name, with: "usgs/\(name)"))
                    let text = try await site.get(path).text
                    #expect(text.contains("\"url\":\"\(own)\"") == !isOfUSGS, "\(name)")
                    #expect(text.contains("\"generated\":\(DayFeed.morning),") == isOfUSGS, "\(name)")
                }
            }
        }
    }

    @Test("Different codes that are equal as Swift strings have separate pages, answers and changes")
    func equivalentCodes() async throws {
        let codes = ["%C3%A9", "e%CC%81"]
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(1).document)
            for code in ["\u{E9}", "e\u{301}"] {
                try await database.query(
                    """
                    insert into quake (code, net, net_code, place, time, updated, longitude, latitude)
                    values (\(code), 'q', '', \(code.utf8.count == 2 ? "one" : "two"), now(), now(), 0, 0)
                    """)
            }
            try await TestSite.run(of: database) { site in
                for _ in 1...2 {
                    for (code, place) in zip(codes, ["one", "two"]) {
                        let answer = try await site.get("/earthquakes/feed/v1.0/detail/all/\(code).geojson")
                        #expect(
                            answer.status == 200 && answer.text.contains("\"place\":\"\(place)\""), "\(code)")
                    }
                }
                try await StreamClient.with(site, "eventid=\(codes[0])") { one in
                    try await StreamClient.with(site, "eventid=\(codes[1])") { two in
                        let rows = await [one.pass(), two.pass()]
                        #expect(rows.map { $0.count { $0.members["row"] != nil } } == [1, 1])
                        try await database.query("update quake set felt = 7 where net = 'q'")
                        for (client, code) in [(one, "\u{E9}"), (two, "e\u{301}")] {
                            let changes = await client.pass().filter(\.isChange)
                            let keys = changes.map { Array(($0.members["key"] as? String ?? "").utf8) }
                            #expect(keys == [Array(code.utf8)])
                        }
                    }
                }
            }
        }
    }

    @Test("An event's detail is also found by the event's old code, and an unknown code gets 404")
    func detail() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let answer = try await site.get("/earthquakes/feed/v1.0/detail/usc%31.geojson")
                let feature = try #require(
                    try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
                #expect(feature["id"] as? String == "usc1" && feature["type"] as? String == "Feature")
                let properties = feature["properties"] as? [String: Any]
                #expect((properties?["products"] as? [String: Any])?.isEmpty == true)
                try await database.withConnection {
                    try await Deletion.delete(["usc2"], reason: "superseded by usc1", on: $0)
                }
                let renamed = try await site.get("/earthquakes/feed/v1.0/detail/usc2.geojson")
                #expect(renamed.status == 200 && renamed.text == answer.text)
                #expect(try await site.get("/earthquakes/feed/v1.0/detail/us';--.geojson").status == 404)
                #expect(try await site.get("/earthquakes/feed/v1.0/detail/%00.geojson").status == 404)
            }
        }
    }
}

/// The second catalogue imports a feed from the first catalogue's server.
@Suite("A catalogue that imports a feed of another catalogue")
struct RelayTests {
    @Test("The second catalogue has the same rows after events were added, renamed and deleted")
    func relay() async throws {
        try await withRelay { first, relay in
            var feed = DayFeed.of(40)
            try await first.importDocument(feed.document)
            try await relay()
            feed = DayFeed.of(38)
            feed.generated += 600_000
            feed.features.removeFirst()
            feed.add("renamed", minutesAgo: 3, updated: 5000, formerly: "c0")
            feed.add("new", minutesAgo: 2, magnitude: "0.1")
            try await first.importDocument(feed.document)
            try await relay()
            #expect(try await first.query("select from quake").count == 39)
        }
    }

    @Test("The second catalogue has the same rows after each step of a real day feed", .needsRealFeeds)
    func replay() async throws {
        try await withRelay { first, relay in
            for number in rounds(15, of: 30) {
                let name = String("000\((number - 1) * 4)".suffix(3))
                try await first.importFile(RealFeeds.path("replay-all_day/\(name).geojson.gz"))
                try await relay()
            }
        }
    }

    /// Calls `body` with the first database, and with a closure that updates the second one and compares the tables.
    private func withRelay(
        _ body: @escaping @Sendable (TestDatabase, () async throws -> Void) async throws -> Void
    ) async throws {
        try await TestServer.shared.withDatabase { first in
            try await TestServer.shared.withDatabase { second in
                try await TestSite.run(of: first) { site in
                    try await body(first) {
                        // Until the server is notified of the change, it answers that nothing has changed.
                        let newest: Int = try await first.query("select history.current_token() as token")[0]
                            .decode("token")
                        try await waitUntil {
                            try await site.get("/health").text.contains("\"token\":\(newest),")
                        }
                        let summary = try await second.importFeed(.url(site.url(dayPath)))
                        #expect(summary.failure == nil)
                        #expect(summary.counts.rejected == 0)
                        let (copy, original) = (try await second.rows(), try await first.rows())
                        #expect(copy == original)
                    }
                }
            }
        }
    }
}

extension TestDatabase {
    /// All rows, without the time of their import.
    fileprivate func rows() async throws -> [String] {
        try await query(
            "select (to_jsonb(quake) - 'imported_at')::text as row from quake order by code collate \"C\""
        )
        .map { try $0.decode("row") }
    }
}
