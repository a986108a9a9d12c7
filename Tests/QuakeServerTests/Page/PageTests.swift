import Foundation
import QuakeServer
import Subprocess
import TestSupport
import Testing

@Suite("The live page")
struct PageTests {
    private static let files: [String] = {
        let folder = projectFile("Sources/QuakeServer/Page/Files")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? []
    }()

    @Test(
        "Does in a real browser what it promises",
        .enabled(if: Chromium.axe != nil, "Chromium or axe-core is not here, and cannot be installed"))
    func browser() async throws {
        let axe = try #require(Chromium.axe)
        try await TestServer.shared.withDatabase { database in
            let script = projectFile("Tests/page.py").path
            let result = try await Subprocess.run(
                .name("python3"), arguments: .init([script, try QuakesCommand.path, axe]),
                environment: .inherit.updating(["DATABASE_URL": database.url]),
                output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
            let words = result.standardOutput
            #expect(result.terminationStatus.isSuccess, "\(words)\(result.standardError.suffix(2000))")
            if let weight = words.split(separator: "\n").first(where: { $0.hasPrefix("the first load") }) {
                say("The live page: \(weight)")
            }
        }
    }

    @Test("Consists of files that are compressed, known again, and allowed to take nothing from elsewhere")
    func files() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                for name in Self.files + ["land.txt"] {
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

    @Test("Asks for each of its modules at once, and holds no script or style in its markup")
    func markup() throws {
        let index = try String(
            contentsOf: projectFile("Sources/QuakeServer/Page/Files/index.html"),
            encoding: .utf8)
        for name in Self.files where name.hasSuffix(".js") && name != "main.js" {
            #expect(index.contains("<link rel=\"modulepreload\" href=\"/page/\(name)\">"), "\(name)")
        }
        #expect(index.firstMatch(of: /(?i)<script(?![^>]*src=)|<style|\son[a-z]+=|\sstyle=|https?:/) == nil)
    }
}
