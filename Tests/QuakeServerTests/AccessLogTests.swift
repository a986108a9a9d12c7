import Foundation
import Glibc
import QuakeServer
import TestSupport
import Testing

@Suite("The access log")
struct AccessLogTests {
    @Test(
        "The log has one JSON object per request, with the bytes sent; unknown parameters and credentials are hidden"
    )
    func json() async throws {
        let size = Sizes()
        let lines = try await lines { site in
            for request in [
                """
                GET \(dayPath)?minmagnitude=1&apikey=hidden&hidden HTTP/1.0\r
                Referer: https://user:word@example.org/page?key=hidden#hidden\r
                User-Agent: a "b"é\r\n\r\n
                """,
                "HEAD /changes?after=now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "nonsense hidden\r\n\r\n",
            ] {
                size.sizes.append(await site.send(Array(request.utf8)).count)
            }
        }
        let objects = try lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }.sorted { "\($0["protocol"] ?? "")" < "\($1["protocol"] ?? "")" }
        try #require(objects.count == 3)
        #expect(objects[1...].map { $0["bytes"] as? Int } == size.sizes[..<2].map(Optional.some))
        #expect(objects[0]["protocol"] == nil && objects[0]["status"] as? Int == 400)
        #expect(objects[1]["target"] as? String == "\(dayPath)?minmagnitude=1&apikey=…&…")
        #expect(objects[1]["protocol"] as? String == "HTTP/1.0")
        #expect(objects[1]["referrer"] as? String == "https://example.org/page")
        #expect(objects[1]["agent"] as? String == "a \"b\"é")
        #expect(objects[2]["target"] as? String == "/changes?after=now")
        #expect(!lines.contains { $0.contains("hidden") || $0.contains("word") })
        #expect(
            objects[1...].allSatisfy {
                ($0["seconds"] as? Double ?? 0) > 0 && $0["client"] as? String == "127.0.0.1"
            })
    }

    /// reader      reads nothing
    /// clients                    send requests whose log lines do not fit into the pipe; all get their answers
    @Test("If the log's reader stops reading, lines are dropped, and clients still get their answers")
    func stalled() async throws {
        let pipe = Pipe()
        defer { try? pipe.fileHandleForReading.close() }
        try await TestServer.shared.withDatabase { database in
            // The descriptor stays open. If it were closed, another test's file might get its number, and the lines that still
            // wait would be written to that file.
            let log = AccessLog(to: dup(pipe.fileHandleForWriting.fileDescriptor), limit: 100)
            try await TestSite.run(of: database, accessLog: log) { site in
                let request =
                    "GET /nothing HTTP/1.1\r\nHost: x\r\nUser-Agent: \(String(repeating: "x", count: 2000))\r\n"
                var requests = String(repeating: "\(request)\r\n", count: 200)
                requests += "\(request)Connection: close\r\n\r\n"
                let answers = await site.pipelined(requests).components(separatedBy: "HTTP/1.1 404")
                #expect(answers.count == 202)
                let metrics = try await site.get("/metrics").text
                let dropped = try #require(
                    metrics.firstMatch(of: /quakes_access_log_dropped_lines_total (\d+)\n/))
                #expect(try #require(Int(dropped.1)) > 0)
            }
        }
    }

    /// disk       is full                                has room
    /// clients                ask; the log lines are dropped       ask
    @Test("Logging continues when a full disk has room again")
    func fullDisk() async throws {
        try await withFolder { directory in
            let path = directory.appending(path: "access.log").path
            let descriptor = open("/dev/full", O_WRONLY)
            defer { close(descriptor) }
            try await TestServer.shared.withDatabase { database in
                let log = AccessLog(to: descriptor)
                try await TestSite.run(of: database, accessLog: log) { site in
                    try await waitUntil {
                        try await site.get("/metrics").text
                            .contains(/quakes_access_log_dropped_lines_total [1-9]/)
                    }
                    let file = open(path, O_WRONLY | O_CREAT, 0o600)
                    dup2(file, descriptor)
                    close(file)
                    _ = try await site.get("/health")
                    try await waitUntil {
                        try String(contentsOfFile: path, encoding: .utf8).contains("\"target\":\"/health\"")
                    }
                }
            }
        }
    }

    private final class Sizes: @unchecked Sendable { var sizes: [Int] = [] }

    /// The lines that the server logs for the requests in `body`.
    private func lines(
        _ body: @escaping @Sendable (TestSite) async throws -> Void
    ) async throws -> [String] {
        let pipe = Pipe()
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(200).document)
            let log = AccessLog(to: pipe.fileHandleForWriting.fileDescriptor)
            try await TestSite.run(of: database, accessLog: log, body)
        }
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }
}
