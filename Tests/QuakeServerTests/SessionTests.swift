import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Database sessions")
struct SessionTests {
    private var oneSession: ServerSettings {
        var settings = ServerSettings.patient
        settings.sessions = 1
        return settings
    }

    /// slow client    asks for a long answer, reads only its head
    /// other client                                                 asks, and gets its answer
    /// slow client                                                  reads the rest
    @Test("A client that does not read holds no session, and still gets its whole answer")
    func slowClient() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importLongEvents(2600)
            try await TestSite.run(of: database, oneSession) { site in
                let slow = LoopbackSocket()
                defer { slow.close() }
                let head = await onThread {
                    slow.connect(to: site.port)
                    let request = "GET \(dayPath) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                    Array(request.utf8).withUnsafeBytes { _ = slow.write($0) }
                    return slow.readHead()
                }
                #expect(head.hasPrefix("HTTP/1.1 200"))
                #expect(try await site.get("/earthquakes/feed/v1.0/detail/usc1.geojson").status == 200)
                let rest = await onThread { slow.readAll() }
                let answer = try TestAnswer(Array(head.utf8) + rest)
                let again = try await site.get(dayPath)
                #expect(answer.body == again.body)
            }
        }
    }

    @Test("A query is cancelled when its client disconnects", arguments: [dayPath, "/?event=us1"])
    func goneClient(path: String) async throws {
        // Without the cancellation, the query would wait for the lock during the whole test.
        var settings = oneSession
        (settings.shortTime, settings.statementTime) = (.seconds(3600), .seconds(3600))
        try await TestServer.shared.withDatabase { [settings] database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database, settings) { site in
                try await database.withConnection { connection in
                    try await connection.transaction(to: "lock the table") {
                        try await connection.execute(
                            "lock table quake in access exclusive mode", to: "lock the table")
                        let client = LoopbackSocket()
                        await onThread {
                            client.connect(to: site.port)
                            Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8).withUnsafeBytes {
                                _ = client.write($0)
                            }
                        }
                        try await waitUntil { try await database.blockedSessions() == 1 }
                        client.close()
                        try await waitUntil { try await database.blockedSessions() == 0 }
                    }
                }
                #expect(try await site.get(dayPath).status == 200)
            }
        }
    }

    @Test("Lost sessions are opened again, and no request fails because of them")
    func lostSessions() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database) { site in
                for _ in 0..<5 {
                    #expect(try await site.get(dayPath).status == 200)
                    _ = try await database.otherSessions(ending: true)
                }
                #expect(try await site.get(dayPath).status == 200)
            }
        }
    }

    /// server:  ─ hangs ─────────────────────────────── responds again
    /// clients:   ask: 503 ─ ask again: 503 at once       ask: 200
    @Test("When the database hangs, requests get 503, and the server closes its sessions")
    func frozenDatabase() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        try await database.importDocument(DayFeed.of(5).document)
        try await TestSite.run(of: database) { site in
            try await waitUntil { try await site.get(dayPath).status == 200 }
            try await server.cluster.frozen {
                // The server has no cached answer for this path.
                let path = "/fdsnws/event/1/count?minmagnitude=-9"
                #expect(try await site.get(path).status == 503)
                try await waitUntil { try await site.get("/health").text.contains("\"sessions\":0") }
                #expect(try await site.get(path).status == 503)
            }
            try await waitUntil { try await site.get(dayPath).status == 200 }
        }
    }

    @Test(
        "A request gets 503 with Retry-After if the queue is full, and also if its statement takes too long")
    func fullLine() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            var settings = oneSession
            settings.waitingRequests = 0
            (settings.shortTime, settings.statementTime) = (.milliseconds(500), .milliseconds(500))
            try await TestSite.run(of: database, settings) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                try await database.withConnection { connection in
                    try await connection.transaction(to: "lock the table") {
                        try await connection.execute(
                            "lock table quake in access exclusive mode", to: "lock the table")
                        async let first = site.get(dayPath)
                        async let second = site.get(dayPath)
                        for answer in try await [first, second] {
                            #expect(answer.status == 503)
                            #expect(answer.headers["retry-after"] == "5")
                        }
                    }
                }
                try await waitUntil { try await site.get(dayPath).status == 200 }
            }
        }
    }

    /// flood    holds all sessions, and fills the queue
    /// other                                                  joins the queue; the flood's newest request is refused
    @Test("If the queue is full, the address with the most waiting requests gives way to others")
    func flood() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            var settings = oneSession
            (settings.sessions, settings.waitingRequests) = (3, 4)
            settings.trustedProxies = TrustedProxies([try #require(TrustedProxies.Network("127.0.0.1"))])
            try await TestSite.run(of: database, settings) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                @Sendable func statuses(of count: Int, from address: String) async throws -> [Int] {
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<count {
                            group.addTask { try await site.get(dayPath, ["X-Forwarded-For": address]).status }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }.sorted()
                    }
                }
                try await database.withConnection { connection in
                    let (flood, other) = try await connection.transaction(to: "lock the table") {
                        try await connection.execute(
                            "lock table quake in access exclusive mode", to: "lock the table")
                        let flood = Task { try await statuses(of: 6, from: "192.0.2.1") }
                        try await waitUntil {
                            try await site.get("/metrics").text.contains("quakes_requests_waiting 4\n")
                        }
                        // Both requests are queued: even when the second one arrives, the first address has more requests in the
                        // queue.
                        let other = Task { try await statuses(of: 2, from: "192.0.2.2") }
                        try await waitUntil {
                            try await site.get("/metrics").text.contains(
                                "quakes_http_requests_total{route=\"summary\",status=\"503\"} 2\n")
                        }
                        // Now both addresses have the same number of requests in the queue.
                        #expect(try await statuses(of: 1, from: "192.0.2.2") == [503])
                        return (flood, other)
                    }
                    #expect(try await flood.value == [200, 200, 200, 200, 503, 503])
                    #expect(try await other.value == [200, 200])
                }
            }
        }
    }
}
