import QuakeServer
import TestSupport
import Testing

@Suite("Shutdown of the server")
struct ShutdownTests {
    @Test("A shutdown ends at once when no request is under way, even if clients keep connections open")
    func idle() async throws {
        try await TestServer.shared.withDatabase { database in
            let client = LoopbackSocket()
            try await TestSite.run(of: database) { site in
                await onThread {
                    client.connect(to: site.port)
                    Array("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n".utf8).withUnsafeBytes {
                        _ = client.write($0)
                    }
                    _ = client.readHead()
                }
            }
            await onThread { _ = client.readAll() }
            client.close()
        }
    }

    /// client    asks, reads the head                          reads the rest
    /// server                          is asked to end                            ends
    @Test("A shutdown waits for an answer that is under way")
    func underWay() async throws {
        try await withLongAnswer(endingTime: .seconds(3600)) { client, head in
            let rest = await onThread { client.readAll() }
            let answer = try TestAnswer(Array(head.utf8) + rest)
            #expect(answer.text.hasSuffix("}\n"))
        }
    }

    @Test("A shutdown does not wait for a client that reads nothing")
    func silentClient() async throws {
        try await withLongAnswer(endingTime: .milliseconds(100)) { _, _ in }
    }

    /// server      is asked to end, drains                                                  ends
    /// balancer                              asks for the health, gets 503
    /// client                                connects, asks, gets its answer and a close
    @Test("With a drain time, the health is 503 before the shutdown, and new requests are still served")
    func draining() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            var settings = ServerSettings.patient
            settings.drainTime = .seconds(3)
            let asking = try await TestSite.run(of: database, settings) { site in
                try await waitUntil { try await site.get("/health").status == 200 }
                return Task {
                    var health = try await site.get("/health")
                    while health.status == 200 { health = try await site.get("/health") }
                    let request = "GET \(dayPath) HTTP/1.1\r\nHost: x\r\n\r\n"
                    return (health, try TestAnswer(await site.send(Array(request.utf8))))
                }
            }
            let (health, answer) = try await asking.value
            #expect(health.status == 503)
            #expect(health.text.contains("\"status\":\"the server is shutting down\""))
            #expect(health.headers["retry-after"] == "5")
            #expect(answer.status == 200 && answer.text.contains("\"usc1\""))
            #expect(answer.headers["connection"] == "close")
        }
    }

    /// Begins a long answer, calls `body` with the client and the answer's head while the server shuts down, and waits for the
    /// end of both.
    private func withLongAnswer(
        endingTime: Duration, _ body: @escaping @Sendable (LoopbackSocket, String) async throws -> Void
    ) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importLongEvents(2600)
            let client = LoopbackSocket()
            defer { client.close() }
            var settings = ServerSettings.patient
            settings.endingTime = endingTime
            let reading = try await TestSite.run(of: database, settings) { site in
                let head = await onThread {
                    client.connect(to: site.port)
                    let request = "GET \(dayPath) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                    Array(request.utf8).withUnsafeBytes { _ = client.write($0) }
                    return client.readHead()
                }
                return Task { try await body(client, head) }
            }
            try await reading.value
        }
    }
}
