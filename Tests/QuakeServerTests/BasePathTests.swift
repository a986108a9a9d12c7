import Foundation
import QuakeServer
import TestSupport
import Testing

/// Tests a server behind a proxy that serves below a path. The proxy removes that path from the requests, or keeps it.
@Suite("Below a base path")
struct BasePathTests {
    @Test(
        "Requests are answered with and without the base path, and links always have the base path",
        arguments: ["", "/quakes"])
    func paths(prefix: String) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            settings.baseURL = "https://example.org/quakes"
            try await TestSite.run(of: database, settings) { site in
                try await waitUntil { try await site.get("\(prefix)/health").status == 200 }
                for path in [
                    "/", "/page/main.js", "/metrics", "/history/usc1", dayPath,
                    "/earthquakes/feed/v1.0/detail/usc1.geojson", "/fdsnws/event/1/version",
                    "/fdsnws/event/1/query?format=text", "/fdsnws/event/1/",
                ] {
                    #expect(try await site.get(prefix + path).status == 200, "\(path)")
                }
                #expect(try await site.get("\(prefix)/nothing").status == 404)
                let index = try await site.get("\(prefix)/")
                let paths = index.text.matches(of: #/(?:href|src)="(\/[^"]*)"/#).map { String($0.1) }
                #expect(paths.count > 20 && paths.allSatisfy { $0.hasPrefix("/quakes/") })
                let wadl = try await site.get("\(prefix)/fdsnws/event/1/application.wadl")
                #expect(wadl.text.contains("<resources base=\"/quakes/fdsnws/event/1\">"))
                let refusal = try await site.get("\(prefix)/fdsnws/event/1/query?x=1").text
                #expect(refusal.contains("from https://example.org/quakes/fdsnws/event/1/\n"))
                #expect(refusal.contains("\nhttps://example.org/quakes/fdsnws/event/1/query?x=1\n"))
                let features = try await site.get("\(prefix)/fdsnws/event/1/query?format=geojson").text
                #expect(features.contains("\"https://example.org/quakes/fdsnws/event/1/query?"))
            }
        }
    }

    @Test(
        "The page is also served without the final slash, and /a/pages is not below the base path /a/page")
    func alike() async throws {
        try await TestServer.shared.withDatabase { database in
            var settings = ServerSettings.patient
            settings.baseURL = "https://example.org/a/page"
            try await TestSite.run(of: database, settings) { site in
                let index = try await site.get("/a/page").text
                #expect(index.contains(#/"\/a\/page\/page\/[0-9a-f]{16}\/main.js"/#))
                #expect(try await site.get("/a/pages/health").status == 404)
                #expect(try await site.get("/a/page/page/main.js").status == 200)
            }
            settings.baseURL = "https://example.org/page"
            try await TestSite.run(of: database, settings) { site in
                for path in ["/page/main.js", "/page/page/main.js", "/page/", "/page"] {
                    let answer = try await site.get(path)
                    #expect(answer.status == 200, "\(path)")
                }
            }
        }
    }
}
