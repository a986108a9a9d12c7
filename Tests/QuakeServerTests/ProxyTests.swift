import Subprocess
import TestSupport
import Testing

@testable import QuakeServer

/// Tests each proxy with its configuration in `deploy/proxies`.
@Suite(
    "Behind a proxy",
    .enabled(if: ReverseProxy.programs != nil, "without Debian's packages, there are no proxies"))
struct ProxyTests {
    typealias Program = ReverseProxy.Program

    @Test("Answers, tags and compression pass through unchanged", arguments: Program.allCases)
    func answers(_ program: Program) async throws {
        try await withProxy(program) { _, site, proxied in
            let path = "/fdsnws/event/1/query?format=csv&orderby=time-asc"
            let answer = try await proxied.get(path)
            #expect(answer.status == 200)
            #expect(try await answer.text == site.get(path).text)
            let tag = try #require(answer.headers["etag"])
            #expect(try await proxied.get(path, ["If-None-Match": tag]).status == 304)
            let packed = try await proxied.get(path, ["Accept-Encoding": "gzip"])
            #expect(packed.headers["content-encoding"] == "gzip")
            #expect(try await proxied.get(path).text == answer.text)
            #expect(try await proxied.get("/fdsnws/event/1/query?limit=none").status == 400)
        }
    }

    @Test(
        "Each of many streams gets a change immediately, without waiting for another stream to end",
        arguments: Program.allCases)
    func streams(_ program: Program) async throws {
        try await withProxy(program) { database, site, proxied in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await StreamClient.with(proxied, "after=now") { client in
                            #expect(client.status == 200)
                            let first = await client.pass()
                            #expect(first.last?.isPosition == true)
                            #expect(await client.pass().map(\.isChange) == [true, false])
                        }
                    }
                }
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_live_clients 20\n")
                }
                try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                try await group.waitForAll()
            }
        }
    }

    @Test(
        "A cache makes one request for all clients that wait at the same position",
        arguments: [Program.nginx, .varnish])
    func polls(_ program: Program) async throws {
        try await withProxy(program) { database, site, proxied in
            let position = try #require(
                try await site.get("/changes?after=now&wait=0").events.last?.position?.word)
            let path = "/changes?after=\(position)&wait=60s"
            let before = try await asked(site)
            let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                for _ in 0..<50 { group.addTask { try await proxied.get(path) } }
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_http_requests_under_way 2\n")
                }
                try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                return try await group.reduce(into: []) { $0.append($1) }
            }
            if program == .varnish {
                for path in ["/metrics", "/metrics?x=1"] {
                    #expect(try await proxied.get(path).status == 404)
                }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(Set(answers.map(\.text)).count == 1)
            #expect(answers.first?.events.map(\.isChange) == [true, false])
            #expect(try await asked(site) - before == 1)
        }
    }

    @Test("The limit on streams applies to the address that the proxy names", arguments: Program.allCases)
    func addresses(_ program: Program) async throws {
        try await withProxy(program, perAddress: 1) { _, _, proxied in
            // The proxy connects from 127.0.0.1, whose streams are not limited.
            let first = LoopbackSocket(from: "127.0.0.2")
            let second = LoopbackSocket(from: "127.0.0.2")
            let other = LoopbackSocket(from: "127.0.0.3")
            defer { for client in [first, second, other] { client.close() } }
            let heads = [
                await proxied.begin("/changes?after=now", on: first),
                await proxied.begin("/changes?after=now", on: second),
                await proxied.begin("/changes?after=now", on: other),
            ]
            #expect(heads.map { $0.split(separator: " ").dropFirst().first } == ["200", "429", "200"])
        }
    }

    @Test(
        "Over TLS and HTTP/2, a stream gets a change immediately, and the metrics are not served",
        arguments: [Program.nginx, .haproxy])
    func encrypted(_ program: Program) async throws {
        try await withProxy(program) { proxy, database, site, _ in
            let service = "https://127.0.0.1:\(proxy.tlsPort)"
            let version = try await curl(
                "-w", "%{http_version} %{http_code}", "\(service)/fdsnws/event/1/version")
            #expect(version.hasSuffix("2 200"))
            for path in ["/metrics", "/metrics?x=1"] {
                #expect(try await curl("-o", "/dev/null", "-w", "%{http_code}", service + path) == "404")
            }
            // The command ends with the first change. If the proxy buffered the stream, the command would never end.
            let stream = Task {
                try await Subprocess.run(
                    .name("sh"),
                    arguments: [
                        "-c",
                        """
                        pipe=$(mktemp -u) && mkfifo "$pipe"
                        curl -ksN --http2 "\(service)/changes?after=now" > "$pipe" &
                        grep -m1 '"key"' < "$pipe"
                        kill $!
                        rm "$pipe"
                        """,
                    ],
                    output: .string(limit: 1 << 20), error: .discarded
                ).standardOutput
            }
            try await waitUntil {
                try await site.get("/metrics").text.contains("quakes_live_clients 1\n")
            }
            try await database.query("update quake set magnitude = 9 where code = 'usc1'")
            #expect(try await stream.value.contains("usc1"))
        }
    }

    @Test("An address that sends too many requests gets 429", arguments: [Program.nginx, .haproxy])
    func flood(_ program: Program) async throws {
        try await withProxy(program) { proxy, _, _, _ in
            let flood = "https://127.0.0.1:\(proxy.tlsPort)/health?[1-2000]"
            let statuses = try await curl(
                "--no-progress-meter", "-o", "/dev/null", "-w", "%{http_code}\n", "--parallel", flood)
            #expect(Set(statuses.split(separator: "\n")) == ["200", "429"])
        }
    }

    @Test(
        "Requests for the page's files have no limit, so many visitors can share an address",
        arguments: [Program.nginx, .haproxy])
    func page(_ program: Program) async throws {
        try await withProxy(program) { proxy, _, _, _ in
            for path in ["/page/main.js", "/quakes/page/main.js", "/quakes/page/0123456789abcdef/main.js"] {
                let files = "https://127.0.0.1:\(proxy.tlsPort)\(path)?[1-1000]"
                let statuses = try await curl(
                    "--no-progress-meter", "-o", "/dev/null", "-w", "%{http_code}\n", "--parallel", files)
                #expect(Set(statuses.split(separator: "\n")) == ["200"])
            }
        }
    }

    @Test(
        "A proxy refuses the metrics, also below a base path and in other spellings of their path",
        arguments: Program.allCases)
    func metrics(_ program: Program) async throws {
        try await withProxy(program) { _, site, proxied in
            let open = try await site.get("/quakes/metrics").status
            #expect(open == 200)
            for path in [
                "/metrics", "/metrics?x=1", "/quakes/metrics", "/quakes/metrics?", "/quakes//metrics",
                "/quakes/%6detrics", "/quakes/x/../metrics",
            ] {
                let status = try await proxied.get(path).status
                #expect(status == 404, "\(path)")
            }
            let health = try await proxied.get("/quakes/health").status
            #expect(health == 200)
        }
    }

    private func curl(_ arguments: String...) async throws -> String {
        try await Subprocess.run(
            .name("curl"), arguments: .init(["-ks", "--http2"] + arguments), output: .string(limit: 1 << 20),
            error: .discarded
        ).standardOutput
    }

    /// How many requests for changes the server has answered.
    private func asked(_ site: TestSite) async throws -> Int {
        let name = "quakes_http_requests_total{route=\"changes\",status=\"200\"} "
        let line = try await site.get("/metrics").text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
    }

    /// Serves three earthquakes, directly and through the proxy.
    private func withProxy(
        _ program: Program, perAddress: Int = 100,
        _ body: @escaping @Sendable (TestDatabase, _ site: TestSite, _ proxied: TestSite) async throws -> Void
    ) async throws {
        try await withProxy(program, perAddress: perAddress) { try await body($1, $2, $3) }
    }

    private func withProxy(
        _ program: Program, perAddress: Int = 100,
        _ body:
            @escaping @Sendable (
                ReverseProxy, TestDatabase, _ site: TestSite, _ proxied: TestSite
            ) async throws -> Void
    ) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            settings.trustedProxies = TrustedProxies([try #require(TrustedProxies.Network("127.0.0.1"))])
            settings.perAddress = perAddress
            settings.baseURL = "https://example.org/quakes"
            try await TestSite.run(of: database, settings) { site in
                let proxy = try await ReverseProxy(program, before: site.port)
                let proxied = TestSite(database: database, port: proxy.port)
                try await waitUntil { (try? await proxied.get("/health").status) == 200 }
                try await body(proxy, database, site, proxied)
                withExtendedLifetime(proxy) {}
            }
        }
    }
}
