import Glibc
import QuakeServer
import TestSupport
import Testing

/// The tests do not measure time. They wait for the effect of a limit, and this wait has no time limit.
@Suite("Limits on clients")
struct ClientLimitTests {
    /// client    asks for a long answer, reads only its head                                       finds it cut off
    /// server                                                            waits, closes the connection
    @Test(
        "A client that reads nothing is disconnected, by the time limit for a piece or for the whole answer",
        arguments: [true, false])
    func unread(byProgress: Bool) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importLongEvents(970)
            var settings = ServerSettings.patient
            if byProgress {
                settings.readTime = .milliseconds(200)
            } else {
                settings.requestTime = .milliseconds(200)
            }
            // On a slow machine, the answer may not begin within the request time, so the time is doubled until it does.
            while try await !isLetGo(by: settings, database) { settings.requestTime *= 2 }
        }
    }

    /// - Returns: false if the time was too short for the answer to begin.
    private func isLetGo(by settings: ServerSettings, _ database: TestDatabase) async throws -> Bool {
        try await TestSite.run(of: database, settings) { site in
            let client = LoopbackSocket()
            defer { client.close() }
            let head = await site.begin(dayPath, on: client)
            guard head.hasPrefix("HTTP/1.1 200") else { return false }
            // The only request that is still under way is the request for the metrics.
            try await waitUntil {
                try await site.get("/metrics").text.contains("quakes_http_requests_under_way 1\n")
            }
            let rest = await onThread { client.readAll() }
            #expect(throws: TestAnswer.Broken.self) { try TestAnswer(Array(head.utf8) + rest) }
            return true
        }
    }

    @Test("A request that exceeds its time limit gets 503 with Retry-After")
    func request() async throws {
        try await TestServer.shared.withDatabase { database in
            var settings = ServerSettings.patient
            settings.requestTime = .milliseconds(200)
            try await TestSite.run(of: database, settings) { site in
                try await database.withConnection { connection in
                    try await connection.transaction(to: "lock the table") {
                        try await connection.execute(
                            "lock table quake in access exclusive mode", to: "lock the table")
                        let answer = try await site.get(dayPath)
                        #expect(answer.status == 503)
                        #expect(answer.headers["retry-after"] == "5")
                        #expect(answer.text == "The answer took too long.\n")
                    }
                }
                // The session of the request is free again.
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_sessions_used 0\n")
                }
            }
        }
    }

    @Test("A request with a body is refused before the whole body has arrived")
    func body() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                for (request, status) in [
                    ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", 405),
                    ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n", 413),
                ] {
                    let answer = try TestAnswer(await site.send(Array(request.utf8)))
                    #expect(answer.status == status)
                    #expect(answer.headers["connection"] == "close")
                }
            }
        }
    }

    /// first, second    connect              first leaves
    /// third                      asks                    gets its answer
    @Test("Beyond the maximum number of connections, a client waits until another one has left")
    func connections() async throws {
        try await TestServer.shared.withDatabase { database in
            var settings = ServerSettings.patient
            settings.connections = 2
            try await TestSite.run(of: database, settings) { site in
                let clients = (0..<3).map { _ in LoopbackSocket() }
                for client in clients[..<2] { _ = await site.begin("/nothing", on: client) }
                await onThread {
                    clients[2].connect(to: site.port)
                    clients[2].write("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
                }
                // Without the limit, the server would nearly always answer within 200 ms.
                #expect(!clients[2].isReadable(within: 200))
                clients[0].close()
                let head = await onThread { clients[2].readHead() }
                #expect(head.hasPrefix("HTTP/1.1 404"))
                for client in clients[1...] { client.close() }
            }
        }
    }

    @Test("Silent, slow, verbose and pipelining clients do not keep another client from its answers")
    func flood() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(250).document)
            var settings = ServerSettings.patient
            settings.sessions = 1
            try await TestSite.run(of: database, settings) { site in
                let request = "GET \(dayPath) HTTP/1.1\r\nHost: x\r\n\r\n"
                let floods = [
                    "", "GET / HT", "GET / HTTP/1.1\r\nX: y",
                    "GET /?\(String(repeating: "x", count: 15_000))",
                    String(repeating: request, count: 200),
                ]
                let clients = floods.flatMap { flood in
                    (0..<(flood.hasPrefix(request) ? 10 : 100)).map { _ in
                        (socket: LoopbackSocket(), flood: flood)
                    }
                }
                await onThread {
                    for client in clients {
                        client.socket.receiveLittle()
                        client.socket.connect(to: site.port)
                        client.socket.write(client.flood)
                    }
                }
                for _ in 0..<20 {
                    let answer = try await site.get(dayPath)
                    #expect(answer.status == 200)
                }
                for client in clients { client.socket.close() }
            }
        }
    }

    /// slow clients     ask for long answers, and read their heads              some find their answers cut off
    /// quick client                                              asks again and again, and gets whole answers
    @Test(
        "When too many bytes wait for slow clients, some are disconnected, and a quick client gets whole answers"
    )
    func spooled() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importLongEvents(970)
            var settings = ServerSettings.patient
            settings.spooledBytes = 24 << 20
            try await TestSite.run(of: database, settings) { site in
                let slow = (0..<8).map { _ in LoopbackSocket() }
                defer { for client in slow { client.close() } }
                for client in slow {
                    let head = await site.begin(dayPath, on: client, "Connection: close\r\n")
                    #expect(head.hasPrefix("HTTP/1.1 200"))
                    #expect(try await site.get(dayPath).status == 200)
                }
                try await waitUntil {
                    try await !site.get("/metrics").text.contains("quakes_slow_clients_dropped_total 0\n")
                }
                #expect(try await site.get(dayPath).text.hasSuffix("}\n"))
                let cutOff = await onThread {
                    slow.filter { client in
                        let rest = client.readAll()
                        return !String(decoding: rest.suffix(7), as: UTF8.self).hasSuffix("\r\n0\r\n\r\n")
                    }.count
                }
                #expect((1..<8).contains(cutOff))
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_spooled_bytes 0\n")
                }
            }
        }
    }

    /// client    asks for a long answer, reads a little again and again                      finds it cut off
    @Test("A client that reads all the time, but too slowly, is also disconnected")
    func dripping() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importLongEvents(970)
            var settings = ServerSettings.patient
            settings.readTime = .milliseconds(300)
            try await TestSite.run(of: database, settings) { site in
                let client = LoopbackSocket()
                defer { client.close() }
                let head = await site.begin(dayPath, on: client, "Connection: close\r\n")
                #expect(head.hasPrefix("HTTP/1.1 200"))
                // The client reads all the time, but takes more than a second for one piece of the answer.
                let rest = await onThread {
                    var rest: [UInt8] = []
                    var piece = [UInt8](repeating: 0, count: 4 << 10)
                    while case let count = piece.withUnsafeMutableBytes({ client.read($0) }), count > 0 {
                        rest += piece[..<count]
                        usleep(80_000)
                    }
                    return rest
                }
                #expect(throws: TestAnswer.Broken.self) { try TestAnswer(Array(head.utf8) + rest) }
            }
        }
    }
}

extension TestSite {
    /// Sends a request from a socket with a small receive buffer, and reads the answer's head.
    func begin(_ path: String, on client: LoopbackSocket, _ fields: String = "") async -> String {
        await onThread {
            client.receiveLittle()
            client.connect(to: port)
            client.write("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
            return client.readHead()
        }
    }
}

extension LoopbackSocket {
    /// Makes the receive buffer of the socket small. Call this before the socket connects.
    fileprivate func receiveLittle() {
        var size: Int32 = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    fileprivate func write(_ text: String) {
        Array(text.utf8).withUnsafeBytes { _ = write($0) }
    }

    fileprivate func isReadable(within milliseconds: Int32) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, milliseconds) > 0
    }
}
