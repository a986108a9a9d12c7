import Feed
import Foundation
import QuakeStore
import TestSupport
import Testing

@Suite("Feeds of several agencies")
struct AgencyFeedTests {
    private static let folder = "/earthquakes/feed/v1.0"
    private static let endings = [".geojson", ".csv", ".quakeml", ".atom", "_age.kml", "_depth_animated.kml"]

    /// One event each of the USGS, of an unknown network in ComCat, of a network with its own data centre, of GFZ and of an
    /// unknown agency.
    private static let rows = """
        insert into quake (code, net, net_code, url, time, updated, longitude, latitude, magnitude)
        select code, net, net_code, url, now(), now(), 10, 20, 5
        from (values ('us7000abcd', 'us', '7000abcd', 'https://earthquake.usgs.gov/earthquakes/eventpage/us7000abcd'),
                     ('zz1', 'zz', '1', 'https://earthquake.usgs.gov/earthquakes/eventpage/zz1'),
                     ('ci123', 'ci', '123', 'https://service.scedc.caltech.edu/fdsnws/event/1/query?eventid=123'),
                     ('gfz:gfz2026texh', 'gfz', 'gfz2026texh', 'https://geofon.gfz.de/eqinfo/event.php?id=gfz2026texh'),
                     ('obs:7', 'obs', '7', null)) as event (code, net, net_code, url)
        """

    /// Scopes as they are written in paths, each with the codes that its feeds list.
    private static let scopes: [(String, [String])] = [
        ("", ["us7000abcd", "zz1", "ci123"]), ("usgs/", ["us7000abcd", "zz1", "ci123"]),
        ("gfz/", ["gfz2026texh"]), ("scedc/", ["ci123"]), ("ingv/", []),
        ("all/", ["us7000abcd", "zz1", "ci123", "gfz2026texh", "obs"]),
    ]

    @Test(
        "In every form, the USGS's paths list ComCat's events, and another agency's path lists that agency's events"
    )
    func owners() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.execute(Self.rows)
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: Self.endings) { ending in
                    for (scope, codes) in Self.scopes {
                        let answer = try await site.get("\(Self.folder)/summary/\(scope)all_day\(ending)")
                        #expect(answer.status == 200, "\(scope)all_day\(ending)")
                        for code in ["us7000abcd", "zz1", "ci123", "gfz2026texh", "obs"] {
                            // Atom separates the network and the code of a ComCat event.
                            let inAtom = code.replacing(/^(us|zz|ci)/, with: { "gov:\($0.1):" })
                            let isThere = answer.text.contains(code) || answer.text.contains(inAtom)
                            #expect(isThere == codes.contains(code), "\(scope)all_day\(ending), \(code)")
                        }
                    }
                    for none in ["gfz/", "nobody/all_day", "gfz/3.0_day", "gfz/usgs/all_day", "GFZ/all_day"] {
                        let path = "\(Self.folder)/summary/\(none)\(ending)"
                        #expect(try await site.get(path).status == 404, "\(path)")
                    }
                }
            }
        }
    }

    @Test("Events of other agencies carry neither the USGS's name nor its identifiers")
    func names() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.execute(Self.rows)
            try await TestSite.run(of: database) { site in
                for ending in Self.endings {
                    let text = try await site.get("\(Self.folder)/summary/gfz/all_day\(ending)").text
                    #expect(!text.contains("USGS") && !text.contains("usgs"), "\(ending)")
                    if ending != ".csv", ending != ".quakeml" {
                        #expect(
                            text.contains(
                                "GFZ Helmholtz Centre for Geosciences, GEOFON: All Earthquakes, Past Day"))
                    }
                }
                let id = "smi:geofon.gfz.de/fdsnws/event/1/query?eventid=gfz~3Agfz2026texh"
                for path in ["gfz/all_day.atom", "all/all_day.atom"] {
                    let atom = try await site.get("\(Self.folder)/summary/\(path)").text
                    #expect(atom.contains("<id>\(id)</id>"))
                }
                #expect(
                    try await site.get("\(Self.folder)/summary/gfz/all_day.quakeml").text.contains(
                        "<event publicID=\"\(id)\">"))
                let atom = try await site.get("\(Self.folder)/summary/all/all_day.atom").text
                let urns = atom.matches(of: /urn:earthquake-usgs-gov:([^<]*)/).map { String($0.1) }
                #expect(Set(urns) == ["us:7000abcd", "zz:1", "ci:123"])
                #expect(atom.contains("<title>All agencies: All Earthquakes, Past Day</title>"))
                #expect(atom.contains("<id>smi:local/fdsnws/event/1/query?eventid=obs~3A7</id>"))
            }
        }
    }

    @Test("An event is served below its agency's path and below the path `all`")
    func details() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.execute(Self.rows)
            try await TestSite.run(of: database) { site in
                for (path, status) in [
                    ("us7000abcd", 200), ("usgs/us7000abcd", 200), ("all/us7000abcd", 200),
                    ("gfz/us7000abcd", 404),
                    ("gfz:gfz2026texh", 404), ("gfz/gfz%3Agfz2026texh", 200), ("all/gfz:gfz2026texh", 200),
                    ("obs:7", 404), ("all/obs:7", 200), ("obs/obs:7", 404),
                ] {
                    let answer = try await site.get("\(Self.folder)/detail/\(path).geojson")
                    #expect(answer.status == status, "\(path)")
                    if status == 404, path != "obs/obs:7" { #expect(answer.text.contains("detail/all/")) }
                }
            }
        }
    }

    /// The second catalogue also has an event whose URL is on the first server. An import of a feed that does not list this event
    /// must not delete the event.
    @Test(
        "A catalogue that imports a feed of another Quakes server gets the listed events, and loses none",
        arguments: ["", "gfz/", "all/"])
    func imported(scope: String) async throws {
        try await TestServer.shared.withDatabase { first in
            try await first.execute(Self.rows)
            try await TestServer.shared.withDatabase { second in
                try await TestSite.run(of: first) { site in
                    try await second.query(
                        """
                        insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                        values ('obs:9', 'obs', '9', \(site.url("/events/9")), now() - interval '1 hour', now() - interval '1 hour', 0, 0)
                        """)
                    let summary = try await second.importFeed(
                        .url(site.url("\(Self.folder)/summary/\(scope)all_day.geojson")))
                    #expect(summary.failure == nil && summary.counts.rejected == 0)
                    let codes = try await second.query("select code from quake order by code collate \"C\"")
                        .map { try $0.decode("code", as: String.self) }
                    let listed = ["": ["ci123", "us7000abcd", "zz1"], "gfz/": ["gfz:gfz2026texh"]][scope]
                    let expected = listed ?? ["ci123", "gfz:gfz2026texh", "obs:7", "us7000abcd", "zz1"]
                    #expect(Set(codes) == Set(expected + ["obs:9"]))
                    #expect(try await second.query("select from import.settled").isEmpty)
                }
            }
        }
    }
}
