import Foundation
import Glibc
import QuakeServer
import TestSupport
import Testing

@Suite("HTTP")
struct HTTPTests {
    private let server = TestServer.shared

    @Test("A long answer to a client of HTTP/1.0 has no chunks, and ends when the connection closes")
    func old() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(2000).document)
            try await TestSite.run(of: database) { site in
                for fields in ["", "Connection: keep-alive\r\n", "Host: x\r\n"] {
                    let answer = try await OldAnswer(
                        site.send(Array("GET \(dayPath) HTTP/1.0\r\n\(fields)\r\n".utf8)))
                    #expect(answer.head.contains(" 200 OK"))
                    #expect(answer.head.contains("connection: close"))
                    #expect(!answer.head.contains("transfer-encoding"))
                    #expect(try await answer.body == site.get(dayPath).body)
                }
                let short = try await OldAnswer(site.send(Array("GET /nothing HTTP/1.0\r\n\r\n".utf8)))
                #expect(short.head.contains("connection: close"))
            }
        }
    }

    /// client    sends HTTP/1.0, gets all rows                               gets the change
    /// writer                                        changes a row
    @Test("A client of HTTP/1.0 follows the changes without chunks", arguments: ["", "&minmagnitude=0"])
    func oldStream(filter: String) async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let client = LoopbackSocket()
                defer { client.close() }
                let request = "GET /changes?after=0\(filter) HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n"
                let bytes = await onThread {
                    client.connect(to: site.port)
                    Array(request.utf8).withUnsafeBytes { _ = client.write($0) }
                    return client.read(until: "event: position\n", then: "\n\n")
                }
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_live_clients 1\n")
                }
                try await database.query("delete from quake where code = 'usc1'")
                let more = await onThread { client.read(until: "event: position\n", then: "\n\n") }
                let answer = try OldAnswer(bytes + more)
                #expect(!answer.head.contains("transfer-encoding"))
                let kinds = Set(answer.text.split(separator: "\n").map { $0.split(separator: ":")[0] })
                #expect(kinds == ["retry", "event", "data", "id"])
                #expect(answer.text.contains("\"operation\":\"delete\""))
            }
        }
    }

    /// Fields of a request, each with the status of the answer.
    private static let hosts = [
        ("", 400), ("Host: x\r\nHost: x\r\n", 400), ("Host: a b\r\n", 400), ("Host: a/b\r\n", 400),
        ("Host: user@a\r\n", 400), ("Host: [::1\r\n", 400), ("Host: [x]:80\r\n", 400),
        ("Host: a:b\r\n", 400), ("Host: a:1:2\r\n", 400), ("Host: a,b\r\n", 404), ("Host: %4\r\n", 400),
        ("Host: \r\n", 404), ("Host: [fe80::1]:80\r\n", 404), ("Host: quakes_1.example.org:\r\n", 404),
    ]

    @Test("A request with no Host field, with two Host fields or with an invalid host gets 400")
    func host() async throws {
        try await server.withDatabase { database in
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: Self.hosts) { fields, status in
                    let bytes = await site.send(
                        Array("GET /nothing HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n".utf8))
                    let answer = try TestAnswer(bytes)
                    #expect(answer.status == status, "\(fields)")
                    if status == 400 { #expect(answer.text.contains("Host"), "\(fields)") }
                }
            }
        }
    }

    @Test("A client that shuts down its sending side after its requests gets its answers", arguments: [1, 3])
    func halfClosed(requests: Int) async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(2000).document)
            try await TestSite.run(of: database) { site in
                let all = try await site.get(dayPath)
                let request = "GET \(dayPath) HTTP/1.1\r\nHost: 127.0.0.1:\(site.port)\r\n\r\n"
                let bytes = await onThread {
                    let client = LoopbackSocket()
                    defer { client.close() }
                    client.connect(to: site.port)
                    Array(String(repeating: request, count: requests).utf8).withUnsafeBytes {
                        _ = client.write($0)
                    }
                    shutdown(client.descriptor, Int32(SHUT_WR))
                    return client.readAll()
                }
                var rest = bytes[...]
                for _ in 0..<requests {
                    let answer = try TestAnswer(from: &rest)
                    #expect(answer.body == all.body)
                }
                #expect(rest.isEmpty)
            }
        }
    }

    @Test("HEAD of the changes has the head of GET and no body")
    func head() async throws {
        try await server.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let get = try await StreamClient.with(site, "after=now") { $0.head }
                let request = "HEAD /changes?after=now HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
                let head = await site.send(Array("\(request)Connection: close\r\n\r\n".utf8))
                let lines = String(decoding: head, as: UTF8.self)
                #expect(lines.hasSuffix("\r\n\r\n") && !lines.dropLast(4).contains("\r\n\r\n"))
                func fields(_ head: String) -> Set<String> {
                    let own = ["date:", "connection:", "transfer-encoding:"]
                    return Set(
                        head.lowercased().split(separator: "\r\n").map(String.init).filter { line in
                            !own.contains { line.hasPrefix($0) }
                        })
                }
                #expect(fields(lines) == fields(get))
            }
        }
    }

    @Test("An empty Last-Event-ID is ignored")
    func emptyID() async throws {
        try await server.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let last = try await StreamClient.with(site, "after=now", lastID: "") { client in
                    await client.pass()
                }
                #expect(last.map(\.isPosition) == [true])
            }
        }
    }

    @Test("Every request of a long pipeline is answered")
    func pipeline() async throws {
        try await server.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let count = 8000
                let request = "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
                let last = "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                let text = await site.pipelined(String(repeating: request, count: count - 1) + last)
                #expect(text.components(separatedBy: "HTTP/1.1 404 ").count == count + 1)
            }
        }
    }

    /// Malformed requests, each with the status of the answer.
    private static let unreadables: [(String, Int)] = [
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", 400), ("GET / HTTP/9.9\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "y", count: 20_000))\r\n\r\n", 431),
        ("GET /\(String(repeating: "y", count: 200_000))", 431),
    ]

    @Test("A malformed request is refused with a reason, and counted")
    func unreadable() async throws {
        try await server.withDatabase { database in
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: Self.unreadables) { request, status in
                    let name = request.prefix(60)
                    let answer = try TestAnswer(await site.send(Array(request.utf8)))
                    #expect(answer.status == status, "\(name)")
                    #expect(answer.headers["connection"] == "close", "\(name)")
                    #expect(answer.text.hasSuffix(".\n"), "\(name)")
                }
                let metrics = try await site.get("/metrics").text
                for (status, count) in [(400, 3), (431, 2)] {
                    let line =
                        "quakes_http_requests_total{route=\"unreadable\",status=\"\(status)\"} \(count)\n"
                    #expect(metrics.contains(line), "\(status)")
                }
            }
        }
    }

    /// client    asks for a long answer, reads its head, leaves
    /// server                                                      counts it
    @Test("A client that leaves in the middle of an answer is counted with status 0")
    func left() async throws {
        try await server.withDatabase { database in
            try await database.importLongEvents(1300)
            try await TestSite.run(of: database) { site in
                await onThread {
                    let client = LoopbackSocket()
                    client.connect(to: site.port)
                    Array("GET \(dayPath) HTTP/1.1\r\nHost: x\r\n\r\n".utf8).withUnsafeBytes {
                        _ = client.write($0)
                    }
                    _ = client.readHead()
                    client.reset()
                }
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_http_requests_under_way 1\n")
                }
                let text = try await site.get("/metrics").text
                #expect(text.contains("quakes_http_requests_total{route=\"summary\",status=\"0\"} 1\n"))
            }
        }
    }
}

/// An answer to a client of HTTP/1.0, whose body ends with the connection.
private struct OldAnswer {
    /// In lower case, except for the reason phrase.
    let head: String
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    init(_ bytes: [UInt8]) throws {
        let end = try Data(bytes).range(of: Data("\r\n\r\n".utf8)).unwrapped
        head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        body = Array(bytes[end.upperBound...])
    }
}

extension LoopbackSocket {
    /// Reads up to and including `text`, and then up to and including `end`.
    fileprivate func read(until text: String, then end: String) -> [UInt8] {
        var all: [UInt8] = []
        var byte: UInt8 = 0
        for text in [text, end] {
            while !all.suffix(text.utf8.count).elementsEqual(text.utf8) {
                guard withUnsafeMutableBytes(of: &byte, { read($0) }) == 1 else { return all }
                all.append(byte)
            }
        }
        return all
    }
}
