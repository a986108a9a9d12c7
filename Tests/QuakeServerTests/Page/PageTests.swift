import Feed
import Foundation
import Subprocess
import TestSupport
import Testing

@testable import QuakeServer

@Suite("The live page")
struct PageTests {
    private static let files: [String] = {
        let folder = projectFile("Sources/QuakeServer/Page/Files")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? []
    }()

    /// Runs in parts, so that several browsers work in parallel.
    @Test(
        "The page works as documented in a real browser",
        .enabled(if: Chromium.axe != nil, "Chromium or axe-core is missing, and cannot be installed"),
        arguments: 1...4)
    func browser(part: Int) async throws {
        let axe = try #require(Chromium.axe)
        try await TestServer.shared.withDatabase { database in
            let script = projectFile("Tests/page.py").path
            // Use the server's own psql: Debian's psql is a script, and takes longer to start than a short query may take.
            let psql = try await TestServer.shared.cluster().program("psql")
            let result = try await Subprocess.run(
                .name("python3"), arguments: .init([script, try QuakesCommand.path, axe, "\(part)/4"]),
                environment: .inherit.updating(["DATABASE_URL": database.url, "PSQL": psql]),
                output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
            let lines = result.standardOutput.split(separator: "\n")
            let failures = lines.filter { !$0.hasPrefix("passed: ") }.joined(separator: "\n")
            #expect(result.terminationStatus.isSuccess, "\(failures)\n\(result.standardError.suffix(2000))")
            if let weight = lines.first(where: { $0.hasPrefix("the first load") }) {
                say("The live page: \(weight)")
            }
        }
    }

    @Test(
        "The page's files have tags, may load nothing from other sites, and are compressed except for pictures"
    )
    func files() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                for name in Self.files + ["land.txt", "agencies.json"] {
                    let path = name == "index.html" ? "/" : "/page/\(name)"
                    let plain = try await site.get(path)
                    #expect(plain.status == 200, "\(path)")
                    let policy = plain.headers["content-security-policy"] ?? ""
                    #expect(policy.contains("default-src 'self'") && !policy.contains("unsafe"), "\(path)")
                    #expect(plain.headers["x-content-type-options"] == "nosniff")
                    if name.hasSuffix(".js") {
                        #expect(plain.headers["content-type"] == "text/javascript; charset=utf-8")
                    }

                    let gzip = ["Accept-Encoding": "gzip"]
                    let compressed = try await site.get(path, gzip)
                    if name.hasSuffix(".png") {
                        #expect(plain.headers["content-type"] == "image/png")
                        #expect(
                            compressed.headers["content-encoding"] == nil && compressed.body == plain.body)
                        continue
                    }
                    #expect(compressed.headers["content-encoding"] == "gzip")
                    #expect(compressed.body.count < plain.body.count, "\(path)")
                    let tag = try #require(compressed.headers["etag"])
                    let again = try await site.get(path, gzip.merging(["If-None-Match": tag]) { $1 })
                    #expect(again.status == 304 && again.body.isEmpty)
                    #expect(plain.headers["etag"] != tag)
                }
                #expect(try await site.get("/page/nothing.js").status == 404)
                #expect(try await site.get("/page/index.html").status == 404)
            }
        }
    }

    @Test("Comments that fill whole lines are removed from a script, and others stay")
    func comments() {
        let script = """
            // One line.
            const a = 1; // stays
              /** Several
               * lines. */
            /* One. */
            const b = /** @type {number} */ (a);
            /** @type {number} */ (b).toFixed();
            const c = "/*";
            """
        let served = String(decoding: PageFile.withoutComments(Array(script.utf8)), as: UTF8.self)
        #expect(
            served == """
                const a = 1; // stays
                const b = /** @type {number} */ (a);
                /** @type {number} */ (b).toFixed();
                const c = "/*";
                """)
    }

    @Test(
        "A file may be cached for ever at its address with the present version, and is revalidated at other addresses"
    )
    func versions() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let index = try await site.get("/")
                #expect(index.headers["cache-control"] == "no-cache")
                let named = index.text.matches(of: #/(?:src|href)="(\/page\/[^"]*)"/#).map { String($0.1) }
                #expect(named.count > 30)
                for path in named {
                    let file = try await site.get(path)
                    let isManifest = path == "/page/manifest.webmanifest"
                    #expect(
                        file.headers["cache-control"]
                            == (isManifest ? "no-cache" : "public, max-age=31536000, immutable"), "\(path)")
                    guard !isManifest else { continue }
                    let name = path.split(separator: "/").last ?? ""
                    for other in ["/page/\(name)", "/page/0123456789abcdef/\(name)"] {
                        let now = try await site.get(other)
                        #expect(now.status == 200 && now.body == file.body, "\(other)")
                        #expect(now.headers["cache-control"] == "no-cache", "\(other)")
                    }
                }
                #expect(try await site.get("/page/0123456789abcdef/index.html").status == 404)
                #expect(try await site.get("/page/other/main.js").status == 404)
            }
        }
    }

    @Test(
        "The preview of a link to an event has the event's magnitude, place and time, and escapes any characters"
    )
    func cards() async throws {
        try await TestServer.shared.withDatabase { database in
            _ = try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, place, time, updated, longitude, latitude, depth)
                values ('q9card', 'q9', 'card', 5.14, 'a <b> & "c"', '2026-11-21 09:00:00Z', now(), 1, 2, 12),
                       ('emsc1', 'emsc', '1', 5.0, '', '2026-11-21 09:00:00Z', now(), 1, 2, 12),
                       ('gfz1', 'gfz', '1', 5.2, 'elsewhere', '2026-11-21 09:00:00Z', now(), 1, 2, 12)
                """)
            try await database.group(["emsc1", "gfz1"], magnitudeFrom: "gfz1")
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get("/health").status == 200 }
                let title = "M 5.1, a &lt;b&gt; &amp; &quot;c&quot;"
                for path in ["/?event=q9card", "/?period=week&event=q9card", "/embed?event=q9card"] {
                    let page = try await site.get(path).text
                    #expect(page.contains("<title>\(title) – Quakes</title>"), "\(path)")
                    #expect(page.contains("<meta property=\"og:title\" content=\"\(title)\">"), "\(path)")
                    let description = "Earthquake, 2026-11-21 09:00:00 UTC, depth 12.0 km"
                    #expect(
                        page.contains("<meta property=\"og:description\" content=\"\(description)\">"),
                        "\(path)")
                    #expect(
                        page.contains("<meta name=\"description\" content=\"\(description)\">"), "\(path)")
                }
                #expect(
                    try await site.get("/?event=emsc1").text.contains("<title>M 5.2, emsc1 – Quakes</title>"))
                #expect(
                    try await site.get("/?event=gfz1").text.contains(
                        "<title>M 5.2, elsewhere – Quakes</title>"))
                let plain = try await site.get("/")
                for path in [
                    "/?event=nothing", "/?event=", "/?event=%ff",
                    "/?event=\(String(repeating: "x", count: 65))",
                ] {
                    let page = try await site.get(path)
                    #expect(page.status == 200 && page.body == plain.body, "\(path)")
                }
            }
        }
    }

    @Test("The preview of a link has a picture, whose URL is absolute if the server knows its base URL")
    func picture() async throws {
        var settings = ServerSettings.patient
        try await TestServer.shared.withDatabase { [settings] database in
            try await TestSite.run(of: database, settings) { site in
                #expect(
                    try await site.get("/").text.contains(
                        #"<meta property="og:image" content="/page/card.png">"#))
                let picture = try await site.get("/page/card.png")
                #expect(picture.status == 200 && picture.body.count <= 60_000)
                // PNG's header: width and height (https://www.w3.org/TR/png-3/#11IHDR).
                #expect(Array(picture.body[16..<24]) == [0, 0, 3, 32, 0, 0, 1, 164], "800 × 420")
            }
        }
        settings.baseURL = "https://example.org/quakes"
        try await TestServer.shared.withDatabase { [settings] database in
            try await TestSite.run(of: database, settings) { site in
                for path in ["/", "/quakes/embed"] {
                    let page = try await site.get(path).text
                    #expect(page.contains(#"og:image" content="https://example.org/quakes/page/card.png">"#))
                    #expect(page.contains(#/<link rel="icon" href="\/quakes\/page\/[0-9a-f]{16}\/icon.svg"/#))
                }
            }
        }
    }

    @Test("The periods for which the catalogue is complete are served at /coverage")
    func coverage() async throws {
        try await TestServer.shared.withDatabase { database in
            _ = try await database.query(
                """
                select import.note_coverage('a', 2.5, '[2020-01-01+00,2020-02-01+00)', 0, 170, 10, -170),
                       import.note_coverage('b', null, '[2020-01-20+00,2020-02-10+00)')
                """)
            try await TestSite.run(of: database) { site in
                let answer = try await site.get("/coverage")
                #expect(answer.headers["content-type"] == "application/json; charset=utf-8")
                #expect(
                    answer.text == """
                        {"held":[{"service":"a","from":"2020-01-01T00:00:00.000Z","until":"2020-02-01T00:00:00.000Z",\
                        "minimum_magnitude":2.5,"box":[0.0,170.0,10.0,-170.0]},
                        {"service":"b","from":"2020-01-20T00:00:00.000Z","until":"2020-02-10T00:00:00.000Z",\
                        "minimum_magnitude":null,"box":null}]}

                        """)
            }
        }
    }

    @Test("The agencies are served with their networks and with the terms of their data")
    func agencies() async throws {
        struct Told: Decodable {
            let name: String
            let title: String
            let licence: String?
            let terms: String?
            let networks: [String]
        }
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let answer = try await site.get("/page/agencies.json")
                #expect(answer.headers["content-type"] == "application/json; charset=utf-8")
                let told = try JSONDecoder().decode([Told].self, from: Data(answer.body))
                #expect(told.map(\.name) == Agency.known.map(\.name))
                #expect(told.map(\.title) == Agency.known.map(\.title))
                #expect(told.map(\.licence) == Agency.known.map(\.licence))
                #expect(told.map(\.terms) == Agency.known.map(\.terms))
                #expect(told.map(\.networks) == Agency.known.map(\.networks))
                #expect(told.first?.networks.contains("us") == true)
            }
        }
    }

    @Test("Other sites can show the page in a frame only at /embed")
    func frames() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let (alone, framed) = (try await site.get("/"), try await site.get("/embed"))
                #expect(alone.headers["content-security-policy"]?.contains("frame-ancestors 'none'") == true)
                #expect(framed.headers["content-security-policy"]?.contains("frame-ancestors *") == true)
                #expect(framed.text.contains("<html lang=\"en\" class=\"embed\">"))
                #expect(!alone.text.contains("class=\"embed\""))
            }
        }
    }

    @Test("The page preloads each module that it starts with, and its markup contains no script or style")
    func markup() async throws {
        let begun = try modules(importedFrom: "main.js")
        #expect(begun.count > 25)
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let index = try await site.get("/").text
                let version = try #require(index.firstMatch(of: #/"\/page\/([0-9a-f]{16})\/start.js"/#)?.1)
                let named = index.matches(
                    of: #/<link rel="modulepreload" href="\/page\/([0-9a-f]{16})\/(.*?)">/#)
                #expect(Set(named.map(\.1)) == [version])
                #expect(Set(named.map { String($0.2) }) == begun)
                #expect(
                    index.firstMatch(of: /(?i)<script(?![^>]*src=)|<style|\son[a-z]+=|\sstyle=|https?:/)
                        == nil)
            }
        }
    }

    /// The module `name`, and all modules that are loaded before it runs.
    private func modules(importedFrom name: String) throws -> Set<String> {
        var (found, waiting): (Set<String>, [String]) = ([], [name])
        while let name = waiting.popLast() {
            guard found.insert(name).inserted else { continue }
            let text = try String(
                contentsOf: projectFile("Sources/QuakeServer/Page/Files/\(name)"), encoding: .utf8)
            waiting += text.matches(of: #/(?m)^(?:import|export) .* from "\.\/(.*?)";/#).map { String($0.1) }
        }
        return found
    }

    @Test(
        "The page colours a mechanism's beachball as ObsPy does", .needsClients,
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/node"), "needs Node.js"))
    func beachballs() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "beachballs.json").path
            let drawn = try await Subprocess.run(
                .name("node"), arguments: [projectFile("Tests/Page/beachballs.mjs").path, "150", file],
                output: .discarded, error: .string(limit: 1 << 16))
            #expect(drawn.terminationStatus.isSuccess, "\(drawn.standardError)")
            try await Clients.run("beachballs.py", [file])
        }
    }
}
