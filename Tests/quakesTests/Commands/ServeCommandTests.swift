import Foundation
import Glibc
import TestSupport
import Testing

@Suite("quakes serve")
struct ServeCommandTests {
    @Test("The server uses a socket that is passed to it as systemd does")
    func activation() async throws {
        try await TestServer.shared.withDatabase { database in
            try await serve(database, [], launcher: Self.activating)
        }
    }

    @Test("With --log-format json, every line of the log is JSON")
    func jsonLog() async throws {
        try await TestServer.shared.withDatabase { database in
            try await withFolder { folder in
                let words = folder.appending(path: "words").path
                var quakes = QuakesCommand(["DATABASE_URL": database.url])
                quakes.launcher = QuakesCommand.intoFile + [words]
                let arguments = [
                    "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--log-format",
                    "json",
                ]
                @Sendable func said() -> String {
                    (try? String(contentsOfFile: words, encoding: .utf8)) ?? ""
                }
                _ = try await quakes.run(arguments) { process in
                    try await waitUntil { said().contains("metrics at") }
                    kill(process, SIGTERM)
                }
                let lines = said().split(separator: "\n")
                #expect(lines.count >= 2)
                for line in lines {
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    #expect(object?["message"] is String && object?["level"] is String)
                }
                #expect(said().contains("\"message\":\"serving http:"))
            }
        }
    }

    @Test("A server that is started without its database answers 503 until the database is available")
    func startedTooEarly() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        #expect(try await QuakesCommand().run("migrate", "--database", server.url).status == 0)
        try await server.cluster.stop()
        try await withFolder { folder in
            let words = folder.appending(path: "words").path
            var quakes = QuakesCommand(["DATABASE_URL": database.url])
            quakes.launcher = QuakesCommand.intoFile + [words]
            let status = try await quakes.run(["serve", "--listen", "127.0.0.1:0"]) { process in
                func said() -> String { (try? String(contentsOfFile: words, encoding: .utf8)) ?? "" }
                try await waitUntil { said().contains("serving http://") }
                let match = try #require(said().firstMatch(of: /serving http:\/\/127\.0\.0\.1:(\d+)/))
                let port = try #require(Int(match.1))
                #expect(said().contains("answering 503 until the database is available"))
                #expect(LoopbackSocket.health(at: port).contains("503"))
                try await server.cluster.start()
                try await waitUntil { LoopbackSocket.health(at: port).contains("\"status\":\"ok\"") }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
    }

    /// test       sends SIGTERM      sees the server drain      sends another signal
    /// server                drains, for up to an hour                             ends
    @Test("A second signal ends the server immediately", arguments: [SIGINT, SIGTERM])
    func secondSignal(signal: Int32) async throws {
        try await TestServer.shared.withDatabase { database in
            try await withFolder { folder in
                let words = folder.appending(path: "words").path
                var quakes = QuakesCommand(["DATABASE_URL": database.url])
                quakes.launcher = QuakesCommand.intoFile + [words]
                let status = try await quakes.run(["serve", "--listen", "127.0.0.1:0", "--drain-time", "1h"])
                {
                    process in
                    func port() -> Int {
                        let said = (try? String(contentsOfFile: words, encoding: .utf8)) ?? ""
                        return said.firstMatch(of: /serving http:\/\/127\.0\.0\.1:(\d+)/).flatMap {
                            Int($0.1)
                        } ?? 0
                    }
                    try await waitUntil { LoopbackSocket.health(at: port()).contains("\"status\":\"ok\"") }
                    // Two signals in quick succession count as one, because timeout(1) sends its signal twice.
                    kill(process, SIGTERM)
                    kill(process, SIGTERM)
                    try await waitUntil { LoopbackSocket.health(at: port()).contains("503") }
                    try await waitUntil {
                        kill(process, signal)
                        return LoopbackSocket.health(at: port()).isEmpty
                    }
                }
                #expect(status == 128 + signal)
            }
        }
    }

    /// client       connects, asks                                                             asks, gets its answer
    /// others                        connect; they are more than the files that the server may open
    /// database                                                                     ends all sessions
    @Test("With a low limit on open files, the server accepts few clients, and can still reach its database")
    func fewFiles() async throws {
        try await TestServer.shared.withDatabase { database in
            let files = 100 + 3 * ProcessInfo.processInfo.activeProcessorCount
            let (client, others) = (LoopbackSocket(), (0..<files).map { _ in LoopbackSocket() })
            defer { for socket in [client] + others { socket.close() } }
            let launcher = ["sh", "-c", #"ulimit -n \#(files); exec "$@" 2>"$0""#]
            try await serve(database, ["--listen", "127.0.0.1:0"], launcher: launcher) { port in
                client.connect(to: port)
                #expect(client.askedForCount().hasPrefix("HTTP/1.1 200"))
                for other in others { other.connect(to: port) }
                _ = try await database.otherSessions(ending: true)
                try await waitUntil { client.askedForCount().hasPrefix("HTTP/1.1 200") }
            }
        }
    }

    /// clients   ask for long answers                                                     read them to the end
    /// disk                            blocks all writes                                  continues
    /// another                                         asks for the health, gets it
    @Test(
        "While the disk of its temporary files is blocked, the server still answers requests for its health",
        .enabled(if: SlowDisk.canBeBuilt, "clang is not installed"),
        arguments: [
            (events: 12_000, path: "/fdsnws/event/1/query?format=geojson", size: 5_000_000),
            (events: 500, path: "/changes?maxdepth=1000", size: 400_000),
        ])
    func slowDisk(events: Int, path: String, size: Int) async throws {
        try await withFolder { folder in
            let disk = try await SlowDisk(in: folder)
            try await TestServer.shared.withDatabase { database in
                // There are more clients than the server has threads, unless the machine is large.
                let count = min(ProcessInfo.processInfo.activeProcessorCount, 8) + 1
                let arguments = ["--listen", "127.0.0.1:0", "--sessions", "\(2 * count + 3)"]
                try await serve(database, arguments, launcher: disk.launcher + QuakesCommand.intoFile) {
                    port in
                    try await database.importSample(events)
                    let clients = (0..<count).map { _ in LoopbackSocket() }
                    disk.stop()
                    for (number, client) in clients.enumerated() {
                        client.connect(to: port)
                        client.send("GET \(path)&endtime=21\(number + 10)-01-01 HTTP/1.1\r\nHost: x\r\n\r\n")
                    }
                    try await waitUntil { disk.waiting == count }
                    async let answers: Void = withTaskGroup { group in
                        for client in clients { group.addTask { await onThread { _ = client.readAll() } } }
                    }
                    // Wait until the clients receive nothing more. The rest of their answers waits for the disk.
                    var (calm, before) = (0, -1)
                    while calm < 50 {
                        #expect(LoopbackSocket.health(at: port).contains("\"status\":\"ok\""))
                        let received = clients.reduce(0) { $0 + $1.bytesReceived }
                        (calm, before) = (received == before ? calm + 1 : 0, received)
                    }
                    disk.goOn()
                    try await waitUntil { clients.allSatisfy { $0.bytesReceived > size } }
                    for client in clients { client.shutDown() }
                    await answers
                    for client in clients { client.close() }
                }
            }
        }
    }

    @Test("An address in use and an invalid address are refused")
    func refusals() async throws {
        let taken = try LoopbackSocket.bound()
        defer { taken.close() }
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let outcome = try await quakes.run("serve", "--listen", "127.0.0.1:\(taken.port)")
            #expect(outcome.status == 69)
            #expect(
                outcome.errors.contains("cannot listen on 127.0.0.1:\(taken.port): Address already in use"))
            #expect(try await quakes.run("serve", "--listen", "nowhere").status == 64)
            let unknown = try await quakes.run("serve", "--listen", "nowhere.invalid:80")
            #expect(unknown.status == 69)
            #expect(
                unknown.errors.contains(
                    "cannot listen on nowhere.invalid:80: there is no host nowhere.invalid"),
                "\(unknown.errors)")
        }
    }

    /// Opens a socket and passes it on as systemd does.
    private static let activating = [
        "python3", "-c",
        """
        import os, socket, sys
        listener = socket.create_server(("127.0.0.1", 0))
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        with open(sys.argv[1], "w") as words: print(listener.getsockname()[1], file=words)
        os.execv(sys.argv[2], sys.argv[2:])
        """,
    ]

    /// Runs the command, expects it to print its port and to answer there, calls `body` with the port, and expects exit code 0
    /// after SIGTERM.
    private func serve(
        _ database: TestDatabase, _ arguments: [String], launcher: [String],
        _ body: @escaping @Sendable (Int) async throws -> Void = { _ in }
    ) async throws {
        try await database.importSample(3)
        let words = FileManager.default.temporaryDirectory.appending(path: "serve-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: words) }
        var quakes = QuakesCommand(["DATABASE_URL": database.url])
        quakes.launcher = launcher + [words]
        let status = try await quakes.run(["serve"] + arguments) { process in
            func port() -> Int? {
                let said = (try? String(contentsOfFile: words, encoding: .utf8)) ?? ""
                let port = said.firstMatch(of: /(?m)^(?:quakes: serving http:\/\/127\.0\.0\.1:)?(\d+)$/)
                return port.flatMap { Int($0.1) }
            }
            try await waitUntil { port() != nil }
            try await waitUntil {
                LoopbackSocket.health(at: port() ?? 0).contains("\"status\":\"ok\"")
            }
            try await body(port() ?? 0)
            kill(process, SIGTERM)
        }
        #expect(status == 0)
    }
}

extension LoopbackSocket {
    /// Sends a HEAD request for the count of events, and returns the bytes that arrive.
    fileprivate func askedForCount() -> String {
        send("HEAD /fdsnws/event/1/count HTTP/1.1\r\nHost: x\r\n\r\n")
        return received()
    }

    /// The whole response of the server at `port` to `GET /health`; empty if it does not respond.
    static func health(at port: Int) -> String {
        let socket = LoopbackSocket()
        defer { socket.close() }
        guard socket.connect(to: port) else { return "" }
        socket.send("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return String(decoding: socket.readAll(), as: UTF8.self)
    }

    func send(_ request: String) {
        Array(request.utf8).withUnsafeBytes { _ = write($0) }
    }

    private func received() -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { read($0) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
