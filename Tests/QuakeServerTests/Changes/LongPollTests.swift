import Foundation
import QuakeServer
import QuakeStore
import Subprocess
import TestSupport
import Testing

@Suite("Long polling for changes")
struct LongPollTests {
    private let server = TestServer.shared

    /// clients    ask after p, and wait                        all get the same
    /// writer                               commits
    @Test("All clients that wait at the same position get the same bytes, which a cache may share")
    func same() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let first = try await site.get("/changes?after=now&wait=20s")
                #expect(first.status == 200)
                let position = try #require(first.events.last?.position?.word)
                let path = "/changes?after=\(position)&wait=60s"
                let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                    for number in 0..<20 {
                        let headers = number % 2 == 0 ? ["Accept": "text/event-stream"] : [:]
                        group.addTask { try await site.get(path, headers) }
                    }
                    try await waitUntil {
                        try await site.get("/metrics").text.contains("quakes_http_requests_under_way 21\n")
                    }
                    try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(Set(answers.map(\.text)).count == 1)
                let answer = try #require(answers.first)
                #expect(answer.headers["cache-control"] == "public, max-age=60")
                #expect(answer.headers["content-type"] == "application/x-ndjson; charset=utf-8")
                #expect(answer.headers["vary"] == nil)
                let events = answer.events
                #expect(events.count == 2 && events[0].isChange && events[1].isPosition)
                #expect(Position(word: answer.headers["quakes-position"] ?? "")?.json == events[1].data)
                #expect(answer.token == 2)
                // A later client gets the same answer, as long as nothing else has changed.
                #expect(try await site.get(path).text == answer.text)
                // An answer with several passes has one position.
                try await database.query("update quake set magnitude = 8 where code = 'usc1'")
                try await site.reachNewestChange()
                let both = try await site.get(path).events
                #expect(both.map(\.isPosition) == [false, false, true])
            }
        }
    }

    @Test(
        "If nothing changes while a client waits, the answer is the client's position, cacheable for a second"
    )
    func silence() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let first = try await site.get("/changes?after=now&wait=0")
                let position = try #require(first.events.last?.position?.word)
                for path in ["after=\(position)", "after=1"] {
                    for filter in ["", "&minmagnitude=3"] {
                        let answer = try await site.get("/changes?\(path)&wait=0s\(filter)")
                        #expect(answer.text == first.text)
                        #expect(answer.headers["cache-control"] == "public, max-age=1")
                    }
                }
                let head = try await site.get("/changes?wait=20s", method: "HEAD")
                #expect(head.status == 200)
            }
        }
    }

    /// The oracle is a query with the same parameters, as of the position's token.
    @Test("After each poll, a client has the result of the query, even while rows are being written")
    func oracle() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(3, to: database)
            try await TestSite.run(of: database) { [writer] site in
                let writing = Task {
                    var writer = writer
                    while !Task.isCancelled { try await writer.write(1, to: database) }
                }
                defer { writing.cancel() }
                for filter in ["", "minmagnitude=2.5", "eventtype=earthquake&maxdepth=300"] {
                    var replica = StreamReplica()
                    var path = "/changes?wait=60s&\(filter)"
                    for _ in rounds(10, of: 25) {
                        let answer = try await site.get(path)
                        try #require(answer.status == 200, "\(answer.text)")
                        for event in answer.events {
                            try replica.apply(event)
                            guard let position = event.position else { continue }
                            path = "/changes?after=\(position.word)&wait=60s&\(filter)"
                            let asked = "/fdsnws/event/1/query?format=csv&asof=\(replica.token)&\(filter)"
                            let lines = try await site.get(asked).text.split(separator: "\n").dropFirst()
                            let codes = lines.map {
                                String($0.split(separator: ",", omittingEmptySubsequences: false)[11])
                            }
                            #expect(replica.codes == Set(codes), "\(filter) at \(replica.token)")
                        }
                    }
                    #expect(replica.snapshots == ["first start"])
                    #expect(Set(replica.changes).count == replica.changes.count)
                }
                writing.cancel()
                _ = await writing.result
            }
        }
    }

    /// writer                     commits
    /// stream     without filter              has the pass
    /// clients                                                ask after an earlier position, each with another filter
    @Test("A client with a filter gets changes that arrived before any client had a filter")
    func filterAfterwards() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let start = try await site.get("/changes?after=now&wait=0")
                let position = try #require(start.events.last?.position?.word)
                try await StreamClient.with(site, "after=\(position)") { stream in
                    _ = await stream.pass()
                    try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                    #expect(await stream.pass().filter(\.isChange).count == 1)
                    for (minimum, count) in [(1, 1), (8, 1), (10, 0)] {
                        let answer = try await site.get(
                            "/changes?after=\(position)&wait=0&minmagnitude=\(minimum)")
                        #expect(answer.events.filter(\.isChange).count == count, "\(minimum)")
                        #expect(answer.events.last?.position?.token == 2)
                    }
                }
            }
        }
    }

    @Test("Last-Event-ID has no effect on a poll, because a cache finds the answer by its URL alone")
    func lastID() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.query("update quake set magnitude = 9 where code = 'usc1'")
            try await TestSite.run(of: database) { site in
                let newest = try await site.get("/changes?after=now&wait=0").events.last?.position?.word
                let path = "/changes?after=1&wait=0"
                let odd = try await site.get(path, ["Last-Event-ID": try #require(newest)])
                #expect(odd.events.filter(\.isChange).count == 1)
                #expect(try await site.get(path).text == odd.text)
            }
        }
    }

    @Test("A position with an invalid time or without its nonce is refused")
    func noTime() async throws {
        let beginnings = ["1_2026-13-45T99:99:99.000000Z_3f9a01c7", "1_2026-11-25T09:00:00.000000Z"]
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                for path in ["/changes?wait=0&after=", "/fdsnws/event/1/count?asof="] {
                    try await forEachCase(of: beginnings) { beginning in
                        let word = beginning + "_0f0e2d3c-0000-0000-0000-000000000000"
                        let status = try await site.get(path + word).status
                        #expect(status == 400, "\(path)\(word)")
                    }
                }
            }
        }
    }

    @Test("If a position is no longer valid, the answer says why, and is a fresh snapshot")
    func expired() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let word = try #require(try await site.get("/changes?wait=1").events.last?.position?.word)
                let foreign = String(word.dropLast(36)) + "00000000-0000-0000-0000-000000000000"
                let answer = try await site.get("/changes?after=\(foreign)&wait=20s")
                #expect(answer.text.hasPrefix(#"{"snapshot":"the database is not the one"#))
                #expect(answer.events.filter { !$0.isPosition && !$0.isSnapshot }.count == 3)
                #expect(answer.events.last?.position?.word == word)
                #expect(answer.headers["cache-control"] == "public, max-age=1")
            }
        }
    }

    @Test("The reader in docs/scaling.md follows the changes")
    func documented() async throws {
        let text = try String(contentsOf: projectFile("docs/scaling.md"), encoding: .utf8)
        let code = text.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0 != "    import http.client, json, time, urllib.request" }
            .prefix { $0.isEmpty || $0.hasPrefix("    ") }.map { $0.dropFirst(4) }.joined(separator: "\n")
        // The replaced `print` ends the reader after the deletion.
        let ending = """
            import sys
            def print(line, flush):
                sys.stdout.write(json.dumps(line) + "\\n")
                if line.get("operation") == "delete": sys.exit()

            """
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let program = ending + code.replacing("http://127.0.0.1:8080", with: site.url(""))
                let reading = Task {
                    try await Subprocess.run(
                        .name("python3"), arguments: ["-c", program], output: .string(limit: 1 << 20),
                        error: .string(limit: 1 << 20))
                }
                // The reader has the snapshot.
                try await waitUntil {
                    try await site.get("/metrics").text.contains(
                        "quakes_http_requests_total{route=\"changes\",status=\"200\"} 1\n")
                }
                try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                try await database.query("delete from quake where code = 'usc2'")
                let result = try await reading.value
                #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
                let lines = result.standardOutput.split(separator: "\n")
                let events = lines.map { StreamClient.Event(data: String($0)) }
                var replica = StreamReplica()
                try replica.apply(events)
                #expect(try await replica.rows == StreamReplica.table(of: database))
                #expect(events.count == 6, "\(result.standardOutput)")
            }
        }
    }

    /// test      locks a table, commits 2                      commits 3
    /// server                              reads 2, cannot continue
    /// client                                                             asks after 3, waits, disconnects
    @Test("A client that waits at a position beyond the server's own frees its place when it disconnects")
    func goneAhead() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            (settings.streams, settings.pollTime) = (1, .seconds(3600))
            settings.halfClosedTime = .zero
            try await TestSite.run(of: database, settings) { site in
                try await waitUntil { try await site.get("/health").status == 200 }
                try await database.withConnection { connection in
                    try await connection.transaction(to: "lock the tables") {
                        // The server reads this table after each pass.
                        try await connection.execute(
                            "lock table import.settled in access exclusive mode", to: "lock a table")
                        try await database.query("update quake set magnitude = 8 where code = 'usc1'")
                        try await site.reachNewestChange()
                        try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                        let count = try await site.get("/fdsnws/event/1/count")
                        let position = try #require(count.headers["quakes-position"])
                        let client = LoopbackSocket()
                        client.connect(to: site.port)
                        let request = "GET /changes?after=\(position)&wait=3600 HTTP/1.1\r\nHost: x\r\n\r\n"
                        Array(request.utf8).withUnsafeBytes { _ = client.write($0) }
                        try await waitUntil {
                            let text = try await site.get("/metrics").text
                            return text.contains("quakes_http_requests_under_way 2\n")
                                && text.contains("quakes_sessions_used 0\n")
                        }
                        // Without this lock, the server would reach the change by connecting again.
                        try await connection.execute(
                            "lock table history.store in access exclusive mode", to: "lock a table")
                        client.close()
                        try await waitUntil {
                            try await site.get("/changes?after=now&wait=0").status == 200
                        }
                    }
                }
            }
        }
    }

    @Test("When the server shuts down, waiting clients get their answers")
    func ending() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            (settings.endingTime, settings.pollTime) = (.seconds(3600), .seconds(3600))
            let answer = try await TestSite.run(of: database, settings) { site in
                let first = try await site.get("/changes?after=now&wait=0")
                let position = try #require(first.events.last?.position?.word)
                let asking = Task { try await site.get("/changes?after=\(position)&wait=3600") }
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_http_requests_under_way 2\n")
                }
                return asking
            }.value
            #expect(answer.events.count == 1 && answer.token == 1)
        }
    }
}

extension TestAnswer {
    var events: [StreamClient.Event] {
        text.split(separator: "\n").map { StreamClient.Event(data: String($0)) }
    }
}

extension StreamClient.Event {
    /// The position, if the data contain one.
    var position: Position? {
        guard let store = members["store"] as? String, let token = members["token"] as? Int,
            let time = members["committed_at"] as? String, let nonce = members["nonce"] as? String
        else { return nil }
        return Position(store: store, token: token, committedAt: time, nonce: nonce)
    }
}
