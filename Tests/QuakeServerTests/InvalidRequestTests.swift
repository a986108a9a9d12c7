import QuakeServer
import TestSupport
import Testing

@Suite("Invalid requests")
struct InvalidRequestTests {
    @Test("Unknown paths, long queries and other methods are refused, and OPTIONS is answered")
    func refusals() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                #expect(try await site.get("/nothing").status == 404)
                #expect(try await site.get(dayPath + "?" + String(repeating: "x", count: 2000)).status == 414)
                let post = try await site.get(dayPath, method: "POST", ["Content-Length": "0"])
                #expect(post.status == 405)
                #expect(post.headers["allow"] == "GET, HEAD, OPTIONS")
                let options = try await site.get(dayPath, method: "OPTIONS", ["Origin": "http://example.org"])
                #expect(options.status == 204)
                #expect(options.headers["access-control-allow-origin"] == "*")
            }
        }
    }

    private static let absurdities = [
        "\r\n\r\n", "GET\r\n\r\n", "\u{0}\u{1}\u{2}", "GET  HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://x:99999999 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET //////?%%%%=&&&#? HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /\u{e9}\u{ff} HTTP/1.1\r\nAccept-Encoding: ;;,,q=,gzip;q=nan\r\nIf-None-Match: ,\"\r\nHost: é\r\n\r\n",
    ]

    @Test("No malformed request stops the server")
    func absurd() async throws {
        try await TestServer.shared.withDatabase { database in
            var settings = ServerSettings.patient
            settings.idleTime = .milliseconds(200)
            try await TestSite.run(of: database, settings) { site in
                try await forEachCase(of: Self.absurdities) { request in
                    _ = await site.send(Array(request.utf8))
                    // The short `idleTime` may also cut off this valid request, so it is repeated.
                    let lives = try await eventually {
                        do { return try await site.get("/nothing").status == 404 } catch { return false }
                    }
                    #expect(lives, "\(request)")
                }
            }
        }
    }

    @Test("A very long head is refused, and a very long body does not stop the server")
    func floods() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let fields = String(repeating: "X: \(String(repeating: "y", count: 1000))\r\n", count: 10_000)
                let head = await site.send(Array("GET / HTTP/1.1\r\nHost: x\r\n\(fields)".utf8))
                #expect(head.isEmpty || String(decoding: head, as: UTF8.self).hasPrefix("HTTP/1.1 431"))
                let body = String(repeating: "y", count: 10_000_000)
                _ = await site.send(
                    Array("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n\(body)".utf8))
                let next = try await site.get("/nothing")
                #expect(next.status == 404)
            }
        }
    }

    @Test("A client that sends nothing, or half a request, is disconnected")
    func silence() async throws {
        try await TestServer.shared.withDatabase { database in
            var settings = ServerSettings.patient
            settings.idleTime = .milliseconds(200)
            try await TestSite.run(of: database, settings) { site in
                #expect(await site.send([]).isEmpty)
                #expect(await site.send(Array("GET / HTTP/1.1\r\nHost:".utf8)).isEmpty)
            }
        }
    }

    @Test("Pipelined requests are answered in order")
    func pipelining() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(500).document)
            try await TestSite.run(of: database) { site in
                let paths = [dayPath, "/nothing", "/earthquakes/feed/v1.0/detail/usc1.geojson", "/health"]
                var requests = paths.map { "GET \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
                requests += "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                try await waitUntil { try await site.get("/health").status == 200 }
                let bytes = await site.send(Array(requests.utf8))
                var rest = bytes[...]
                let answers = try (0..<5).map { _ in try TestAnswer(from: &rest) }
                #expect(answers.map(\.status) == [200, 404, 200, 200, 404])
                #expect(
                    answers[0].text.contains("FeatureCollection")
                        && answers[2].text.contains("\"id\":\"usc1\""))
            }
        }
    }
}
