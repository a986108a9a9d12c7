import Foundation
import FoundationXML
import QuakeStore
import TestSupport
import Testing

@testable import QuakeServer

/// The sample has events of several agencies. `us1`, `gfz:a` and `emsc:b` form one earthquake, whose magnitude is from `gfz:a`.
@Suite("Earthquakes of several agencies in the event service")
struct EarthquakeAnswerTests {
    private let server = TestServer.shared

    private func withSite(
        _ body: @escaping @Sendable (TestDatabase, TestSite) async throws -> Void
    ) async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            try await TestSite.run(of: database) { try await body(database, $0) }
        }
    }

    private static func lines(_ site: TestSite, _ query: String) async throws -> [String] {
        let answer = try await site.get("/fdsnws/event/1/\(query)")
        #expect(answer.status == 200, "\(answer.text)")
        return answer.text.split(separator: "\n").map(String.init)
    }

    @Test("With merge=true, each earthquake appears once, and count gives the number of earthquakes")
    func merge() async throws {
        try await withSite { _, site in
            let text = try await Self.lines(site, "query?merge=true&format=text")
            #expect(text.count == 4)
            #expect(
                text[1] == "us1|2026-01-01T00:02:00.000|20|10|10|us|us|us|us1|Mw|5.3|gfz|Onetown|",
                "the magnitude's author is the agency that reported the magnitude")
            #expect(try await Self.lines(site, "count?merge=true") == ["3"])
            #expect(try await Self.lines(site, "count") == ["5"])
            #expect(try await Self.lines(site, "query?merge=true&format=csv&catalog=emsc").count == 3)
            #expect(try await Self.lines(site, "query?merge=true&format=csv&minmagnitude=5.2").count == 2)
            let single = try await site.get("/fdsnws/event/1/query?merge=true&format=geojson&eventid=emsc:b")
            #expect(single.text.contains("\"id\":\"us1\"") && single.text.contains("\"mag\":5.3"))
        }
    }

    @Test(
        "On request, QuakeML for any event of an earthquake has all the earthquake's origins and magnitudes")
    func quakeML() async throws {
        try await withSite { _, site in
            let id = { (code: String) in
                "smi:\(code.hasPrefix("us") ? "us" : code.split(separator: ":")[0]).example.org/fdsnws/event/1/query?eventid=\(code.replacing(":", with: "~3A"))"
            }
            for code in ["us1", "gfz:a", "emsc:b"] {
                let whole = try await site.get(
                    "/fdsnws/event/1/query?eventid=\(code)&includeallorigins=true&includeallmagnitudes=true"
                ).text
                #expect(XMLParser(data: Data(whole.utf8)).parse())
                #expect(whole.components(separatedBy: "<event publicID=").count == 2)
                #expect(whole.contains("<event publicID=\"\(id("us1"))\">"))
                #expect(whole.contains("<preferredOriginID>\(id("us1"))/origin</preferredOriginID>"))
                #expect(
                    whole.contains("<preferredMagnitudeID>\(id("gfz:a"))/magnitude</preferredMagnitudeID>"))
                for member in ["us1", "gfz:a", "emsc:b"] {
                    #expect(whole.contains("<origin publicID=\"\(id(member))/origin\">"))
                    #expect(whole.contains("<magnitude publicID=\"\(id(member))/magnitude\">"))
                    #expect(whole.contains("<originID>\(id(member))/origin</originID>"))
                }
                #expect(whole.contains("data: GFZ Helmholtz"), "the agency of the data is named")
            }
            let origins = try await site.get("/fdsnws/event/1/query?includeallorigins=true").text
            #expect(origins.components(separatedBy: "<event publicID=").count == 4)
            #expect(origins.components(separatedBy: "<origin ").count == 6)
            // There are two magnitudes: one earthquake has its chosen magnitude, one its only magnitude, and one has none.
            #expect(origins.components(separatedBy: "<magnitude ").count == 3)
            let merged = try await site.get("/fdsnws/event/1/query?merge=true&eventid=gfz:a").text
            #expect(merged.components(separatedBy: "<origin ").count == 2)
            #expect(
                merged.contains("/magnitude</preferredMagnitudeID>") && merged.contains("<value>5.3</value>"))
            #expect(
                !merged.contains("<originID>"),
                "a magnitude does not refer to an origin that the document lacks")
        }
    }

    @Test("An answer as of an earlier token has the origins at that token")
    func past() async throws {
        try await withSite { database, site in
            let token: Int = try await database.query("select history.current_token() as token")[0].decode(
                "token")
            try await database.query("update quake set longitude = 11 where code = 'emsc:b'")
            try await database.group(["us1"])
            try await waitUntil {
                try await site.get("/fdsnws/event/1/count?merge=true").text == "5"
            }
            let path = "/fdsnws/event/1/query?eventid=emsc:b&includeallorigins=true"
            let now = try await site.get(path).text
            #expect(now.components(separatedBy: "<origin ").count == 2 && now.contains("<value>11.0</value>"))
            let then = try await site.get("\(path)&asof=\(token)").text
            #expect(
                then.components(separatedBy: "<origin ").count == 4 && !then.contains("<value>11.0</value>"))
            #expect(then.contains("<value>10.2</value>"))
        }
    }

    @Test(
        "After a merge, the absorbed code finds the remaining earthquake, even if the code's event was deleted"
    )
    func mergedCode() async throws {
        try await withSite { database, site in
            try await database.withConnection { connection in
                try await connection.execute(
                    script: """
                        insert into earthquake values ('us2', 'us2', 'us2', 2);
                        insert into earthquake_member values ('us2', 'us2', 'emsc:c', 1, 2, 0.1, 3, 'pair', false),
                            ('emsc:c', 'us2', 'us2', 1, 2, 0.1, 3, 'pair', false)
                        """, to: "make another earthquake")
                try await connection.execute(
                    script: """
                        select set_config('history.reason', 'superseded by us1', true);
                        delete from earthquake where code = 'us2';
                        update earthquake_member set earthquake = 'us1' where earthquake = 'us2'
                        """, to: "merge us2 into us1")
            }
            try await waitUntil { try await site.get("/fdsnws/event/1/count?merge=true").text == "1" }
            let path = "/fdsnws/event/1/query?eventid=us2&includeallorigins=true"
            let living = try await site.get(path).text
            #expect(living.components(separatedBy: "<origin ").count == 6)
            try await database.query("delete from quake where code = 'us2'")
            try await waitUntil { try await site.get("/fdsnws/event/1/count").text == "4" }
            let gone = try await site.get(path)
            #expect(gone.status == 200 && gone.text.components(separatedBy: "<origin ").count == 5)
            // Without a merge, only the event itself counts, and not another agency's solution.
            #expect(try await site.get("/fdsnws/event/1/query?eventid=us2").status == 409)
            #expect(try await site.get("/earthquakes/feed/v1.0/detail/all/us2.geojson").status == 404)
        }
    }

    @Test("On request, GeoJSON names the earthquake of each event that shares one with other events")
    func named() async throws {
        try await withSite { _, site in
            let answer = try await site.get("/fdsnws/event/1/query?format=geojson&includeearthquake=true")
            let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
            let features = try #require(object?["features"] as? [[String: Any]])
            #expect(features.count == 5)
            for feature in features {
                let named = (feature["properties"] as? [String: Any])?["earthquake"] as? [String: Any]
                let isMember = ["us1", "gfz:a", "emsc:b"].contains(feature["id"] as? String)
                #expect((named != nil) == isMember, "\(feature["id"] ?? "")")
                guard let named else { continue }
                #expect(named["code"] as? String == "us1" && named["preferred"] as? String == "us1")
                #expect(named["magnitude_from"] as? String == "gfz:a")
                #expect(named["networks"] as? [String] == ["emsc", "gfz", "us"])
                #expect(named["members"] as? [String] == ["emsc:b", "gfz:a", "us1"])
            }
            let plain = try await site.get("/fdsnws/event/1/query?format=geojson")
            #expect(!plain.text.contains("\"earthquake\":"))
        }
    }

    private static let contradictions = [
        "query?merge=false&includeallorigins=true", "query?merge=true&includedeleted=true&format=csv",
        "query?includeallmagnitudes=true&includedeleted=only&format=csv",
        "query?includeearthquake=true&format=csv",
        "query?includeearthquake=true&includedeleted=true&format=geojson", "query?merge=maybe",
    ]

    @Test("A contradictory or invalid request is refused")
    func refused() async throws {
        try await withSite { _, site in
            try await forEachCase(of: Self.contradictions) { query in
                let answer = try await site.get("/fdsnws/event/1/\(query)")
                #expect(answer.status == 400, "\(query): \(answer.text)")
            }
            #expect(try await site.get("/changes?merge=true").status == 400)
        }
    }
}
