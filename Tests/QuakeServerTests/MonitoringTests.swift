import Foundation
import QuakeServer
import QuakeStore
import Subprocess
import TestSupport
import Testing

@Suite("Health and metrics")
struct MonitoringTests {
    @Test("Health is 200 with the catalogue's token once the database has answered")
    func health() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get("/health").status == 200 }
                let token = try await site.get(dayPath).token
                let answer = try await site.get("/health")
                let members = try #require(
                    try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
                #expect(members["status"] as? String == "ok")
                #expect(members["token"] as? Int == token)
                let begin = try await database.query(
                    "select pruned_committed_at <= now() as is_past from history.store")[0]
                #expect(try begin.decode("is_past", as: Bool.self))
                #expect((members["history_begins_at"] as? String)?.hasSuffix("Z") == true)
                let services = members["services"] as? [[String: String]]
                #expect(
                    services == [
                        ["service": "earthquake.usgs.gov", "generated": "2023-11-14T22:13:20.000Z"]
                    ])
            }
        }
    }

    @Test("Health reports the interval between a source's documents, for example an hour")
    func interval() async throws {
        try await TestServer.shared.withDatabase { database in
            var feed = DayFeed.of(5)
            for _ in 0..<3 {
                try await database.importDocument(feed.document)
                feed.generated += 3_600_000
            }
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get("/health").text.contains("\"interval\":3600}") }
            }
        }
    }

    @Test("Health reports the interval of the newest document's feed, and services that are only swept")
    func intervals() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.query(
                """
                insert into import.settled (service, feed, generated)
                values ('earthquake.usgs.gov', 'all_day', '2023-11-14 20:00Z'), ('earthquake.usgs.gov', 'all_hour', '2023-11-14 20:00:05Z'),
                       ('earthquake.usgs.gov', 'all_day', '2023-11-14 21:00Z'), ('example.org', 'sweep', '2023-11-14 20:30Z')
                """)
            try await TestSite.run(of: database) { site in
                try await waitUntil {
                    try await site.get("/health").text.contains(
                        """
                        [{"service":"earthquake.usgs.gov","generated":"2023-11-14T21:00:00.000Z","interval":3600},\
                        {"service":"example.org","generated":"2023-11-14T20:30:00.000Z"}]
                        """)
                }
            }
        }
    }

    @Test("Without the database, answers are 503, and the metrics are still served")
    func away() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        #expect(try await QuakesCommand().run("migrate", "--database", server.url).status == 0)
        try await TestSite.run(of: database) { site in
            try await waitUntil { try await site.get(dayPath).status == 200 }
            let there = try await site.get("/metrics").text
            #expect(there.contains("quakes_database_answered 1\n") && there.contains("quakes_rejects 0\n"))
            try await server.cluster.stop()
            try await waitUntil { try await site.get(dayPath).status == 503 }
            let metrics = try await site.get("/metrics")
            #expect(metrics.status == 200)
            #expect(metrics.text.contains("quakes_sessions_open 0\n"))
            #expect(
                metrics.text.contains("quakes_database_answered 0\n")
                    && !metrics.text.contains("quakes_rejects "))
            #expect(metrics.text.contains("# TYPE quakes_http_requests_total counter\n"))
        }
    }

    @Test(
        "promtool finds no fault with the metrics and the alert rules",
        .needsPromtool)
    func promtool() async throws {
        let rules = projectFile("deploy/prometheus/alerts.yaml")
        try await check(["check", "rules", "--lint-fatal", rules.path], "")
        try await withManyMetrics { site in
            let answer = try await site.get("/metrics")
            #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            try await check(["check", "metrics"], answer.text)
        }
    }

    @Test("The dashboard and the alerts use only existing metrics, and the dashboard draws every metric")
    func dashboard() async throws {
        let file = try Data(contentsOf: projectFile("deploy/grafana/service.json"))
        let dashboard = try #require(JSONSerialization.jsonObject(with: file) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        #expect(panels.count > 10)
        var ids: Set<Int> = []
        var asked: [String] = []
        for panel in panels {
            let title = try #require(panel["title"] as? String)
            #expect(ids.insert(try #require(panel["id"] as? Int)).inserted, "\(title)")
            #expect((panel["datasource"] as? [String: String])?["uid"] == "quakes-service", "\(title)")
            let place = try #require(panel["gridPos"] as? [String: Int])
            #expect(try #require(place["x"]) + #require(place["w"]) <= 24, "\(title)")
            let targets = try #require(panel["targets"] as? [[String: Any]])
            asked += targets.compactMap { $0["expr"] as? String }
        }
        let names = /\b(?:quakes|process)_\w+/
        let alerts = try String(contentsOf: projectFile("deploy/prometheus/alerts.yaml"), encoding: .utf8)
        let drawn = Set(asked.flatMap { $0.matches(of: names).map { String($0.output) } })
        let rules = Set(
            alerts.matches(of: /(?m)^ +expr: (.*)$/).flatMap {
                $0.output.1.matches(of: names).map { String($0.output) }
            })
        try await withManyMetrics { site in
            // Some metrics exist only after the server has read the database's state.
            try await waitUntil { try await site.get("/health").status == 200 }
            let text = try await site.get("/metrics").text
            let families = Set(text.matches(of: /# TYPE (\w+)/).map { String($0.output.1) })
            // This metric exists only with an access log.
            let samples = families.union(families.map { "\($0)_bucket" })
                .union(["quakes_access_log_dropped_lines_total"])
            #expect(drawn.union(rules).subtracting(samples).isEmpty)
            let bare = Set(drawn.map { $0.hasSuffix("_bucket") ? String($0.dropLast(7)) : $0 })
            #expect(families.subtracting(bare).isEmpty)
        }
    }

    @Test("Prometheus can parse the queries of the dashboard", .needsPromtool)
    func dashboardQueries() async throws {
        let file = try Data(contentsOf: projectFile("deploy/grafana/service.json"))
        let dashboard = try #require(JSONSerialization.jsonObject(with: file) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let queries = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }.compactMap {
            $0["expr"] as? String
        }
        let rules = queries.enumerated().map { number, query in
            ["record": "query:\(number)", "expr": query.replacing("$__rate_interval", with: "1m")]
        }
        let groups = ["groups": [["name": "dashboard", "rules": rules] as [String: Any]]]
        let text = String(
            decoding: try JSONSerialization.data(
                withJSONObject: groups, options: .withoutEscapingSlashes), as: UTF8.self)
        try await SmallFeed.withFile(text) { path in try await check(["check", "rules", path], "") }
    }

    @Test("Prometheus's own parser reads the metrics", .needsClients)
    func parser() async throws {
        try await withManyMetrics { site in
            let answer = try await site.get("/metrics")
            let families = try await SmallFeed.withFile(answer.text) { path in
                try await Clients.run("metrics.py", [path])
            }
            #expect(families == "\(answer.text.split(separator: "# TYPE ").count - 1)\n")
        }
    }

    private static let hostileName = "dashboard \"1\"\u{301}\\\u{301}\r\nquakes_forged 1"

    @Test("A hostile name of a reader does not break the lines of its metrics")
    func hostileName() async throws {
        try await withSourceAndReader(Self.hostileName) { site in
            let lines = try await site.get("/metrics").text.utf8.split(separator: UInt8(ascii: "\n"))
            #expect(
                lines.allSatisfy { line in
                    ["quakes_", "process_", "# "].contains { line.starts(with: $0.utf8) }
                })
            let name = "dashboard \\\"1\\\"\u{301}\\\\\u{301}\r\\nquakes_forged 1"
            let line = Array("quakes_reader_tokens_behind{reader=\"\(name)\"} ".utf8)
            #expect(lines.contains { $0.starts(with: line) })
        }
    }

    @Test(
        "Metrics with a separate address are served only there; that address also serves the health, and nothing else"
    )
    func apart() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database, metricsApart: true) { site in
                try await waitUntil { try await site.get("/health").status == 200 }
                #expect(try await site.get("/metrics").status == 404)
                let monitoring = TestSite(database: database, port: try #require(site.metricsPort))
                let metrics = try await monitoring.get("/metrics")
                #expect(metrics.status == 200 && metrics.text.contains("quakes_sessions_open"))
                #expect(try await monitoring.get("/health").status == 200)
                for path in ["/", dayPath, "/changes", "/fdsnws/event/1/version"] {
                    #expect(try await monitoring.get(path).status == 404, "\(path)")
                }
            }
        }
    }

    @Test("Metrics report the process's open connections, open files, memory and processor time")
    func process() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                func metric(_ name: String) async throws -> Double {
                    let text = try await site.get("/metrics").text
                    let line = text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
                    return try Double(line?.split(separator: " ")[1] ?? "").unwrapped
                }
                try await waitUntil { try await metric("quakes_http_connections_open") == 1 }
                let clients = (0..<20).map { _ in LoopbackSocket() }
                for client in clients { client.connect(to: site.port) }
                try await waitUntil { try await metric("quakes_http_connections_open") == 21 }
                // Each client uses one file descriptor in the server and one in the test, which are in the same process. Other
                // tests in this process also open and close files at any time.
                let files = try await metric("process_open_fds")
                #expect(files >= 40)
                for client in clients { client.close() }
                try await waitUntil { try await metric("quakes_http_connections_open") == 1 }
                #expect(try await metric("process_max_fds") >= files)
                #expect(try await metric("process_resident_memory_bytes") > 1e6)
                #expect(try await metric("process_cpu_seconds_total") > 0)
            }
        }
    }

    @Test(
        "The bytes of all bodies are counted: of the page, of polls, of streams, and of the database's answers"
    )
    func bytes() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                /// The number of bytes before this request for the metrics, and after the request's own answer.
                func counted() async throws -> (before: Int, after: Int) {
                    let answer = try await site.get("/metrics")
                    let line = answer.text.split(separator: "\n")
                        .first { $0.hasPrefix("quakes_http_body_bytes_total ") }
                    let bytes = try Int(line?.split(separator: " ")[1] ?? "").unwrapped
                    return (bytes, bytes + answer.body.count)
                }
                try await site.reachNewestChange()
                let paths = [
                    "/", "/page/main.js", "/nothing", dayPath, "/fdsnws/event/1/count", "/changes?wait=0",
                    "/changes?after=now&wait=0",
                ]
                for path in paths {
                    let start = try await counted().after
                    let size = try await site.get(path).body.count
                    #expect(size > 0, "\(path)")
                    #expect(try await counted().before == start + size, "\(path)")
                }
                try await StreamClient.with(site, "after=now") { stream in
                    _ = await stream.pass()
                    let start = try await counted().after
                    try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                    let size = await stream.pass().reduce(0) { $0 + $1.data.utf8.count }
                    #expect(size > 0)
                    #expect(try await counted().before >= start + size)
                }
            }
        }
    }

    /// Runs promtool, which prints only the faults that it finds.
    private func check(_ arguments: [String], _ input: String) async throws {
        let result = try await Subprocess.run(
            .path(.init(try #require(Clients.promtool))), arguments: .init(arguments), input: .string(input),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        #expect(
            result.terminationStatus.isSuccess && result.standardError.isEmpty,
            "\(result.standardOutput)\(result.standardError)")
    }

    /// Serves a catalogue with a source and a reader while `body` runs.
    private func withSourceAndReader(
        _ reader: String = "dashboard \"1\"", _ body: @escaping @Sendable (TestSite) async throws -> Void
    ) async throws {
        try await TestServer.shared.withDatabase { database in
            let document = Array(DayFeed.of(5).document.utf8)
            try await TestFeedServer.run(script: [.whole(.ok, document)]) { http in
                try await database.withConnection { connection in
                    let importer = try await Importer(connection, options: Importer.Options(), logger: .quiet)
                    _ = try await importer.run(.url(http.url("/feed")))
                }
            }
            try await database.query("select history.report(\(reader), 0)")
            try await TestSite.run(of: database) { site in
                try await body(site)
            }
        }
    }

    /// Serves a catalogue with a source and a reader, sends requests of several kinds, and then calls `body`.
    private func withManyMetrics(_ body: @escaping @Sendable (TestSite) async throws -> Void) async throws {
        try await withSourceAndReader(Self.hostileName) { site in
            for path in [dayPath, dayPath, "/nothing", "/fdsnws/event/1/count", "/health"] {
                _ = try await site.get(path)
            }
            try await body(site)
        }
    }

    @Test(
        "Metrics count requests by route and status, and report the age of the sources and the lag of the readers"
    )
    func metrics() async throws {
        try await withSourceAndReader { site in
            for _ in 0..<3 { _ = try await site.get(dayPath) }
            // This answer has no body, so its events do not count.
            _ = try await site.get(dayPath, method: "HEAD")
            _ = try await site.get("/nothing")
            try await waitUntil {
                let text = try await site.get("/metrics").text
                return text.contains("quakes_http_requests_total{route=\"summary\",status=\"200\"} 4\n")
            }
            let answer = try await site.get("/metrics")
            let lines = answer.text.split(separator: "\n").map(String.init)
            #expect(lines.contains("quakes_http_requests_total{route=\"unknown\",status=\"404\"} 1"))
            #expect(
                lines.contains(
                    "quakes_http_request_duration_seconds_bucket{route=\"summary\",le=\"+Inf\"} 4"))
            #expect(lines.contains("quakes_http_rows_total 15"))
            #expect(
                lines.contains { $0.hasPrefix("quakes_source_age_seconds{source=") })
            #expect(lines.contains("quakes_reader_tokens_behind{reader=\"dashboard \\\"1\\\"\"} 1"))
            // Each family is declared once, and each sample belongs to the family above it.
            let families = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
            #expect(Set(families).count == families.count)
        }
    }

    @Test("The age of a daemon's source that was never imported counts from its first run")
    func neverImported() async throws {
        try await TestServer.shared.withDatabase { database in
            for minutes in [20, 5] {
                try await database.execute(
                    """
                    insert into import.run (source, every, outcome, started, finished)
                    values ('http://example.org/a', '1m', 'failed', now() - interval '\(minutes) min', now())
                    """)
            }
            try await TestSite.run(of: database) { site in
                let text = try await site.get("/metrics").text
                let line = try #require(
                    text.split(separator: "\n").first { $0.hasPrefix("quakes_source_age_seconds{") })
                #expect(try #require(line.split(separator: " ").last.flatMap { Double($0) }) >= 1200)
            }
        }
    }
}
